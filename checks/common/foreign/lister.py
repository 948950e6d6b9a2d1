# SPDX-License-Identifier: Apache-2.0
"""The child's side of a listing: load one file as ReFrame does, and describe its classes.

Runs in a process made for this file, which the file may ruin.
"""

from __future__ import annotations

import ast
import errno
import inspect
import os
import pwd
import sys
import traceback
from collections.abc import Iterator, Mapping
from glob import iglob
from itertools import chain
from pathlib import Path
from typing import Any

import reframe.core.runtime as reframe_runtime
from reframe.core.config import load_config
from reframe.core.decorators import TestRegistry
from reframe.core.exceptions import ReframeFatalError, ReframeSyntaxError, SkipTestError
from reframe.core.pipeline import (
    CompileOnlyRegressionTest,
    RegressionTest,
    RunOnlyRegressionTest,
)
from reframe.frontend.loader import RegressionCheckLoader
from reframe.utility import import_module_from_file

from checks.common.foreign.isolation import MEMORY_BYTES
from checks.common.foreign.listing import (
    KEPT_CHARACTERS,
    KEPT_ENTRIES,
    MOST_VARIANTS,
    ListedClass,
    ListedFigure,
    ListedFixture,
    ListedParameter,
    ListedReference,
    ListedVariable,
    ListedVariant,
    Listing,
    parameters_of,
    plain,
)
from checks.common.foreign.touching import Watch

#: Bytes that are kept free for saying that memory ran out.
SPARE_BYTES = 16 << 20
#: Folders above a file in which its modules are looked for, outside of a repository.
_LEVELS = 3
#: In place of a folder that is not found.
_NOWHERE = "DIR"
#: Variables of ReFrame's own that a class may leave to who uses it.
_VALID = ("valid_systems", "valid_prog_environs")
_NEEDED = ("num_tasks", "num_tasks_per_node", "num_cpus_per_task")


def set_up(configuration: Mapping[str, Any]) -> None:
    """Make ReFrame's runtime context for a `site_configuration` of one system."""
    site_config = load_config()
    site_config.update_config(dict(configuration), "<assay>")
    site_config.validate()
    site_config.select_subconfig(configuration["systems"][0]["name"])
    reframe_runtime.init_runtime(site_config)


def listing(file: str, variables: Mapping[str, Any]) -> Listing:
    """What the file has. `variables`: name, or CLASS.NAME → value that is set as by `reframe -S`.
    Raises what loading the file raises."""
    if not RegressionCheckLoader([])._validate_source(file):
        return Listing(file=file, is_test=False)
    # As ReFrame's loader; a name of its own in sys.modules for each file.
    module = import_module_from_file(file, force=True, load_parents=True)
    registry = getattr(module, "_rfm_test_registry", None) or TestRegistry()
    registry.setvars({name: one for name, one in variables.items() if isinstance(one, str)})
    for name, value in variables.items():
        for cls in registry if not isinstance(value, str) else ():  # ReFrame takes texts alone
            cls.setvar(name.removeprefix(f"{cls.__name__}."), value)
    return Listing(file=file, classes=[*map(_class, [*registry, *_without_variant(module)])])


def _without_variant(module: Any) -> list[Any]:
    """The classes that a module says are tests and of which ReFrame registers none."""
    names = [
        node.name
        for node in ast.parse(Path(module.__file__).read_bytes()).body
        if isinstance(node, ast.ClassDef)
        if any(ast.unparse(one).endswith("simple_test") for one in node.decorator_list)
    ]
    found = (getattr(module, name, None) for name in names)
    return [one for one in found if getattr(one, "num_variants", None) == 0]


