# SPDX-License-Identifier: Apache-2.0
"""The records of a file in batches: a fast test of a whole batch, line by line only where it fails.

Parameters, samples and what else is seldom read stay undecoded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

import msgspec
import numpy as np

from records.errors import AssayError
from records.metric import Metric
from records.plan import Plan, PlannedCase
from records.record import SCHEMA, Record, decode_line

#: Bytes read and decoded together.
_BATCH = 1 << 18
_NEWLINE = ord("\n")


class Value(Metric, frozen=True, kw_only=True, gc=False):
    """A metric whose `at` and `samples` stay text, for equal points are written alike."""

    at: msgspec.Raw = msgspec.Raw()  # type: ignore[assignment]
    samples: msgspec.Raw = msgspec.Raw()  # type: ignore[assignment]


class Line(Record, frozen=True, kw_only=True, gc=False):
    """A record as a report reads it: what stays text is decoded only where it is needed."""

    params: msgspec.Raw  # type: ignore[assignment]
    nodes: msgspec.Raw  # type: ignore[assignment]
    metrics: list[Value]  # type: ignore[assignment]
    artifacts: msgspec.Raw  # type: ignore[assignment]
    profile: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET  # type: ignore[assignment]


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
        cases = [places.get(name, -1) for name in map(_CASE, lines)]
        agree = (
            -1 not in cases
            and set(map(_SCHEMA, lines)) == {SCHEMA}
            and list(map(_NAMED, lines)) == [named[case] for case in cases]
            and min(map(_BLOCK, lines)) > 0
        )
        if not agree:  # a skipped case has block 0, and is right
            for number, (case, line) in enumerate(zip(cases, lines, strict=True), start=first):
                if wrong := _wrong(line, plan.cases[case] if case >= 0 else None):
                    raise AssayError(f"{path}:{number}: {wrong}")
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
        decode_line(decoder, text, f"{path}:{number}")
        for number, text in enumerate(chunk[:-1].split(b"\n"), start=first)
    ]


def _wrong(line: Line, case: PlannedCase | None) -> str | None:
    """What does not agree with the plan."""
    if line.schema != SCHEMA:
        return f"schema is {line.schema}; allowed: {SCHEMA}."
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
