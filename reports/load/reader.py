# SPDX-License-Identifier: Apache-2.0
"""Gathers the records of a run into flat columns.

A series is one metric at one point of one case with one value a block: a million values fit.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from records.belonging import Belonging, artifacts_fault, checksum_of, nodes_fault
from records.chain import Chain
from records.errors import AssayError
from records.flags import INVALID_ON_PURPOSE
from records.input_files import decoded
from records.metric import point_fault
from records.pair_scans import ARTIFACT
from records.plan import Plan
from records.record import latest_attempts
from records.record_lines import Line, Value, batches
from reports.load.run import AtKey, Launch, Series

KEEP_ARTIFACTS_OF_CASES = 1000
KEEP_ARTIFACTS_OF_BAD = 5000

_T = TypeVar("_T")
_Key = tuple[str, AtKey]
#: Names, units and points of a launch's values as they were written.
_Layout = tuple[list[str], list[str], list[msgspec.Raw]]
_NO_POINT = (b"", b"null", b"{}")
_SCANNED = f'"{ARTIFACT}"'.encode()


@dataclass
class Reader:
    """Gathers launches and columns while records stream by.

    One entry a launch: `_case`, `_block`, `_ends` (where its values end) and `_valid` (1: ok, 2:
    invalid on purpose); one entry a value: `_places` (metric and point) and `_values`. `_scanned`
    has the file with the values of a launch, and its checksum.
    """

    belonging: Belonging
    profiled: bool = False
    launches: list[Launch] = field(default_factory=list)
    nodes: set[str] = field(default_factory=set)
    _case: array[int] = field(default_factory=lambda: array("q"))
    _block: array[int] = field(default_factory=lambda: array("q"))
    _ends: array[int] = field(default_factory=lambda: array("q", [0]))
    _valid: bytearray = field(default_factory=bytearray)
    _places: array[int] = field(default_factory=lambda: array("q"))
    _values: array[float] = field(default_factory=lambda: array("d"))
    _keys: list[_Key] = field(default_factory=list)
    _scanned: dict[int, tuple[str, str]] = field(default_factory=dict)
    _known: dict[tuple[str, str, bytes], int] = field(default_factory=dict)
    _layouts: dict[tuple[str, int], tuple[_Layout, array[int]]] = field(default_factory=dict)
    _shared: dict[Any, Any] = field(default_factory=dict)
    _bad: int = 0
    _path: str = ""
    _line: int = 0

    @property
    def plan(self) -> Plan:
        """The plan of the run."""
        return self.belonging.plan

    def read(self, path: Path, chain: Chain) -> None:
        """Take in each record of the file, along the chain."""
        self._path = str(path)
        lists: dict[bytes, int] = {}
        last = msgspec.Raw()
        try:
            for batch in batches(path, self.belonging, chain):
                lines = batch.lines
                self._case.extend(batch.cases)
                self._block.extend([line.block for line in lines])
                self.profiled |= any(line.profile is not msgspec.UNSET for line in lines)
                for self._line, (case, line) in enumerate(
                    zip(batch.cases, lines, strict=True), start=batch.first
                ):
                    if line.nodes != last:  # most lines have the nodes of the line before
                        last = line.nodes
                        lists.setdefault(bytes(last), self._line)
                    self._take(case, line)
        except OSError as error:
            raise AssayError(f"{path}: cannot be read: {error}") from error
        self._refuse_impossible()
        for text, self._line in lists.items():
            nodes = self._decoded(msgspec.Raw(text), list[str], "nodes")
            if fault := nodes_fault(nodes):
                raise self._error(fault)
            self.nodes.update(nodes)

    def _error(self, message: str) -> AssayError:
        return AssayError(f"{self._path}:{self._line}: {message}")

    def _take(self, case: int, line: Line) -> None:
        ok = line.status == "ok"
        valid = 1 if ok else 2 if INVALID_ON_PURPOSE in line.flags else 0
        if valid:
            self._places.extend(self._places_of(line))
            self._values.extend([metric.value for metric in line.metrics])
        if _SCANNED in bytes(line.artifacts) and valid == 1:
            artifacts = self._artifacts(line)
            if ARTIFACT in artifacts:
                checksum = checksum_of(artifacts, ARTIFACT)
                self._scanned[len(self._valid)] = artifacts[ARTIFACT], checksum
        self._valid.append(valid)
        self._ends.append(len(self._values))
        self._bad += not ok
        kept = not ok or case < KEEP_ARTIFACTS_OF_CASES
        with_artifacts = kept and (ok or self._bad <= KEEP_ARTIFACTS_OF_BAD)
        self.launches.append(
            Launch(
                case,
                line.block,
                line.attempt,
                line.status,
                line.reason,
                self._share(tuple(line.flags)) if line.flags else (),
                line.job_id if kept else None,
                line.started_at if kept else None,
                self._artifacts(line) if with_artifacts else None,
                beside=bool(line.neighbours),
                drawn_alone=None if line.drawn_alone is msgspec.UNSET else line.drawn_alone,
            )
        )

    def _places_of(self, line: Line) -> array[int]:
        """The metric and point of each value, as numbers. Launches of a check mostly have those of
        the launch before in the same order."""
        metrics = line.metrics
        layout = (
            [metric.name for metric in metrics],
            [metric.unit for metric in metrics],
            [metric.at for metric in metrics],
        )
        kind = line.check, len(metrics)
        before = self._layouts.get(kind)
        if before is not None and before[0] == layout:
            return before[1]
        found = array("q")
        for metric in metrics:
            quick = metric.name, metric.unit, bytes(metric.at)
            place = self._known.get(quick)
            if place is None:
                place = self._known[quick] = self._new_place(metric)
            found.append(place)
        self._layouts[kind] = layout, found
        return found

    def _artifacts(self, line: Line) -> dict[str, str]:
        artifacts = self._decoded(line.artifacts, dict[str, str], "artifacts")
        if fault := artifacts_fault(artifacts):
            raise self._error(fault)
        return artifacts

    def _share(self, value: _T) -> _T:
        shared: _T = self._shared.setdefault(value, value)
        return shared

    def _decoded(self, raw: msgspec.Raw, kind: type[_T], name: str) -> _T:
        def decode(text: bytes) -> _T:
            return msgspec.json.decode(text, type=kind)

        return decoded(decode, bytes(raw), f"{self._path}:{self._line}", f"a record: `{name}`")

    def _new_place(self, metric: Value) -> int:
        """The number of a metric and point, the same however the point is written."""
        definition = self.plan.register.metrics.get(metric.name)
        if definition is None:
            raise self._error(
                f"metric {metric.name!r}; allowed: a metric that plan.json defines. The line or"
                " the plan was changed after the run."
            )
        if definition.unit != metric.unit:
            raise self._error(
                f"metric {metric.name!r} in {metric.unit!r}; allowed: {definition.unit}."
            )
        key = (metric.name, self._point(metric))
        place = self._shared.get(key)
        if place is None:
            place = self._shared[key] = len(self._keys)
            self._keys.append(key)
        return int(place)

    def _point(self, metric: Value) -> AtKey:
        text = bytes(metric.at)
        if text in _NO_POINT:
            return ()
        found = self._shared.get(text)
        if found is None:
            at = self._decoded(metric.at, dict[str, Any], "at")
            if fault := point_fault(metric.name, at):
                raise self._error(fault)
            found = self._shared[text] = self._share(tuple(sorted(at.items())))
        point: AtKey = found
        return point

    def _owner_of(self, place: int) -> int:
        """The launch that a value belongs to."""
        return bisect_right(self._ends, place) - 1

    def _refuse_impossible(self) -> None:
        """Raise AssayError for the first value that no measurement gives."""
        metrics = self.plan.register.metrics
        bounds = np.array([metrics[name].bounds for name, _ in self._keys]).reshape(-1, 2)
        values, places = np.frombuffer(self._values), _integers(self._places)
        low, high = bounds[places].T
        for place in np.flatnonzero(~((values >= low) & (values <= high)))[:1].tolist():
            self._line = self._owner_of(place) + 1
            name = self._keys[self._places[place]][0]
            value = f"{values[place]:g} {metrics[name].unit}"
            raise self._error(f"{name} is {value}, which cannot be measured")

    def settle(self) -> None:
        """Count the latest attempt of each case and block only.

        Raises AssayError for an attempt that is recorded twice.
        """
        cases, blocks = _integers(self._case), _integers(self._block)
        keys = np.sort(cases * (int(blocks.max(initial=0)) + 1) + blocks)
        if (np.diff(keys) > 0).all():
            return
        latest = latest_attempts(self.launches, attrgetter("case"))
        for place, launch in enumerate(self.launches):
            counted = latest[launch.case, launch.block]
            launch.counted = launch is counted
            if launch.counted:
                continue
            self._valid[place] = 0
            if launch.attempt == counted.attempt:
                self._line = place + 1
                raise self._error(
                    f"case {self.plan.cases[launch.case].id}, block {launch.block}, attempt"
                    f" {launch.attempt} is recorded twice"
                )

    def scans(self) -> dict[int, dict[int, tuple[str, str]]]:
        """For each case the files with the values of its counted scans and their checksums, by
        block."""
        found: dict[int, dict[int, tuple[str, str]]] = {}
        for place, file in self._scanned.items():
            if self._valid[place] == 1:
                found.setdefault(self._case[place], {})[self._block[place]] = file
        return found

    def series(self, *, on_purpose: bool = False) -> list[Series]:
        """The series over the counted launches that are ok, or invalid on purpose."""
        lengths = np.diff(_integers(self._ends))
        valid = np.frombuffer(self._valid, dtype=np.uint8) == (2 if on_purpose else 1)
        taken = np.repeat(valid, lengths)
        cases = np.repeat(_integers(self._case), lengths)[taken]
        blocks = np.repeat(_integers(self._block), lengths)[taken]
        # The number of a series: case × metrics and points + metric and point.
        ids = cases * len(self._keys) + _integers(self._places)[taken]
        values = np.frombuffer(self._values)[taken]
        if not len(ids):
            return []
        order = np.argsort(ids * (int(blocks.max()) + 1) + blocks)
        ids, values, blocks = ids[order], values[order], blocks[order]
        steps = np.diff(ids) == 0
        twice = np.flatnonzero(steps & (np.diff(blocks) == 0))
        if twice.size:
            case, (name, at) = self._owner(int(ids[twice[0]]))
            raise AssayError(
                f"records.jsonl: case {self.plan.cases[case].id}, block {blocks[twice[0]]}:"
                f" metric {name} at {dict(at)} stands twice in one record; once is allowed."
            )
        edges = [0, *(np.flatnonzero(~steps) + 1).tolist(), len(ids)]
        owners = [self._owner(found) for found in ids[edges[:-1]].tolist()]
        return [
            Series(case, name, at, blocks[low:high], values[low:high])
            for (case, (name, at)), (low, high) in zip(owners, pairwise(edges), strict=True)
        ]

    def _owner(self, found: int) -> tuple[int, _Key]:
        """Case, metric and point of a series by its number, case × points + point."""
        case, place = divmod(found, len(self._keys))
        return case, self._keys[place]


def _integers(column: array[int]) -> NDArray[np.int64]:
    return np.frombuffer(column, dtype=np.int64)