def _class(cls: Any) -> ListedClass:
    variants = [_variant(cls, number) for number in range(min(cls.num_variants, MOST_VARIANTS))]
    space = cls.var_space.vars
    of_fixtures = dict[str, list[Any]]()
    for variant in variants:
        for name in variant.parameters.keys() - cls.raw_params.keys():
            values = of_fixtures.setdefault(name, [])
            if (value := variant.parameters[name]) not in values:
                values.append(value)

    def default(name: str, otherwise: Any) -> Any:
        return space[name].default_value if space[name].is_defined() else otherwise

    doc = default("descr", "") or inspect.cleandoc(cls.__doc__ or "").partition("\n\n")[0]
    return ListedClass(
        name=cls.__name__,
        kind=_kind(cls),
        doc=" ".join(str(doc).split())[:KEPT_CHARACTERS],
        tags=sorted(map(str, default("tags", ()))),
        parameters=[
            ListedParameter(name, [*map(plain, param.values[:KEPT_ENTRIES])])
            for name, param in cls.raw_params.items()
        ]
        + [ListedParameter(name, values) for name, values in sorted(of_fixtures.items())],
        variables=[
            ListedVariable(name, plain(default(name, None)), not var.is_defined())
            for name, var in space.items()
            if name not in RegressionTest.var_space.vars
            or (name in _NEEDED and not var.is_defined())
        ],
        fixtures=[*_fixtures(cls)],
        num_variants=cls.num_variants,
        variants=variants,
    )


def _kind(cls: Any) -> str:
    if issubclass(cls, CompileOnlyRegressionTest):
        return "compile"
    return "run" if issubclass(cls, RunOnlyRegressionTest) else "compile and run"


def _fixtures(cls: Any, above: str = "") -> Iterator[ListedFixture]:
    for name, one in cls.fixture_space.fixtures.items():
        path = f"{above}{name}"
        yield ListedFixture(path, one.cls.__name__, _kind(one.cls), one.scope)
        yield from _fixtures(one.cls, f"{path}.")


def _variant(cls: Any, number: int) -> ListedVariant:
    """A variant after its `init` hooks; what these raise refuses it and not the class."""
    known = ListedVariant(
        number=number,
        unique_name=cls.variant_name(number),
        parameters=parameters_of(cls, number),
    )
    try:
        unset = [name for name in _VALID if not cls.var_space.vars[name].is_defined()]
        try:
            test = cls(variant_num=number)
        except ReframeSyntaxError:
            if not unset:
                raise
            # Fixtures need both, and the campaign gives them.
            test = cls(variant_num=number, reset_sysenv=3)
        else:
            unset = [name for name in unset if not hasattr(test, name)]
        for name in {*_VALID} - {*unset}:
            setattr(known, name, [*getattr(test, name)])
        _match(known)
        known.num_tasks = getattr(test, "num_tasks", None)
        known.num_tasks_per_node = test.num_tasks_per_node
        known.time_limit_s = test.time_limit
        known.modules = [plain(m if isinstance(m, str) else m["name"]) for m in test.modules]
        known.resources = plain(test.extra_resources)
        known.figures, known.references = [*_figures(test)], [*_references(test)]
        fixtures = getattr(test, "_rfm_fixture_registry", None)  # dependencies, too
        own = {name for one in getattr(fixtures, "_registry", {}).values() for name in one}
        if others := sorted({name for name, _ in test.user_deps()} - own):
            known.refused = f"depends_on {', '.join(others)}: only fixtures run before a test"
    except SkipTestError as skip:
        known.refused = f"skipped: {skip}"[:KEPT_CHARACTERS]
    except (Exception, ReframeFatalError) as error:
        known.refused = reason(error, str(inspect.getfile(cls)))
    return known


def _match(variant: ListedVariant) -> None:
    """Find by ReFrame's own matching whether a variant fits the system, and its environments."""
    asked = (variant.valid_systems, variant.valid_prog_environs)
    systems, environs = (["*"] if one is None else one for one in asked)
    match = reframe_runtime.valid_sysenv_comb
    variant.elsewhere = not match(systems, environs, check_environs=False)
    (accepted,) = match(systems, environs, check_systems=False).values()
    variant.environments = [one.name for one in accepted]


def _figures(test: Any) -> Iterator[ListedFigure]:
    for name, expression in test.perf_variables.items():
        yield ListedFigure(str(name), str(getattr(expression, "unit", "")))
    for name in getattr(test, "perf_patterns", None) or ():
        yield ListedFigure(str(name), "")


def _references(test: Any) -> Iterator[ListedReference]:
    data = getattr(test.reference, "data", {})
    for system, entry in data.items():
        for figure, values in entry.items() if isinstance(entry, Mapping) else ():
            if not isinstance(values, tuple | list):
                continue
            value, lower, upper, unit = (*map(plain, values), None, None, None, None)[:4]
            yield ListedReference(str(system), str(figure), value, lower, upper, str(unit or ""))


