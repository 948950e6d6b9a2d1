# SPDX-License-Identifier: Apache-2.0
"""The checks there are: ours and those outside the tree, by their folders; those of a campaign.

Mistakes in the code of a check outside the tree are told by check, file and line. What checks of
ours do wrong is a defect of Assay and keeps its traceback. No ReFrame here: plans are made without.
"""

import hashlib
import os
import re
import sys
import traceback
from collections.abc import Collection, Iterable, Iterator, Mapping
from importlib import import_module
from itertools import chain
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, cast

import msgspec
from pydantic import ValidationError

from checks.common.base import MpiCheck, OwnProgram
from checks.common.command import CommandDefinition
from checks.common.definition import CheckDefinition
from checks.common.metrics import HOPS
from checks.common.parameters import Parameters
from checks.common.sources import CHECKS as SHIPPED
from checks.common.sources import FURTHER_CHECKS, OUTSIDE, further_folders, shipped_folders
from records.errors import AssayError
from records.metric import CheckDescription, MetricDefinition
from records.plugins import folders, hooks
from records.run.brought import Brought, CommandLine
from records.units import UNITS

#: Environment variable with the path of a session's brought checks, as JSON.
BROUGHT_FILE = "ASSAY_BROUGHT_FILE"

_NAME = re.compile(r"[a-z][a-z0-9_]*")

#: Types of attributes of a definition that are looked at.
_PLAIN = (str, bool, tuple, dict, frozenset)
_SEE = "see docs/writing-a-check.md"


class CheckError(AssayError):
    """A mistake in the code of a check outside the tree."""


class UnfitTestError(Exception):
    """A launch that must not be started, as it was not planned or its test cannot be made; the
    message says why, and what is allowed."""


#: Checks by name.
Checks = Mapping[str, CheckDefinition[Any]]

_CHECKS: dict[str, CheckDefinition[Any]] = {}
#: Every check that is a folder. What a campaign brings besides is in its own `checks`.
CHECKS: Checks = MappingProxyType(_CHECKS)

#: Folders outside the tree whose checks are among them.
FOLDERS: list[Path] = []
#: Those of them that no site names, as they were given.
GIVEN: dict[Path, str] = {}


def metrics_of(checks: Iterable[CheckDefinition[Any]]) -> list[MetricDefinition]:
    """All that these checks can report, each metric once; `hops` any of them."""
    found = {metric.name: metric for check in checks for metric in check.metrics}
    return [HOPS, *found.values()]


def descriptions_of(checks: Iterable[CheckDefinition[Any]]) -> list[CheckDescription]:
    """Descriptions of these checks for readers."""
    return [
        CheckDescription(one.name, one.title, one.deciding, one.shown, one.history_metrics)
        for one in checks
    ]


def folders_of(checks: Iterable[CheckDefinition[Any]]) -> list[str]:
    """The folders outside the tree that these checks come from."""
    found = {check.folder.parent for check in checks}
    return [str(folder) for folder in FOLDERS if folder in found]


def add_folder(path: str | Path, said_by: str = "--checks") -> None:
    """Add the checks of a folder outside the tree: each package in it that defines `CHECK`.

    Builds and ReFrame sessions find the folder by the environment variable FURTHER_CHECKS. If a
    check cannot be imported, is incomplete, or has the name of another, nothing is added and
    AssayError is raised. `said_by` names the setting that gave the path, for messages.
    """
    folder = Path(path).expanduser().resolve()
    if said_by in ("--checks", FURTHER_CHECKS):
        GIVEN.setdefault(folder, str(path))
    if folder in FOLDERS:
        return
    if not folder.is_dir():
        raise AssayError(f"{said_by} {path}: no such folder; give one that holds folders of checks")
    if os.pathsep in str(folder):
        raise AssayError(f"{said_by} {path}: a path with {os.pathsep!r} in it cannot be handed on")
    # A private package represents the folder, so that relative imports work in what it holds.
    package = f"{OUTSIDE}{hashlib.sha256(str(folder).encode()).hexdigest()[:12]}"
    module = ModuleType(package)
    module.__path__ = [str(folder)]
    sys.modules[package] = module
    found = _found(folder, package)
    if not found:
        raise AssayError(
            f"{said_by} {path}: holds no check; one is a folder NAME with an __init__.py that"
            " defines CHECK (docs/writing-a-check.md)"
        )
    for name, check in found.items():
        if name in CHECKS:
            raise AssayError(
                f"{check.folder}: there is a check {name} in {CHECKS[name].folder} already; rename"
                " the folder and the check's name"
            )
    _CHECKS.update(found)
    FOLDERS.append(folder)
    os.environ[FURTHER_CHECKS] = os.pathsep.join(map(str, FOLDERS))


