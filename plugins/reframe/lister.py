# SPDX-License-Identifier: Apache-2.0
"""Listing of one file, loaded as ReFrame does, in a process made for it, which it may ruin:
`python -m` of this, its stdin a file, the suite's folder and Surroundings as JSON."""

import ast
import inspect
import os
import resource
import sys
import traceback
from collections.abc import Iterator, Mapping
from glob import iglob
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import reframe as rfm
from reframe.core import runtime
from reframe.core.config import load_config
from reframe.core.decorators import TestRegistry
from reframe.core.exceptions import ReframeFatalError, ReframeSyntaxError, SkipTestError
from reframe.frontend.loader import RegressionCheckLoader
from reframe.utility import import_module_from_file

from plugins.reframe import listing as data
from plugins.reframe.listing import KEPT_CHARACTERS, Listing, plain
from records.forms import as_bytes

#: Bytes that the process may write to a file.
_FILE_BYTES = 64 << 20
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
    runtime.init_runtime(site_config)


def answer(file: str, root: str, around: data.Surroundings) -> Listing:
    """List a file, or say why it cannot be loaded; variables, path and limits are made already."""
    sys.argv, sys.dont_write_bytecode, path = ["reframe"], True, list[str]()
    while True:
        try:
            if not RegressionCheckLoader([])._validate_source(file):
                return Listing(file=file, is_test=False)
            return Listing(file=file, classes=_classes(file, around.variables), path=path)
        except BaseException as error:
            missing = error.name if isinstance(error, ModuleNotFoundError) else None
            folder = _folder_of(missing, file, root) if missing else _NOWHERE
            if folder in (_NOWHERE, *sys.path):
                return Listing(file=file, refused=_refusal(error, file, folder), path=path)
        # In the suite itself: its own command puts the folder on the path.
        path.append(folder)
        sys.path.append(folder)
        for name in [name for name in sys.modules if "@" in name]:
            del sys.modules[name]  # half of the file, by ReFrame's name


def _classes(file: str, variables: Mapping[str, Any]) -> list[data.ListedClass]:
    """Describe the tests of a file, variables set. Raises what loading it raises."""
    # As ReFrame's loader; a name of its own in sys.modules for each file.
    module = import_module_from_file(file, force=True, load_parents=True)
    registry = getattr(module, "_rfm_test_registry", None) or TestRegistry()
    registry.setvars({name: one for name, one in variables.items() if isinstance(one, str)})
    for name, value in variables.items():
        for cls in registry if not isinstance(value, str) else ():  # ReFrame takes texts alone
            cls.setvar(name.removeprefix(f"{cls.__name__}."), value)
    decorated = [
        getattr(module, node.name, None)
        for node in ast.parse(Path(file).read_bytes()).body
        if isinstance(node, ast.ClassDef)
        if any(ast.unparse(one).endswith("simple_test") for one in node.decorator_list)
    ]
    # ReFrame registers no class without a variant.
    without = [cls for cls in decorated if getattr(cls, "num_variants", None) == 0]
    return [*map(_class, [*registry, *without])]


def _class(cls: Any) -> data.ListedClass:
    variants = [
        _variant(cls, number) for number in range(min(cls.num_variants, data.MOST_VARIANTS))
    ]
    space, inherited = cls.var_space.vars, rfm.RegressionTest.var_space.vars
    set_to = {name: var.default_value for name, var in space.items() if var.is_defined()}
    doc = set_to.get("descr") or inspect.cleandoc(cls.__doc__ or "").partition("\n\n")[0]
    parameters = {name: plain([*one.values]) for name, one in cls.raw_params.items()}
    for name in sorted({name for one in variants for name in one.parameters} - {*parameters}):
        values = [one.parameters[name] for one in variants if name in one.parameters]
        parameters[name] = [one for n, one in enumerate(values) if one not in values[:n]]
    return data.ListedClass(
        name=cls.__name__,
        kind=_kind(cls),
        doc=" ".join(str(doc).split())[:KEPT_CHARACTERS],
        parameters=[data.ListedParameter(*one) for one in parameters.items()],
        variables=[
            data.ListedVariable(name, plain(set_to.get(name)), name not in set_to)
            for name in space
            if name not in inherited or (name in _NEEDED and name not in set_to)
        ],
        fixtures=[*_fixtures(cls)],
        num_variants=cls.num_variants,
        variants=variants,
    )


def _kind(cls: Any) -> str:
    if issubclass(cls, rfm.CompileOnlyRegressionTest):
        return "compile"
    return "run" if issubclass(cls, rfm.RunOnlyRegressionTest) else "compile and run"


def _fixtures(cls: Any, above: str = "") -> Iterator[data.ListedFixture]:
    for name, one in cls.fixture_space.fixtures.items():
        yield data.ListedFixture(f"{above}{name}", one.cls.__name__, _kind(one.cls), one.scope)
        yield from _fixtures(one.cls, f"{above}{name}.")


