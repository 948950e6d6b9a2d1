# SPDX-License-Identifier: Apache-2.0
"""Records of a run as a report, a driver and `assay status` read them: many at a time, along the
chain. Parameters, samples and what else is seldom read stay undecoded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

import msgspec

from records.errors import AssayError
from records.input_files import decoded, kind_at, line_batches, opened
from records.metric import Metric
from records.run.chain import Chain
from records.run.plan import Plan
from records.run.record import (
    SCHEMA,
    Belonging,
    Record,
    Status,
    artifacts_fault,
    decode_line,
    nodes_fault,
)
from records.text.plain_text import masked


class Value(Metric, frozen=True, kw_only=True, gc=False):
    """A metric whose `at` and `samples` stay text, for equal points are written alike."""

    at: msgspec.Raw = msgspec.Raw()  # type: ignore[assignment]
    samples: msgspec.Raw = msgspec.Raw()  # type: ignore[assignment]


class Line(Record, frozen=True, kw_only=True, gc=False):
    """A record as a report reads it: what stays text is decoded only where it is needed."""

    params: msgspec.Raw  # type: ignore[assignment]
    nodes: msgspec.Raw  # type: ignore[assignment]
    metrics: list[Value]  # type: ignore[assignment]
    flags: tuple[str, ...]  # type: ignore[assignment]
    artifacts: msgspec.Raw  # type: ignore[assignment]
    profile: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET  # type: ignore[assignment]


_SCHEMA, _CHAIN = map(attrgetter, ("schema", "chain"))
_PLACE = attrgetter("case_id", "check", "environment", "block", "attempt", "status")
_names = msgspec.json.Decoder(list[str])
_artifacts = msgspec.json.Decoder(dict[str, str])


@dataclass(frozen=True, slots=True)
class Batch:
    """Successive records that agree with the plan: number of the first line, all lines as they are
    written, position of each one's case in the plan."""

    first: int
    text: bytes
    cases: list[int]
    lines: list[Line]


def batches(path: Path, run: Belonging, chain: Chain, start: int = 0) -> Iterator[Batch]:
    """The records of a file in order; a torn last line is left out. From byte `start` on, where the
    chain has followed those before. Raises AssayError naming file and line for what is no record,
    none of this run, or breaks the chain."""
    decoder = msgspec.json.Decoder(Line)
    with opened(path) as file:
        file.seek(start)
        for first, text, texts in line_batches(file, path, 1 + chain.records):
            lines = _decoded(decoder, text, texts, path, first)
            cases = run.places(lines)
            for number, fault in run.line_faults(cases, lines):
                raise AssayError(f"{path}:{first + number}: {fault}")
            if broken := chain.follow(texts, [*map(_CHAIN, lines)]):
                raise AssayError(f"{path}:{chain.records + 1}: {broken}")
            yield Batch(first, text, cases, lines)
    if missing := chain.missing():
        raise AssayError(f"{path}:{chain.records}: {missing}")


def _decoded(
    decoder: msgspec.json.Decoder[Line], text: bytes, texts: list[bytes], path: Path, first: int
) -> list[Line]:
    """The records of a piece of the file, one in each of its lines `texts` and nothing else."""
    try:
        if not text.isascii():
            text.decode()  # what stays raw is decoded nowhere else
        lines = decoder.decode_lines(text)
        if len(lines) == len(texts) and {*map(_SCHEMA, lines)} == {SCHEMA}:
            return lines
    except (msgspec.MsgspecError, ValueError, RecursionError):
        pass
    return [
        decode_line(decoder, one, f"{path}:{number}") for number, one in enumerate(texts, first)
    ]


def artifacts_of(line: Line, where: str) -> dict[str, str]:
    """The artifacts of a record; `where` is its file and number. Raises AssayError."""
    found = decoded(_artifacts.decode, bytes(line.artifacts), where, "a record: `artifacts`")
    if fault := artifacts_fault(found):
        raise AssayError(f"{where}: {fault}")
    return found


def nodes_of(text: bytes, where: str) -> list[str]:
    """The nodes of a record by their text; `where` is its file and number. Raises AssayError."""
    found = decoded(_names.decode, text, where, "a record: `nodes`")
    if fault := nodes_fault(found):
        raise AssayError(f"{where}: {fault}")
    return found


class Entry(msgspec.Struct, frozen=True, gc=False):
    """A record without its numbers; `nodes` is how many, `output` where its stderr is kept."""

    case_id: str
    check: str
    environment: str
    block: int
    attempt: int
    status: Status
    reason: str | None
    started_at: str | None
    ended_at: str | None
    nodes: int
    flags: tuple[str, ...]
    output: str | None

    @classmethod
    def of(cls, one: Record, nodes: int, artifacts: dict[str, str]) -> Entry:
        """The entry of a record, or of a line of one."""
        found: list[Any] = [*_PLACE(one), one.reason and masked(one.reason)]
        found += [one.started_at, one.ended_at, nodes, tuple(one.flags), artifacts.get("stderr")]
        return cls(*found)


class Ledger:
    """Sum of the records of a run, without their numbers: read once, and then as they are
    added; the chain along which they lie. A run of 100,000 launches fits."""

    def __init__(self, directory: Path, plan: Plan, run_id: str) -> None:
        self._path, self._run = directory / "records.jsonl", Belonging(plan, run_id)
        #: Lists of nodes, as they were written, and how many nodes they have.
        self._nodes: dict[bytes, int] = {}
        self._read_to = 0
        self.chain = Chain.of(directory)
        self.entries: list[Entry] = []

    def catch_up(self) -> None:
        """Read the records that were appended since; all of them the first time. Raises AssayError
        naming file and line for what is no record of the run, for damage, and for a chain that is
        broken."""
        if kind_at(self._path) is None:
            if fault := self.chain.missing():
                raise AssayError(f"{self._path}:{self.chain.records}: {fault}")
            return
        for batch in batches(self._path, self._run, self.chain, self._read_to):
            for number, line in enumerate(batch.lines, start=batch.first):
                where = f"{self._path}:{number}"
                artifacts, nodes = artifacts_of(line, where), bytes(line.nodes)
                if nodes not in self._nodes:
                    self._nodes[nodes] = len(nodes_of(nodes, where))
                if fault := self._run.repeated(line):
                    raise AssayError(f"{where}: {fault}")
                self.entries.append(Entry.of(line, self._nodes[nodes], artifacts))
            self._read_to += len(batch.text)

    def add(self, record: Record) -> None:
        """Take in a record that this process has appended, after the chain has followed it."""
        self.entries.append(Entry.of(record, len(record.nodes), record.artifacts))