def _found(folder: Path, package: str) -> dict[str, CheckDefinition[Any]]:
    """The definition `CHECK` of each package in `folder` that has one, by name."""
    names = sorted(path.parent.name for path in folder.glob("*/__init__.py"))
    found: dict[str, CheckDefinition[Any]] = {}
    for name in names:
        where = folder / name
        try:
            check = getattr(import_module(f"{package}.{name}"), "CHECK", None)
        except (Exception, SystemExit) as error:
            if folder in shipped_folders():
                raise
            line = line_below([folder], error) or f"{where}/__init__.py"
            said = f"{type(error).__name__}: {error}"
            raise AssayError(
                f"{line}: check {name} cannot be imported: {said}; fix it, or take it out of the"
                " folder"
            ) from error
        if check is None:
            continue
        faults = chain(_unfit(check, name), _unfit_metrics(check, found.values()))
        if fault := next(faults, None):
            raise CheckError(f"{where}: {fault}; {_SEE}")
        found[name] = check
    return found


def _unfit(check: Any, folder: str) -> Iterator[str]:
    """Faults of the definition of a folder of this name."""
    if not isinstance(check, CheckDefinition):
        yield f"CHECK is {check!r:.80}; it must be a CheckDefinition"
    for name in ("name", "title", "deciding", "shown", "parameters", "metrics"):
        if not hasattr(check, name):
            yield f"CHECK has no {name}"
    if check.name != folder or not _NAME.fullmatch(check.name):
        yield (
            f"the check's name is {check.name!r}; it must be its folder's: a letter, then small"
            " letters, digits and _"
        )
    for name, default in vars(CheckDefinition).items():
        plain = not name.startswith("_") and isinstance(default, _PLAIN)
        if plain and not isinstance(value := getattr(check, name), type(default)):
            yield f"{name} is {value!r:.80}; allowed is {type(default).__name__}"
    if not (isinstance(check.parameters, type) and issubclass(check.parameters, Parameters)):
        yield f"parameters is {check.parameters!r:.80}; allowed is a subclass of Parameters"
    fields = check.parameters.model_fields
    for parameter in (*check.swept.values(), *check.samples.values()):
        if parameter not in fields:
            yield f"no parameter is {parameter!r}; allowed are {', '.join(sorted(fields))}"


def _unfit_metrics(
    check: CheckDefinition[Any], before: Iterable[CheckDefinition[Any]]
) -> Iterator[str]:
    """Faults of the metrics of a definition; those of `before` are taken."""
    metrics, others = check.metrics_by_name, (*CHECKS.values(), *before)
    known = {metric.name: metric for metric in metrics_of(others)}
    for attribute in ("deciding", "shown"):
        if getattr(check, attribute) not in {"", *metrics}:
            yield f"{attribute} is {getattr(check, attribute)!r}, none of its metrics"
    for name, metric in metrics.items():
        if metric.unit not in UNITS:
            yield f"metric {name}: unit {metric.unit!r}; allowed is {', '.join(map(repr, UNITS))}"
        if known.get(name, metric) != metric:
            yield (
                f"metric {name} is defined otherwise by another check; import that definition, or"
                " choose another name"
            )


def definitions(brought: Mapping[str, Brought]) -> dict[str, CheckDefinition[Any]]:
    """Definitions of what a plan or campaign brings, by name; none where its plugin is missing."""
    kinds = ((CommandLine, CommandDefinition), *(hooks("brought_check") if brought else ()))
    return {
        name: definition(name, line)
        for name, line in brought.items()
        for kind, definition in kinds
        if isinstance(line, kind)
    }


