# SPDX-License-Identifier: Apache-2.0
"""From an entry of `cases` with a `command` to the check that it defines."""

import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from assay.schema.document import Location, Problem, found
from assay.schema.model import CommandEntry
from checks.common.command import (
    CommandDefinition,
    expression_fault,
    placeholders,
    value_of_formula,
)
from checks.common.definition import CheckDefinition
from checks.common.registry import clashes_of
from checks.common.sources import LAUNCH_SCRIPTS
from records.errors import AssayError
from records.input_files import read_whole
from records.metric import MetricDefinition
from records.run.brought import BroughtFile, Caught, CommandLine
from records.units import KNOWN, UNITS, better_of, si_of

#: Bytes of all files of an entry; they are kept in plan.json.
MOST_BYTES = 4_000_000


def bring_command(
    entry: CommandEntry, folder: Path, place: Location, checks: dict[str, CheckDefinition[Any]]
) -> Iterator[Problem]:
    """Add the check of an entry at `place` to `checks`, with its files below `folder`; or its
    faults."""
    faults = [*_expression_faults(entry), *_metric_faults(entry)]
    names: list[str] = []
    try:
        names = placeholders(entry.command)
    except ValueError as error:
        faults.append((("command",), str(error)))
    if bool(entry.program) != ("{program}" in entry.command):
        faults.append((("program",), "is the name of what {program} in the command is; give both"))
    if entry.launch == "none" and (entry.ranks != 1 or entry.ranks_per_node not in (1, "fill")):
        faults.append((("ranks",), "a launch without MPI is one process; allowed is 1"))
    if entry.sources and not entry.build:
        faults.append((("sources",), "are for a `build`, which is missing; name them in `input`"))
    files, more = _files(entry, folder)
    for where, said in [*faults, *more]:
        yield Problem((*place, *where), said)
    if faults or more:
        return
    made = CommandDefinition(entry.name, _line(entry, names, files))
    clashes = dict(clashes_of(made))
    for name, said in clashes.items():
        yield Problem((*place, *(("metrics", name) if name in entry.metrics else ("name",))), said)
    if not clashes:
        checks[entry.name] = made


def _line(entry: CommandEntry, names: list[str], files: list[BroughtFile]) -> CommandLine:
    statuses = [one for one in entry.right if isinstance(one, int)]
    return CommandLine(
        title=entry.title or entry.name.replace("_", " "),
        command=entry.command,
        build=entry.build,
        files=files,
        launch=entry.launch,
        ranks=entry.ranks,
        ranks_per_node=entry.ranks_per_node,
        names=names,
        metrics=_metrics(entry),
        right=[one for one in entry.right if isinstance(one, str)],
        wrong=entry.wrong,
        exit_status=statuses[0] if statuses else 0,
        program=entry.program or msgspec.UNSET,
    )


def _expression_faults(entry: CommandEntry) -> Iterator[tuple[Location, str]]:
    asked: list[tuple[Location, str, int | None]] = [
        (("metrics", name, "find"), one.find, 1) for name, one in entry.metrics.items()
    ]
    asked += [(("wrong", i), one, None) for i, one in enumerate(entry.wrong)]
    asked += [
        (("right", i), one, None) for i, one in enumerate(entry.right) if isinstance(one, str)
    ]
    for where, text, groups in asked:
        if fault := expression_fault(text, groups):
            yield where, f"found {found(text)}: it {fault}"
    statuses = [i for i, one in enumerate(entry.right) if isinstance(one, int)]
    for i in statuses:
        if len(statuses) > 1 or not 0 <= int(entry.right[i]) <= 255:
            yield ("right", i), "allowed is one exit status, from 0 to 255"


def _metric_faults(entry: CommandEntry) -> Iterator[tuple[Location, str]]:
    for name, one in entry.metrics.items():
        unit, _ = si_of(one.unit)
        # What must be within bounds has no good direction, and is compared by nothing.
        is_bounded = any(bound is not None for bound in (one.at_least, one.at_most)) or one.equals
        if unit not in UNITS:
            yield (
                ("metrics", name, "unit"),
                f"found {found(one.unit)}; allowed are {KNOWN}; write 1 for what is none of them",
            )
        elif one.better is None and better_of(unit) is None and not is_bounded:
            yield (
                ("metrics", name),
                "say which direction is good, by `better: higher` or `better: lower`",
            )
        if one.memory_share is not None and unit != "bytes":
            yield ("metrics", name, "memory_share"), f"is of bytes, not of {unit}"
        if (one.at_least or 0) > (math.inf if one.at_most is None else one.at_most):
            yield ("metrics", name, "at_least"), f"is above at_most = {one.at_most:g}"
        try:
            value_of_formula(one.equals or "0", dict.fromkeys(entry.metrics, 1.0))
        except ValueError as error:
            yield ("metrics", name, "equals"), f"found {found(one.equals)}: it {error}"


def _metrics(entry: CommandEntry) -> list[Caught]:
    made = []
    for name, one in entry.metrics.items():
        unit, factor = si_of(one.unit)
        better = one.better or better_of(unit)
        which = "" if one.of == "only" else f"; of several the {one.of}"
        told = f"printed by `{entry.command.split()[0]}`, found by {one.find}{which}"
        definition = MetricDefinition(
            name, unit, better or "lower", told[:500], measured=better is not None
        )
        made.append(
            Caught(
                metric=definition,
                find=one.find,
                factor=factor,
                of=one.of,
                at_least=None if one.at_least is None else one.at_least * factor,
                at_most=None if one.at_most is None else one.at_most * factor,
                memory_share=one.memory_share,
                equals=one.equals,
                stream=one.from_,
            )
        )
    return made


def _files(
    entry: CommandEntry, folder: Path
) -> tuple[list[BroughtFile], list[tuple[Location, str]]]:
    """The files of an entry, and what is wrong with them."""
    files: dict[str, BroughtFile] = {}
    faults: list[tuple[Location, str]] = []
    left = MOST_BYTES
    named = [("sources", *one) for one in enumerate(entry.sources)]
    for key, index, name in [*named, *(("input", *one) for one in enumerate(entry.input))]:
        path = (folder / name).resolve()
        try:
            if Path(name).is_absolute() or ".." in Path(name).parts:
                raise AssayError(f"{name}: allowed is a file of the campaign's folder, or below it")
            if name in entry.sources and key == "input":
                continue  # it is there already
            if Path(name).name in files or (LAUNCH_SCRIPTS / Path(name).name).exists():
                raise AssayError(f"{name}: a launch has another file of this name; rename it")
            left -= path.stat().st_size if path.is_file() else 0
            if left < 0:
                raise AssayError(
                    f"{name}: the files of an entry take more than {MOST_BYTES / 1e6:.0f} MB; keep"
                    " large data where all nodes see them, and name their path in the command"
                )
            is_program = os.access(path, os.X_OK)
            called, content = Path(name).name, read_whole(path)
            files[called] = BroughtFile(name=called, content=content, executable=is_program)
        except AssayError as error:
            faults.append(((key, index), str(error)))
    return list(files.values()), faults
