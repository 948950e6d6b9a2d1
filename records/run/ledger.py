# SPDX-License-Identifier: Apache-2.0
"""What the records of a run come to, without their numbers: read once, and then as they are added.

A driver, `assay status` and a judgement ask of it; a run of 100,000 launches fits.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from records.errors import AssayError
from records.input_files import decoded, kind_at
from records.metric import Metric
from records.run.belonging import Belonging, artifacts_fault, nodes_fault
from records.run.chain import Chain
from records.run.plan import Plan, PlannedCase
from records.run.record import Record, Status
from records.run.record_lines import Line, batches
from records.text.withheld import masked


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


class Ledger:
    """The entries of a run in the order of its records, and the chain along which they lie."""

    def __init__(self, directory: Path, plan: Plan, run_id: str) -> None:
        self._path = directory / "records.jsonl"
        self._belonging = Belonging(plan, run_id)
        self._bounds = {
            (metric.name, metric.unit): metric.bounds for metric in plan.register.metrics.values()
        }
        self._seen: set[tuple[str, int, int]] = set()
        #: Lists of nodes, as they were written, and how many nodes they have.
        self._nodes: dict[bytes, int] = {}
        #: Bytes that were read.
        self._read_to = 0
        self.chain = Chain.of(directory)
        self.entries: list[Entry] = []

    def catch_up(self) -> None:
        """Read the records that were appended since; all of them the first time.

        Raises AssayError naming file and line for what is no record of the run, for damage, and
        for a chain that is broken.
        """
        if kind_at(self._path) is None:
            if fault := self.chain.missing():
                raise AssayError(f"{self._path}:{self.chain.records}: {fault}")
            return
        cases = self._belonging.plan.cases
        for batch in batches(self._path, self._belonging, self.chain, self._read_to):
            for number, (place, line) in enumerate(zip(batch.cases, batch.lines, strict=True)):
                where = f"{self._path}:{batch.first + number}"
                self.entries.append(self._entry(cases[place], line, where))
            self._read_to += len(batch.text)

    def add(self, record: Record) -> None:
        """Take in a record that this process has appended, after the chain has followed it."""
        self.entries.append(
            Entry(
                *(record.case_id, record.check, record.environment, record.block, record.attempt),
                *(record.status, record.reason, record.started_at, record.ended_at),
                *(len(record.nodes), tuple(record.flags), record.artifacts.get("stderr")),
            )
        )

    def _entry(self, case: PlannedCase, line: Line, where: str) -> Entry:
        artifacts = decoded(_artifacts.decode, bytes(line.artifacts), where, _MEMBER + "artifacts`")
        nodes = self._nodes.get(bytes(line.nodes))
        if nodes is None:
            names = decoded(_names.decode, bytes(line.nodes), where, _MEMBER + "nodes`")
            nodes = self._nodes[bytes(line.nodes)] = len(names)
            if fault := nodes_fault(names):
                raise AssayError(f"{where}: {fault}")
        for fault in self._faults(line, artifacts):
            raise AssayError(f"{where}: {fault}")
        return Entry(
            *(case.id, case.check, case.environment, line.block, line.attempt),
            *(line.status, line.reason and masked(line.reason), line.started_at, line.ended_at),
            *(nodes, line.flags, artifacts.get("stderr")),
        )

    def _faults(self, line: Line, artifacts: dict[str, str]) -> Iterator[str]:
        """What of a record is not as it must be, beside what a batch is held against."""
        place = line.case_id, line.block, line.attempt
        if place in self._seen:
            yield f"case {place[0]}, block {place[1]}, attempt {place[2]} stands here again"
        self._seen.add(place)
        if fault := artifacts_fault(artifacts):
            yield fault
        for metric in line.metrics:
            low, high = self._bounds.get((metric.name, metric.unit), (1.0, 0.0))
            if not low <= metric.value <= high:
                whole = Metric(metric.name, metric.unit, metric.better, metric.value)
                if fault := self._belonging.plan.register.fault(whole):
                    yield fault


_MEMBER = "a record: `"
_names = msgspec.json.Decoder(list[str])
_artifacts = msgspec.json.Decoder(dict[str, str])
