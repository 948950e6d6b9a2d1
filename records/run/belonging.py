# SPDX-License-Identifier: Apache-2.0
"""Whether a record belongs to the run in whose directory it is: its plan, its id, its chain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import msgspec

from records.run.plan import Plan, PlannedCase
from records.run.record import Record
from records.values import ALLOWED, is_artifact, is_word, odd_word, utc_seconds

#: What an artifact's path is called, and its checksum.
CHECKSUM = "_sha256"


def raw_paths(artifacts: Mapping[str, str]) -> dict[str, str]:
    """The paths of a launch's artifacts by their kinds, without the checksums."""
    return {kind: path for kind, path in artifacts.items() if not kind.endswith(CHECKSUM)}


def checksum_of(artifacts: Mapping[str, str], kind: str) -> str:
    """The SHA-256 of an artifact, "" where its record has none."""
    return artifacts.get(f"{kind}{CHECKSUM}", "")


@dataclass
class Belonging:
    """What records of a run agree with. `run_id` "": that of the first record."""

    plan: Plan
    run_id: str = ""
    _seen: set[tuple[str, int, int]] = field(default_factory=set, repr=False)

    @cached_property
    def _cases(self) -> dict[str, PlannedCase]:
        return {case.id: case for case in self.plan.cases}

    def fault(self, record: Record) -> str | None:
        """What of a whole record does not agree; records that were asked about before count."""
        case = self._cases.get(record.case_id)
        if fault := self.place_fault(record, case):
            return fault
        if record.site != self.plan.site:
            return f"`site` is {record.site!r:.80}, but plan.json has {self.plan.site!r:.80}"
        if case and record.status != "skipped" and record.ranks != case.ranks:
            return f"`ranks` is {record.ranks}, but plan.json has {case.ranks} for case {case.id}"
        if record.params != (case.params if case else None):
            return f"`params` are not those that plan.json has for case {record.case_id}"
        place = record.case_id, record.block, record.attempt
        if place in self._seen:
            return f"case {place[0]}, block {place[1]}, attempt {place[2]} stands here again"
        self._seen.add(place)
        return next(self._content_faults(record), None)

    def _content_faults(self, record: Record) -> Iterator[str]:
        """What of a record's own content cannot be."""
        nodes = [record.nodes, *(one.nodes for one in record.neighbours or ())]
        yield from filter(None, map(nodes_fault, nodes))
        yield from filter(None, [artifacts_fault(record.artifacts)])
        for name in ("started_at", "ended_at"):
            time = getattr(record, name)
            if time is not None and utc_seconds(time) is None:
                yield f"`{name}` is {time!r:.80}; allowed: a time as 2026-11-20T23:50:11.120Z"
        points = set()
        for metric in record.metrics:
            if fault := self.plan.register.fault(metric):
                yield fault
                return
            point = metric.name, tuple(sorted((metric.at or {}).items()))
            if point in points:
                yield f"`metrics` hold {metric.name} at {metric.at or 'no point'!s:.80} twice"
            points.add(point)

    def place_fault(self, record: Record, case: PlannedCase | None) -> str | None:
        """What of a record's place in the run does not agree; its other members may be raw."""
        self.run_id = self.run_id or record.run_id
        return next(self._place_faults(record, case), None)

    def _place_faults(self, record: Record, case: PlannedCase | None) -> Iterator[str]:
        if record.run_id != self.run_id:
            yield (
                f"`run_id` is {record.run_id!r}, but the run is {self.run_id!r}. A run directory"
                " holds the records of one run; move foreign lines out."
            )
        if not is_word(record.run_id):
            yield f"`run_id` is {record.run_id!r}; {ALLOWED}"
        if case is None:
            yield (
                f"case {record.case_id!r} is not in plan.json. A run directory holds the records of"
                " one plan; move foreign lines out."
            )
            return
        for name, found, planned in (
            ("check", record.check, case.check),
            ("environment", record.environment, case.environment),
        ):
            if found != planned:
                yield (
                    f"`{name}` is {found!r}, but plan.json has {planned!r} for case {case.id}. The"
                    " line or the plan was changed after the run."
                )
        if record.block < 1 and record.status != "skipped":
            yield f"`block` is {record.block}; allowed: 1 or more (0 only for skipped)."
        if record.block > self.plan.blocks:
            yield f"`block` is {record.block}; plan.json has {self.plan.blocks} blocks."


def params_fault(params: msgspec.Raw, case: PlannedCase) -> str | None:
    """Whether parameters that were left as text are not those of the case."""
    try:
        same = msgspec.json.decode(params) == case.params
    except (msgspec.MsgspecError, ValueError, RecursionError):
        same = False
    return None if same else f"`params` are not those that plan.json has for case {case.id}"


def nodes_fault(nodes: list[str]) -> str | None:
    """A node whose name could not be one."""
    odd = odd_word(nodes)
    return None if odd is None else f"`nodes` holds {odd!r}; {ALLOWED}"


def artifacts_fault(artifacts: Mapping[str, str]) -> str | None:
    """A path that leads out of the run directory, or no folder of it."""
    for path in raw_paths(artifacts).values():
        if not is_artifact(path):
            return (
                f"`artifacts` holds {path!r}; allowed is the name of a file in a folder of the run"
                " directory, as raw/x.out"
            )
    return None
