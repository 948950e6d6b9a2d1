# SPDX-License-Identifier: Apache-2.0
"""The lines of records.jsonl, batch by batch: checked together, and one by one only where wrong.

Samples, parameters and what else no report reads are passed over undecoded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

import msgspec
import numpy as np

from records.errors import AssayError
from records.plan import Plan, PlannedCase
from records.record import Status

#: Bytes read and decoded together.
_BATCH = 1 << 18
_NEWLINE = ord("\n")


class Value(msgspec.Struct, gc=False):
    """One metric of a record; `at` stays text, for equal points are written alike."""

    name: str
    unit: str
    value: float
    at: msgspec.Raw = msgspec.Raw()


class Line(msgspec.Struct, gc=False):
    """A record without what no report reads; `nodes`, `artifacts` and `profile` stay text."""

    schema: int
    run_id: str
    case_id: str
    check: str
    environment: str
    params: msgspec.Raw
    block: int
    attempt: int
    status: Status
    reason: str | None
    started_at: str | None
    job_id: str | None
    nodes: msgspec.Raw
    metrics: list[Value]
    flags: list[str]
    artifacts: msgspec.Raw
    profile: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_SCHEMA, _CASE, _BLOCK = attrgetter("schema"), attrgetter("case_id"), attrgetter("block")
_NAMED = attrgetter("check", "environment")


@dataclass(frozen=True, slots=True)
class Batch:
    """Successive records that agree with the plan: number of the first line, position of each
    one's case in the plan."""

    first: int
    cases: list[int]
    lines: list[Line]


def batches(path: Path, plan: Plan) -> Iterator[Batch]:
    """The records of a file in order; a torn last line is left out.

    Raises AssayError naming file and line for what is no record, or none of this plan.
    """
    places = {case.id: place for place, case in enumerate(plan.cases)}
    named = [(case.check, case.environment) for case in plan.cases]
    decoder = msgspec.json.Decoder(Line)
    first = 1
    for chunk in _chunks(path):
        lines = _decoded(decoder, chunk, f"{path}", first)
        try:
            cases = [places[name] for name in map(_CASE, lines)]
        except KeyError:
            cases = []
        if not (cases and _agree(lines, cases, named)):
            _name_the_first_wrong(lines, places, plan, f"{path}", first)
        yield Batch(first, cases, lines)
        first += len(lines)


def _chunks(path: Path) -> Iterator[bytes]:
    """The file in pieces of whole lines, without what follows the last newline."""
    with path.open("rb") as file:
        while chunk := file.read(_BATCH):
            chunk += file.readline()
            whole = chunk if chunk.endswith(b"\n") else chunk[: chunk.rfind(b"\n") + 1]
            if whole:
                yield whole


def _decoded(
    decoder: msgspec.json.Decoder[Line], chunk: bytes, path: str, first: int
) -> list[Line]:
    """The records of a chunk: one on each line, and nothing else."""
    try:
        lines = decoder.decode_lines(chunk)
        if len(lines) == np.count_nonzero(np.frombuffer(chunk, dtype=np.uint8) == _NEWLINE):
            return lines
    except (msgspec.MsgspecError, UnicodeDecodeError):
        pass
    return [
        _decoded_alone(decoder, text, f"{path}:{number}")
        for number, text in enumerate(chunk[:-1].split(b"\n"), start=first)
    ]


def _decoded_alone(decoder: msgspec.json.Decoder[Line], text: bytes, where: str) -> Line:
    try:
        return decoder.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise AssayError(f"{where}: not a record: {_said(text, error)}") from error


def _said(line: bytes, error: Exception) -> str:
    """What is wrong with a line: an unknown schema before what follows from it."""
    try:
        found = msgspec.json.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return str(error)
    schema = found.get("schema") if isinstance(found, dict) else None
    return str(error) if schema in (None, 1) else f"schema is {schema}; allowed: 1."


def _agree(lines: list[Line], cases: list[int], named: list[tuple[str, str]]) -> bool:
    """Whether all lines are as the plan has them, as far as can be told of all together."""
    return (
        set(map(_SCHEMA, lines)) == {1}
        and list(map(_NAMED, lines)) == [named[case] for case in cases]
        and min(map(_BLOCK, lines)) > 0
    )


def _name_the_first_wrong(
    lines: list[Line], places: dict[str, int], plan: Plan, path: str, first: int
) -> None:
    """Raise for the first line that does not agree with the plan; a skipped case has block 0."""
    for number, line in enumerate(lines, start=first):
        place = places.get(line.case_id)
        wrong = _wrong(line, plan.cases[place] if place is not None else None)
        if wrong:
            raise AssayError(f"{path}:{number}: {wrong}")


def _wrong(line: Line, case: PlannedCase | None) -> str | None:
    """What does not agree with the plan."""
    if line.schema != 1:
        return f"schema is {line.schema}; allowed: 1."
    if case is None:
        return (
            f"case {line.case_id!r} is not in plan.json. A run directory holds the records of one"
            " plan; move foreign lines out."
        )
    for name, found, planned in (
        ("check", line.check, case.check),
        ("environment", line.environment, case.environment),
    ):
        if found != planned:
            return (
                f"`{name}` is {found!r}, but plan.json has {planned!r} for case {case.id}. The"
                " line or the plan was changed after the run."
            )
    if line.block < 1 and line.status != "skipped":
        return f"`block` is {line.block}; allowed: 1 or more (0 only for skipped)."
    return None