def checks_with(brought: Mapping[str, Brought]) -> Checks:
    """The checks that are folders, and those that a plan or campaign brings. Raises AssayError for
    the name of a check that is a folder, and for a metric that such a check defines otherwise."""
    found = definitions(brought)
    for said in (said for check in found.values() for _, said in clashes_of(check)):
        raise AssayError(said)
    return {**CHECKS, **found}


def clashes_of(check: CheckDefinition[Any]) -> Iterator[tuple[str, str]]:
    """Names of a check and of its metrics that are reserved, each with what is wrong."""
    if check.name in CHECKS:
        yield check.name, f"{check.name} is a check of Assay; reserved are {', '.join(CHECKS)}"
    for other in CHECKS.values():
        for metric in other.metrics:
            if check.metrics_by_name.get(metric.name, metric) != metric:
                yield (
                    metric.name,
                    f"the metric {metric.name} is another one of check {other.name}; give another"
                    f" name, such as {check.name}_{metric.name} (reserved names:"
                    " docs/your-benchmark.md)",
                )


def brought_by(checks: Checks) -> dict[str, Brought]:
    """Checks among these that a campaign brought, by name."""
    return {name: check.line for name, check in checks.items() if check.line is not None}


def brought_to_session() -> dict[str, Brought]:
    """The brought checks of this session, by name."""
    path = os.environ.get(BROUGHT_FILE)
    return msgspec.json.decode(Path(path).read_bytes(), type=dict[str, Brought]) if path else {}


def validated(definition: CheckDefinition[Any], params: Mapping[str, Any]) -> Any:
    """The check's parameters. Raises UnfitTestError with each fault."""
    try:
        return definition.parameters.model_validate(params)
    except ValidationError as error:
        faults = (
            f"params.{'.'.join(map(str, each['loc']))}: {each['msg']}, found {each['input']!r:.100}"
            for each in error.errors()
        )
        raise UnfitTestError("; ".join(faults)) from None


def line_below(folders: Collection[Path], error: BaseException) -> str | None:
    """The innermost line of the code below `folders` that an error came through, "FILE:LINE"; None:
    it came through none."""
    steps = traceback.walk_tb(error.__traceback__)
    lines = [(frame.f_code.co_filename, line) for frame, line in steps]
    if isinstance(error, SyntaxError) and error.filename:
        lines.append((error.filename, error.lineno or 1))
    below = (one for one in reversed(lines) if any(map(Path(one[0]).is_relative_to, folders)))
    return next((f"{file}:{line}" for file, line in below), None)


def message_of(folders: Collection[Path], error: BaseException) -> str:
    """Message of an error, with the line of the code below `folders` that it came from."""
    if isinstance(error, CheckError):
        return str(error)
    words = error.msg if isinstance(error, SyntaxError) else " ".join(str(error).split())
    named, where = f"{type(error).__name__}: {words:.300}", line_below(folders, error)
    return f"{where}: {named}; correct this check, {_SEE}" if where else named


def leaf_of(definition: CheckDefinition[Any]) -> type[MpiCheck]:
    """The class that says how a check is started and read. Raises CheckError for one of a check
    outside the tree that cannot be used."""
    if not (definition.folder / "run.py").is_file():
        return OwnProgram
    try:
        run = import_module(f"{definition.package}.run").Run
        if not issubclass(run, MpiCheck):
            raise TypeError("Run is no subclass of checks.common.base.MpiCheck")
        for name in ("command", "read"):
            if getattr(run, name) is getattr(MpiCheck, name):
                raise TypeError(f"Run has no method {name}")
    except (Exception, SystemExit) as error:
        if definition.is_shipped:
            raise
        where = line_below([definition.folder], error) or definition.folder / "run.py"
        fault = f"{where}: check {definition.name} cannot be run: {type(error).__name__}: {error}"
        raise CheckError(f"{fault}; {_SEE}") from error
    return cast(type[MpiCheck], run)


_CHECKS.update(_found(SHIPPED, "checks"))
for _package, _folder in folders("checks").items():
    _CHECKS.update(_found(_folder, _package))
for _path in further_folders():
    add_folder(_path, FURTHER_CHECKS)