def _variant(cls: Any, number: int) -> data.ListedVariant:
    """Describe a variant after its `init` hooks; what these raise refuses it and not the class."""
    known = data.ListedVariant(number, cls.variant_name(number), data.parameters_of(cls, number))
    unset = [name for name in _VALID if not cls.var_space.vars[name].is_defined()]
    try:
        try:
            test = cls(variant_num=number)
            unset = [name for name in unset if not hasattr(test, name)]
        except ReframeSyntaxError:
            if not unset:
                raise
            # Fixtures need both, and the campaign gives them.
            test = cls(variant_num=number, reset_sysenv=3)
        for name in {*_VALID} - {*unset}:
            setattr(known, name, [*getattr(test, name)])
        _describe(known, test)
    except SkipTestError as skip:
        known.refused = f"skipped: {skip}"[:KEPT_CHARACTERS]
    except (Exception, ReframeFatalError) as error:
        known.refused = _reason(error, str(inspect.getfile(cls)))
    return known


def _describe(known: data.ListedVariant, test: Any) -> None:
    """Add what a test asks for, and whether it fits the system by ReFrame's own matching."""
    systems = ["*"] if known.valid_systems is None else known.valid_systems
    environs = ["*"] if known.valid_prog_environs is None else known.valid_prog_environs
    known.elsewhere = not runtime.valid_sysenv_comb(systems, environs, check_environs=False)
    (accepted,) = runtime.valid_sysenv_comb(systems, environs, check_systems=False).values()
    known.environments = [one.name for one in accepted]
    known.num_tasks = getattr(test, "num_tasks", None)
    known.num_tasks_per_node, known.time_limit_s = test.num_tasks_per_node, test.time_limit
    known.modules = [plain(m if isinstance(m, str) else m["name"]) for m in test.modules]
    figures = [*test.perf_variables.items()]
    figures += [(name, None) for name in getattr(test, "perf_patterns", None) or ()]
    known.figures = [data.ListedFigure(str(k), str(getattr(v, "unit", ""))) for k, v in figures]
    known.references = [*_references(getattr(test.reference, "data", {}))]
    fixtures = getattr(test, "_rfm_fixture_registry", None)  # dependencies, too
    own = {name for one in getattr(fixtures, "_registry", {}).values() for name in one}
    if others := sorted({name for name, _ in test.user_deps()} - own):
        known.refused = f"depends_on {', '.join(others)}: only fixtures run before a test"


def _references(reference: Mapping[str, Any]) -> Iterator[data.ListedReference]:
    for system, entry in reference.items():
        for figure, values in entry.items() if isinstance(entry, Mapping) else ():
            if isinstance(values, tuple | list):
                value, lower, upper, unit = (*map(plain, values), None, None, None, None)[:4]
                where = (str(system), str(figure))
                yield data.ListedReference(*where, value, lower, upper, str(unit or ""))


def _refusal(error: BaseException, file: str, folder: str) -> str:
    """Say why the file cannot be loaded, and what helps; `folder` has the module that it lacks."""
    said, loading = _reason(error, file), f"while it is loaded{_line(error, file)}"
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    match error:
        case SystemExit():
            said = f"calls exit({error.code!r}) {loading}"
        case KeyError(args=[str(name)]) if frame.f_globals["__name__"] == "os":
            said = f"needs the environment variable {name} {loading}"
            said += f"; give it with --env {name}=VALUE"
        case ModuleNotFoundError(name=str(name)):
            helps = f"PYTHONPATH={folder}, in a campaign by `path`, or install it where assay is"
            said = f"needs the Python module {name} {loading}; give its folder with --env {helps}"
    return said


def _folder_of(module: str, file: str, root: str) -> str:
    """Find a folder of the suite, or around it, that has a Python module of this name."""

    def found(folder: Path, pattern: str) -> Iterator[Path]:
        # Not Path.glob, which raises where a folder goes meanwhile, and finds hidden ones.
        return (folder / name for name in iglob(pattern, root_dir=folder))  # noqa: PTH207

    top, near = module.partition(".")[0], [*Path(file).parents]
    near = near[: 1 + next((n for n, one in enumerate(near) if (one / ".git").exists()), 2)]
    below = (found(Path(root), f"{'*/' * level}{top}.py") for level in range(4))
    aside = (found(one, f"{level}/{top}.py") for one in near for level in ("*", "*/*"))
    files = chain.from_iterable(chain(below, aside))
    above = (folder for folder in near if any(found(folder / top, "*.py")))
    return str(next(chain((one.parent for one in files), above), _NOWHERE))


def _reason(error: BaseException, file: str) -> str:
    """Say an error in a line, with the line of the suite that raised it."""
    said = " ".join(str(error).split())[:KEPT_CHARACTERS]
    return f"{type(error).__name__}: {said}{_line(error, file)}"


def _line(error: BaseException, file: str) -> str:
    """ " (FILE:LINE)" of the innermost frame below the folder of the file."""
    frames = traceback.extract_tb(error.__traceback__)
    found = [one for one in frames if one.filename.startswith(str(Path(file).parent))]
    return f" ({Path(found[-1].filename).name}:{found[-1].lineno})" if found else ""


def main() -> None:
    """List the file, its environment made, and leave the listing in the working directory."""
    order = sys.stdin.buffer.read()
    file, root, around = msgspec.json.decode(order, type=tuple[str, str, data.Surroundings])
    set_up(around.configuration)
    home = Path.cwd()
    os.environ.clear()
    os.environ |= {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", **around.environment}
    os.environ |= {"HOME": str(home), "TMPDIR": str(home)}
    sys.path[:0] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_FILE_BYTES, _FILE_BYTES))
    (home / data.ANSWER).write_bytes(as_bytes(answer(file, root, around)))
    os._exit(0)  # at once, whatever threads the file has


if __name__ == "__main__":
    main()
