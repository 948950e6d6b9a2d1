# SPDX-License-Identifier: Apache-2.0
"""Reads a run directory: plan.json, records.jsonl, provenance.json -> one typed `Run`.

Records are streamed; samples are not kept. Values live in flat columns, so that a million of
them fit: a series is one metric at one point of one case, with one value a block.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from campaigns.errors import AssayError
from campaigns.metrics import REGISTER
from campaigns.records import Metric, Record, Status, read_records

INVALID_ON_PURPOSE = "invalid-reply-before-wait"
KEEP_ARTIFACTS_OF_CASES = 1000
KEEP_ARTIFACTS_OF_BAD = 5000

AtKey = tuple[tuple[str, Any], ...]
_T = TypeVar("_T")


class PlanCase(msgspec.Struct, frozen=True):
    """One case of the plan: a check with all parameters fixed, in one environment."""

    id: str
    check: str
    environment: str
    params: dict[str, Any]
    ranks: int = 0
    nodes: int = 0
    estimate_s: float | None = None
    skipped: str | None = None


class Plan(msgspec.Struct, frozen=True):
    """What was planned: the cases, and how many blocks of them."""

    schema: Literal[1]
    campaign: str
    site: str
    blocks: int
    environments: list[str]
    cases: list[PlanCase]
    question: str = ""
    seed: int | None = None
    weights: dict[str, float] = {}


class Launch(msgspec.Struct, gc=False):
    """One launch as recorded; `first`, `last` bound its values in the run's columns.

    `counted` is false when a later attempt of the same case and block replaced it.
    """

    case: int
    block: int
    attempt: int
    status: Status
    reason: str | None
    flags: tuple[str, ...]
    job_id: str | None
    started_at: str | None
    artifacts: dict[str, str] | None
    first: int
    last: int
    counted: bool = True


@dataclass(frozen=True, slots=True)
class Series:
    """The values of one metric at one point of one case, by ascending block; SI base units."""

    case: int
    metric: str
    at: AtKey
    blocks: NDArray[np.int64]
    values: NDArray[np.float64]

    def at_value(self, key: str) -> Any:
        """The coordinate `key` of the point, or None."""
        return next((value for name, value in self.at if name == key), None)


@dataclass(frozen=True)
class Run:
    """A run directory in memory. `series` holds counted ok launches, `invalid` the values of
    launches that were wrong on purpose."""

    directory: Path
    plan: Plan
    provenance: Mapping[str, Any]
    run_id: str
    launches: list[Launch]
    series: list[Series]
    invalid: list[Series]
    nodes: tuple[str, ...]
    warnings: tuple[str, ...]

    def case(self, launch: Launch) -> PlanCase:
        """The planned case of a launch."""
        return self.plan.cases[launch.case]

    def counted(self) -> Iterator[Launch]:
        """The latest attempt of each case and block."""
        return (launch for launch in self.launches if launch.counted)

    @cached_property
    def tally(self) -> Counter[tuple[int, Status, tuple[str, ...]]]:
        """How many counted launches there are of each (position of the case, status, flags)."""
        return Counter((launch.case, launch.status, launch.flags) for launch in self.counted())


def load_run(directory: Path) -> Run:
    """Read the run in `directory`, finished or not.

    Raises AssayError when the directory, plan.json or a line of records.jsonl is not as it must be.
    """
    if not directory.is_dir():
        raise AssayError(
            f"{directory}: no such run directory. Give the directory that `assay run` printed,"
            " e.g. results/quick/<run-id>."
        )
    plan = _load_plan(directory / "plan.json")
    warnings: list[str] = []
    provenance = _load_provenance(directory / "provenance.json", warnings)
    reader = _Reader(plan)
    records_path = directory / "records.jsonl"
    if records_path.exists():
        warnings += _torn_tail(records_path)
        reader.read(records_path)
    run_id = str(provenance.get("run_id") or reader.run_id or directory.resolve().name)
    warnings += reader.settle()
    return Run(
        directory=directory,
        plan=plan,
        provenance=provenance,
        run_id=run_id,
        launches=reader.launches,
        series=reader.series(lambda launch: launch.status == "ok"),
        invalid=reader.series(lambda launch: INVALID_ON_PURPOSE in launch.flags),
        nodes=tuple(sorted(reader.nodes)),
        warnings=tuple(warnings),
    )


def _read_json(path: Path, kind: type[_T], remedy: str) -> _T:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError:
        raise AssayError(f"{path}: not found. {remedy}") from None
    except OSError as error:
        raise AssayError(f"{path}: cannot be read ({error.strerror}). {remedy}") from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise AssayError(f"{path}: not valid: {error}. {remedy}") from error


def _load_plan(path: Path) -> Plan:
    plan = _read_json(
        path, Plan, "A run directory holds the plan.json that `assay run` wrote at its start."
    )
    if plan.blocks < 1:
        raise AssayError(f"{path}: `blocks` is {plan.blocks}; allowed: 1 or more.")
    seen: set[str] = set()
    for case in plan.cases:
        if case.id in seen:
            raise AssayError(f"{path}: case id {case.id!r} stands twice; ids must be unique.")
        seen.add(case.id)
    return plan


def _load_provenance(path: Path, warnings: list[str]) -> Mapping[str, Any]:
    if not path.exists():
        warnings.append("provenance.json is missing: what software and machine ran is not known.")
        return {}
    return _read_json(
        path, dict[str, Any], "It is written by `assay run`; restore it or remove it."
    )


def _torn_tail(path: Path) -> list[str]:
    with path.open("rb") as file:
        if file.seek(0, 2) == 0:
            return []
        file.seek(-1, 2)
        if file.read(1) == b"\n":
            return []
    return ["The last line of records.jsonl is torn (no newline): that launch does not count."]


@dataclass
class _Reader:
    """Gathers launches and columns while records stream by."""

    plan: Plan
    run_id: str = ""
    launches: list[Launch] = field(default_factory=list)
    nodes: set[str] = field(default_factory=set)
    _keys: list[tuple[int, str, AtKey]] = field(default_factory=list)
    _ids: dict[Any, int] = field(default_factory=dict)
    _series: array[int] = field(default_factory=lambda: array("q"))
    _values: array[float] = field(default_factory=lambda: array("d"))
    _shared: dict[Any, Any] = field(default_factory=dict)
    _bad: int = 0
    _path: str = ""
    _line: int = 0

    def read(self, path: Path) -> None:
        """Take in each record of the file."""
        self._path = str(path)
        case_of = {case.id: index for index, case in enumerate(self.plan.cases)}
        try:
            for self._line, record in enumerate(read_records(path), start=1):
                index = case_of.get(record.case_id)
                if index is None:
                    raise self._error(
                        f"case {record.case_id!r} is not in plan.json. A run directory"
                        " holds the records of one plan; move foreign lines out."
                    )
                self._take(index, record)
        except (OSError, UnicodeDecodeError) as error:
            raise AssayError(f"{path}: cannot be read: {error}") from error

    def _error(self, message: str) -> AssayError:
        return AssayError(f"{self._path}:{self._line}: {message}")

    def _take(self, index: int, record: Record) -> None:
        self._agree(self.plan.cases[index], record)
        self.run_id = self.run_id or record.run_id
        self.nodes.update(record.nodes)
        first = len(self._values)
        if record.status == "ok" or INVALID_ON_PURPOSE in record.flags:
            self._take_metrics(index, record.metrics)
        self.launches.append(
            Launch(
                case=index,
                block=record.block,
                attempt=record.attempt,
                status=record.status,
                reason=record.reason,
                flags=self._share(tuple(record.flags)) if record.flags else (),
                job_id=record.job_id,
                started_at=record.started_at,
                artifacts=self._artifacts(index, record),
                first=first,
                last=len(self._values),
            )
        )

    def _share(self, value: _T) -> _T:
        shared: _T = self._shared.setdefault(value, value)
        return shared

    def _artifacts(self, index: int, record: Record) -> dict[str, str] | None:
        if record.status != "ok":
            self._bad += 1
            return record.artifacts if self._bad <= KEEP_ARTIFACTS_OF_BAD else None
        return record.artifacts if index < KEEP_ARTIFACTS_OF_CASES else None

    def _agree(self, case: PlanCase, record: Record) -> None:
        if record.schema != 1:
            raise self._error(f"schema is {record.schema}; allowed: 1.")
        for name, found, planned in (
            ("check", record.check, case.check),
            ("environment", record.environment, case.environment),
        ):
            if found != planned:
                raise self._error(
                    f"`{name}` is {found!r}, but plan.json has {planned!r} for case"
                    f" {case.id}. The line or the plan was changed after the run."
                )
        if record.block < 1 and record.status != "skipped":
            raise self._error(
                f"`block` is {record.block}; allowed: 1 or more (0 only for skipped)."
            )

    def _take_metrics(self, case: int, metrics: list[Metric]) -> None:
        ids, finite = self._ids, math.isfinite
        add_series, add_value = self._series.append, self._values.append
        for metric in metrics:
            name, value, at = metric.name, metric.value, metric.at
            quick = (case, name, tuple(at.items()) if at else ())
            try:
                known = ids.get(quick)
            except TypeError:
                raise self._error(f"`at` of {name} holds a list or an object.") from None
            if known is None:
                known = self._new_series(quick, metric)
            if not finite(value):
                raise self._error(f"{name} is {value}; it must be finite.")
            add_series(known)
            add_value(value)

    def _new_series(self, quick: tuple[int, str, AtKey], metric: Metric) -> int:
        definition = REGISTER.get(metric.name)
        if definition is None or definition.unit != metric.unit:
            allowed = definition.unit if definition else "a registered metric"
            raise self._error(f"metric {metric.name!r} in {metric.unit!r}; allowed: {allowed}.")
        case, name, at = quick
        key = (case, self._share(name), self._share(tuple(sorted(at))))
        series = self._ids.get(key)
        if series is None:
            series = len(self._keys)
            self._keys.append(key)
            self._ids[key] = series
        self._ids[quick] = series
        return series

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
        return odd[:20]

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
            case, name, at = self._keys[int(ids[twice[0]])]
            raise AssayError(
                f"records.jsonl: case {self.plan.cases[case].id}, block {blocks[twice[0]]}:"
                f" metric {name} at {dict(at)} stands twice in one record; once is allowed."
            )
        edges = [0, *(np.flatnonzero(np.diff(ids)) + 1).tolist(), len(ids)]
        return [
            Series(*self._keys[int(ids[low])], blocks[low:high], values[low:high])
            for low, high in pairwise(edges)
            if high > low
        ]

    def _columns(
        self, launches: list[Launch]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
        lengths = np.array([launch.last - launch.first for launch in launches])
        starts = np.array([launch.first for launch in launches])
        offsets = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        places = np.repeat(starts, lengths) + offsets
        blocks = np.repeat(np.array([launch.block for launch in launches]), lengths)
        ids = np.frombuffer(self._series, dtype=np.int64)[places]
        return ids, np.frombuffer(self._values, dtype=np.float64)[places], blocks
