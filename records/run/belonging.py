# SPDX-License-Identifier: Apache-2.0
"""Check that a record belongs to the run in whose directory it is: its plan, its id, its place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import repeat
from operator import attrgetter
from typing import Any

import msgspec

from records.run.plan import Plan
from records.run.record import Record
from records.values import ALLOWED, is_artifact, odd_word, utc_seconds

#: What an artifact's path is called, and its checksum.
CHECKSUM = "_sha256"
_NAMED = attrgetter("case_id", "check", "environment")
_BLOCK, _RUN_ID, _PARAMS = map(attrgetter, ("block", "run_id", "params"))


def raw_paths(artifacts: Mapping[str, str]) -> dict[str, str]:
    """The paths of a launch's artifacts by their kinds, without the checksums."""
    return {kind: path for kind, path in artifacts.items() if not kind.endswith(CHECKSUM)}


def checksum_of(artifacts: Mapping[str, str], kind: str) -> str:
    """The SHA-256 of an artifact, "" where its record has none."""
    return artifacts.get(f"{kind}{CHECKSUM}", "")


class Belonging:
    """Plan and run that records agree with. `run_id` "": that of the first record."""

    def __init__(self, plan: Plan, run_id: str = "") -> None:
        self.plan, self.run_id = plan, run_id
        self._cases = {case.id: case for case in plan.cases}
        self._places = {
            (case.id, case.check, case.environment): place for place, case in enumerate(plan.cases)
        }
        #: The text of the parameters that each case had in its last line: most have it in the next.
        self._params = [b""] * len(plan.cases)
        self._seen: set[tuple[str, int, int]] = set()

    def fault(self, record: Record) -> str | None:
        """Fault of a whole record; records that were asked about before count."""
        return next(self._faults(record), None)

    def _faults(self, record: Record) -> Iterator[str]:
        yield from self._place_faults(record)
        case = self._cases[record.case_id]
        if record.site != self.plan.site:
            yield f"`site` is {record.site!r:.80}, but plan.json has {self.plan.site!r:.80}"
        if record.status != "skipped" and record.ranks != case.ranks:
            yield f"`ranks` is {record.ranks}, but plan.json has {case.ranks} for case {case.id}"
        if record.params != case.params:
            yield _other_params(case.id)
        yield from filter(None, [self.repeated(record)])
        nodes = [record.nodes, *(one.nodes for one in record.neighbours or ())]
        yield from filter(None, [*map(nodes_fault, nodes), artifacts_fault(record.artifacts)])
        for name in ("submitted_at", "started_at", "ended_at"):
            time = getattr(record, name)
            if isinstance(time, str) and utc_seconds(time) is None:
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

    def repeated(self, record: Record) -> str | None:
        """Fault of an attempt that was asked about before."""
        place = record.case_id, record.block, record.attempt
        if place in self._seen:
            return f"case {place[0]}, block {place[1]}, attempt {place[2]} is recorded twice"
        self._seen.add(place)
        return None

    def places(self, lines: list[Any]) -> list[int]:
        """Position in the plan of each line's case, -1 where the plan has none of its names."""
        return [*map(self._places.get, map(_NAMED, lines), repeat(-1))]

    def line_faults(self, cases: list[int], lines: list[Any]) -> Iterator[tuple[int, str]]:
        """Numbers of lines that do not belong to the run, with the reason; `cases` are their
        places, their parameters are raw. Lines that agree are looked at together."""
        blocks = [*map(_BLOCK, lines)]
        agree = (
            min(cases) >= 0
            and {*map(_RUN_ID, lines)} == {self.run_id}
            and min(blocks) > 0
            and max(blocks) <= self.plan.blocks
        )
        for number, line in enumerate(() if agree else lines):
            # A skipped case has block 0, and is right.
            yield from ((number, fault) for fault in self._place_faults(line))
        texts = [*map(bytes, map(_PARAMS, lines))]
        if texts == [*map(self._params.__getitem__, cases)]:
            return
        for number, (place, text) in enumerate(zip(cases, texts, strict=True)):
            if self._params[place] != text:
                self._params[place], case = text, self.plan.cases[place]
                try:
                    same = msgspec.json.decode(text) == case.params
                except (msgspec.MsgspecError, ValueError, RecursionError):
                    same = False
                if not same:
                    yield number, _other_params(case.id)

    def _place_faults(self, record: Record) -> Iterator[str]:
        """Faults of a record's place in the run; its other members may be raw."""
        self.run_id, case = self.run_id or record.run_id, self._cases.get(record.case_id)
        if record.run_id != self.run_id:
            yield (
                f"`run_id` is {record.run_id!r}, but the run is {self.run_id!r}. A run directory"
                " holds the records of one run; move foreign lines out."
            )
        if odd_word([record.run_id]) is not None:
            yield f"`run_id` is {record.run_id!r}; {ALLOWED}"
        if case is None:
            yield (
                f"case {record.case_id!r} is not in plan.json. A run directory holds the records of"
                " one plan; move foreign lines out."
            )
            return
        for name in ("check", "environment"):
            if (found := getattr(record, name)) != (planned := getattr(case, name)):
                yield (
                    f"`{name}` is {found!r}, but plan.json has {planned!r} for case {case.id}. The"
                    " line or the plan was changed after the run."
                )
        if record.block < 1 and record.status != "skipped":
            yield f"`block` is {record.block}; allowed: 1 or more (0 only for skipped)."
        if record.block > self.plan.blocks:
            yield f"`block` is {record.block}; plan.json has {self.plan.blocks} blocks."


def _other_params(case_id: str) -> str:
    return f"`params` are not those that plan.json has for case {case_id}"


def nodes_fault(nodes: list[str]) -> str | None:
    """A node whose name could not be one."""
    odd = odd_word(nodes)
    return None if odd is None else f"`nodes` holds {odd!r}; {ALLOWED}"


def artifacts_fault(artifacts: Mapping[str, str]) -> str | None:
    """A path that leads out of the run directory, or no folder of it."""
    odd = next((path for path in raw_paths(artifacts).values() if not is_artifact(path)), None)
    if odd is None:
        return None
    return (
        f"`artifacts` holds {odd!r}; allowed is the name of a file in a folder of the run"
        " directory, as raw/x.out"
    )