def answer(file: str, variables: Mapping[str, Any], watch: Watch) -> Listing:
    """What the file has, or why it cannot be loaded. Environment, working folder, search path
    and limits are made already."""
    sys.argv = ["reframe"]
    sys.dont_write_bytecode = True
    spare: bytearray | None = bytearray(SPARE_BYTES)
    path = list[str]()
    while True:
        try:
            found = listing(file, variables)
        except ModuleNotFoundError as error:
            # In the suite itself: its own command puts the folder on the path.
            folder = _folder_of(str(error.name), file, watch.root)
            if folder != _NOWHERE and folder not in sys.path:
                path.append(folder)
                sys.path.append(folder)
                for name in [name for name in sys.modules if "@" in name]:
                    del sys.modules[name]  # half of the file, by ReFrame's name
                continue
            found = Listing(file=file, refused=refusal(error, file, watch))
        except BaseException as error:
            spare = None  # memory may have run out
            found = Listing(file=file, refused=refusal(error, file, watch))
        break
    del spare
    found.touched, found.path = watch.touched, path
    return found


def refusal(error: BaseException, file: str, watch: Watch) -> str:
    """Why the file cannot be loaded, and what helps."""
    touched, loading = watch.touched, f"while it is loaded{_line(error, file)}"
    match error:
        case SystemExit():
            said = f"calls exit({error.code!r}) {loading}"
        case MemoryError():
            said = f"takes more than {MEMORY_BYTES >> 30} GiB of memory {loading}"
        case KeyError(args=[str(name)]) if name in watch.absent:
            said = (
                f"needs the environment variable {name} {loading}; give it with --env {name}=VALUE"
            )
        case ModuleNotFoundError(name=str(name)):
            said = (
                f"needs the Python module {name} {loading}; give its folder with --env"
                f" PYTHONPATH={_folder_of(name, file, watch.root)}, in a campaign by `path`, or"
                " install it where assay is"
            )
        case OSError(errno=errno.EROFS | errno.EFBIG):
            where = error.filename or next(reversed(touched.written), "a file")
            said = f"writes {where} {loading}; nothing was written"
        case OSError() if watch.socket or touched.hosts:
            to = f" to {touched.hosts[-1]}" if touched.hosts else ""
            said = f"opens a network connection{to} {loading}; allow it with --network"
        case OSError(errno=errno.EACCES, filename=str(path)):
            user = pwd.getpwuid(os.getuid()).pw_name
            said = (
                f"cannot be loaded: user {user} must not read {path}; give the right with chmod"
                " o+rX, of the folders above it too, or copy the suite to where all users read"
            )
        case _:
            said = reason(error, file)
            if touched.programs:
                said += f"; {loading.partition(' (')[0]} it runs {', '.join(touched.programs)}"
    return said


def _folder_of(module: str, file: str, root: str) -> str:
    """A folder of the suite, or around it, that has a Python module of this name."""
    top = module.partition(".")[0]
    levels = (f"{above}{top}.py" for above in ("", "*/", "*/*/", "*/*/*/"))
    below = (found.parent for level in levels for found in _found(Path(root), level))
    near = [*Path(file).parents]
    levels_up = next((n for n, one in enumerate(near) if (one / ".git").exists()), _LEVELS - 1)
    near = near[: levels_up + 1]
    aside = (
        found.parent
        for folder in near
        for level in ("*", "*/*")
        for found in _found(folder, f"{level}/{top}.py")
    )
    above = (folder for folder in near if any(_found(folder / top, "*.py")))
    return str(next(chain(below, aside, above), _NOWHERE))


def _found(folder: Path, pattern: str) -> Iterator[Path]:
    """As `Path.glob`, which raises where another program removes a folder meanwhile; without hidden
    ones."""
    return (folder / name for name in iglob(pattern, root_dir=folder))  # noqa: PTH207  it skips those


def reason(error: BaseException, file: str) -> str:
    """An error as a line, with the line of the suite that raised it."""
    said = " ".join(str(error).split())[:KEPT_CHARACTERS]
    return f"{type(error).__name__}: {said}{_line(error, file)}"


def _line(error: BaseException, file: str) -> str:
    """ " (FILE:LINE)" of the innermost frame below the folder of the file."""
    folder = str(Path(file).parent)
    frames = reversed(traceback.extract_tb(error.__traceback__))
    found = next((frame for frame in frames if frame.filename.startswith(folder)), None)
    return f" ({Path(found.filename).name}:{found.lineno})" if found else ""
