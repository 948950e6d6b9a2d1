# SPDX-License-Identifier: Apache-2.0
"""Streams records.jsonl into flat columns; samples and parameters are passed over undecoded.

A series is one metric at one point of one case with one value a block: a million values fit.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from campaigns.errors import AssayError
from campaigns.metrics import REGISTER
from campaigns.records import Status
from reports.run import INVALID_ON_PURPOSE, AtKey, Launch, Plan, PlanCase, Series

KEEP_ARTIFACTS_OF_CASES = 1000
KEEP_ARTIFACTS_OF_BAD = 5000
#: Units of quantities that cannot be below zero.
NEVER_NEGATIVE = frozenset({"s", "bytes", "bytes/s", "flop/s", "operations/s"})
MOST_WARNINGS = 20

_T = TypeVar("_T")
_Key = tuple[str, AtKey]
_NO_POINT = (b"", b"null", b"{}")


class _Value(msgspec.Struct, gc=False):
    """One metric of a record; `at` stays text, for equal points are written alike."""

    name: str
    unit: str
    value: float
    at: msgspec.Raw = msgspec.Raw()


class _Line(msgspec.Struct, gc=False):
    """A record without what no report reads; `params`, `nodes` and `artifacts` stay text."""

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
    metrics: list[_Value]
    flags: list[str]
    artifacts: msgspec.Raw


def _lines(path: Path) -> Iterator[_Line]:
    """The records of a file in order; a torn last line is left out."""
    decode = msgspec.json.Decoder(_Line).decode
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return
            try:
                yield decode(line)
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                raise AssayError(f"{path}:{number}: not a record: {_said(line, error)}") from error


def _said(line: bytes, error: Exception) -> str:
    """What is wrong with a line: an unknown schema before what follows from it."""
    try:
        found = msgspec.json.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return str(error)
    schema = found.get("schema") if isinstance(found, dict) else None
    return str(error) if schema in (None, 1) else f"schema is {schema}; allowed: 1."


@dataclass
class Reader:
    """Gathers launches and columns while records stream by."""

    plan: Plan
    run_id: str = ""
    launches: list[Launch] = field(default_factory=list)
    nodes: set[str] = field(default_factory=set)
    _keys: list[_Key] = field(default_factory=list)
    _known: dict[tuple[str, str, bytes], int] = field(default_factory=dict)
    _places: array[int] = field(default_factory=lambda: array("q"))
    _values: array[float] = field(default_factory=lambda: array("d"))
    _shared: dict[Any, Any] = field(default_factory=dict)
    _node_lists: set[bytes] = field(default_factory=set)
    _impossible: set[int] = field(default_factory=set)
    _bad: int = 0
    _path: str = ""
    _line: int = 0

    def read(self, path: Path) -> None:
        """Take in each record of the file."""
        self._path = str(path)
        case_of = {case.id: index for index, case in enumerate(self.plan.cases)}
        try:
            for self._line, line in enumerate(_lines(path), start=1):
                index = case_of.get(line.case_id)
                if index is None:
                    raise self._error(
                        f"case {line.case_id!r} is not in plan.json. A run directory"
                        " holds the records of one plan; move foreign lines out."
                    )
                self._take(index, line)
        except OSError as error:
            raise AssayError(f"{path}: cannot be read: {error}") from error
        self._check_finite()
        self._read_nodes()

    def _error(self, message: str) -> AssayError:
        return AssayError(f"{self._path}:{self._line}: {message}")

    def _take(self, index: int, line: _Line) -> None:
        self._agree(self.plan.cases[index], line)
        self.run_id = self.run_id or line.run_id
        self._node_lists.add(bytes(line.nodes))
        first = len(self._values)
        if line.status == "ok" or INVALID_ON_PURPOSE in line.flags:
            self._take_metrics(line.metrics)
        kept = index < KEEP_ARTIFACTS_OF_CASES or line.status != "ok"
        self.launches.append(
            Launch(
                index,
                line.block,
                line.attempt,
                line.status,
                line.reason,
                self._share(tuple(line.flags)) if line.flags else (),
                line.job_id if kept else None,
                line.started_at if kept else None,
                self._artifacts(index, line),
                first,
                len(self._values),
            )
        )

    def _share(self, value: _T) -> _T:
        shared: _T = self._shared.setdefault(value, value)
        return shared

    def _artifacts(self, index: int, line: _Line) -> dict[str, str] | None:
        if line.status != "ok":
            self._bad += 1
            kept = self._bad <= KEEP_ARTIFACTS_OF_BAD
        else:
            kept = index < KEEP_ARTIFACTS_OF_CASES
        return self._decoded(line.artifacts, dict[str, str], "artifacts") if kept else None

    def _decoded(self, raw: msgspec.Raw, kind: type[_T], name: str) -> _T:
        try:
            return msgspec.json.decode(raw, type=kind)
        except msgspec.MsgspecError as error:
            raise self._error(f"not a record: `{name}`: {error}") from error

    def _agree(self, case: PlanCase, line: _Line) -> None:
        if line.schema != 1:
            raise self._error(f"schema is {line.schema}; allowed: 1.")
        for name, found, planned in (
            ("check", line.check, case.check),
            ("environment", line.environment, case.environment),
        ):
            if found != planned:
                raise self._error(
                    f"`{name}` is {found!r}, but plan.json has {planned!r} for case"
                    f" {case.id}. The line or the plan was changed after the run."
                )
        if line.block < 1 and line.status != "skipped":
            raise self._error(f"`block` is {line.block}; allowed: 1 or more (0 only for skipped).")

    def _take_metrics(self, metrics: list[_Value]) -> None:
        known = self._known
        add_place, add_value = self._places.append, self._values.append
        for metric in metrics:
            quick = (metric.name, metric.unit, bytes(metric.at))
            place = known.get(quick)
            if place is None:
                place = known[quick] = self._new_place(metric)
            add_place(place)
            add_value(metric.value)

    def _new_place(self, metric: _Value) -> int:
        """The number of a metric and point, the same however the point is written."""
        definition = REGISTER.get(metric.name)
        if definition is None or definition.unit != metric.unit:
            allowed = definition.unit if definition else "a registered metric"
            raise self._error(f"metric {metric.name!r} in {metric.unit!r}; allowed: {allowed}.")
        key = (metric.name, self._point(metric))
        place = self._shared.get(key)
        if place is None:
            place = self._shared[key] = len(self._keys)
            self._keys.append(key)
        return int(place)

    def _point(self, metric: _Value) -> AtKey:
        text = bytes(metric.at)
        if text in _NO_POINT:
            return ()
        found = self._shared.get(text)
        if found is None:
            at = self._decoded(metric.at, dict[str, Any], "at")
            if any(isinstance(value, list | dict) for value in at.values()):
                raise self._error(f"`at` of {metric.name} holds a list or an object.")
            found = self._shared[text] = self._share(tuple(sorted(at.items())))
        point: AtKey = found
        return point

    def _check_finite(self) -> None:
        bad = np.flatnonzero(~np.isfinite(np.frombuffer(self._values)))
        if not bad.size:
            return
        place = int(bad[0])
        owner = next(i for i, launch in enumerate(self.launches) if launch.last > place)
        self._line = owner + 1
        name = self._keys[self._places[place]][0]
        raise self._error(f"{name} is {self._values[place]}; it must be finite.")

    def _read_nodes(self) -> None:
        for text in self._node_lists:
            self.nodes.update(self._decoded(msgspec.Raw(text), list[str], "nodes"))

    def settle(self) -> list[str]:
        """Mark what later attempts replaced; return what is odd."""
        latest: dict[tuple[int, int], Launch] = {}
        odd: list[str] = []
        for launch in self.launches:
            key = (launch.case, launch.block)
            earlier = latest.get(key)
            if earlier is not None and earlier.attempt > launch.attempt:
                launch.counted = False
                continue
            if earlier is not None:
                earlier.counted = False
                if earlier.attempt == launch.attempt:
                    odd.append(
                        f"Case {self.plan.cases[launch.case].id}, block {launch.block}, attempt"
                        f" {launch.attempt} is recorded twice; the later line counts."
                    )
            latest[key] = launch
        return odd[:MOST_WARNINGS] + self._leave_out_impossible()

    def _leave_out_impossible(self) -> list[str]:
        """Values below zero of what cannot be below zero: they leave the columns, in words."""
        values = np.frombuffer(self._values)
        below = np.flatnonzero(values < 0)
        units = [REGISTER[name].unit for name, _ in self._keys]
        self._impossible = {
            int(place) for place in below if units[self._places[place]] in NEVER_NEGATIVE
        }
        texts = []
        for place in sorted(self._impossible)[:MOST_WARNINGS]:
            launch = next(item for item in self.launches if item.last > place)
            name, at = self._keys[self._places[place]]
            point = f" at {dict(at)}" if at else ""
            texts.append(
                f"Case {self.plan.cases[launch.case].id}, block {launch.block}: {name}{point} is"
                f" {values[place]:.6g} {REGISTER[name].unit}, below zero, which cannot be; the"
                " value is left out."
            )
        if len(self._impossible) > MOST_WARNINGS:
            rest = len(self._impossible) - MOST_WARNINGS
            texts.append(f"{rest} further values below zero are left out.")
        return texts

    def series(self, chosen: Callable[[Launch], bool]) -> list[Series]:
        """The series over the counted launches with values that `chosen` accepts."""
        launches = [
            launch
            for launch in self.launches
            if launch.last > launch.first and launch.counted and chosen(launch)
        ]
        if not launches or not len(self._values):
            return []
        ids, values, blocks = self._columns(launches)
        order = np.lexsort((blocks, ids))
        ids, values, blocks = ids[order], values[order], blocks[order]
        twice = np.flatnonzero((np.diff(ids) == 0) & (np.diff(blocks) == 0))
        if twice.size:
            case, (name, at) = self._owner(int(ids[twice[0]]))
            raise AssayError(
                f"records.jsonl: case {self.plan.cases[case].id}, block {blocks[twice[0]]}:"
                f" metric {name} at {dict(at)} stands twice in one record; once is allowed."
            )
        edges = [0, *(np.flatnonzero(np.diff(ids)) + 1).tolist(), len(ids)]
        owners = [self._owner(found) for found in ids[edges[:-1]].tolist()] if len(ids) else []
        return [
            Series(case, name, at, blocks[low:high], values[low:high])
            for (case, (name, at)), (low, high) in zip(owners, pairwise(edges), strict=False)
        ]

    def _owner(self, found: int) -> tuple[int, _Key]:
        """Case, metric and point of a series by its number, case × points + point."""
        case, place = divmod(found, len(self._keys))
        return case, self._keys[place]

    def _columns(
        self, launches: list[Launch]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
        """Series number, value and block of every value of the launches."""
        firsts = np.array([launch.first for launch in launches])
        lengths = np.array([launch.last for launch in launches]) - firsts
        cases = np.repeat(np.array([launch.case for launch in launches]), lengths)
        blocks = np.repeat(np.array([launch.block for launch in launches]), lengths)
        starts = np.repeat(firsts - np.cumsum(lengths) + lengths, lengths)
        at = starts + np.arange(len(starts))
        if self._impossible:
            possible = ~np.isin(at, np.fromiter(self._impossible, dtype=np.int64))
            at, cases, blocks = at[possible], cases[possible], blocks[possible]
        places = np.frombuffer(self._places, dtype=np.int64)[at]
        values = np.frombuffer(self._values, dtype=np.float64)[at]
        return cases * len(self._keys) + places, values, blocks
