# SPDX-License-Identifier: Apache-2.0
"""Launches of a run as columns, one of them an object only while it is looked at; their values as
series over blocks, a million of them; and the reader that gathers both from records."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate, chain, pairwise, repeat
from operator import attrgetter, is_not, itemgetter
from pathlib import Path
from typing import Any, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from records.errors import AssayError
from records.flags import INVALID_ON_PURPOSE
from records.input_files import decoded
from records.metric import point_fault
from records.run.chain import Chain
from records.run.record import Belonging, Status, checksum_of
from records.run.record_lines import Batch, Line, Value, artifacts_of, batches, nodes_of
from records.site.pair_scans import ARTIFACT
from records.text.plain_text import masked

AtKey = tuple[tuple[str, Any], ...]
Numbers = NDArray[np.int64]
Mask = NDArray[np.bool_]
#: Status and flags of a launch.
Kind = tuple[Status, tuple[str, ...]]


class Details(msgspec.Struct, frozen=True, gc=False):
    """Facts of a launch that only pages show."""

    reason: str | None = None
    job_id: str | None = None
    started_at: str | None = None
    artifacts: dict[str, str] | None = None


class Launch(msgspec.Struct, frozen=True, gc=False):
    """Launch as recorded; `counted` is false when a later attempt replaced it.

    The members of `Details` are there of bad launches and of those that a page lists.
    """

    case: int
    block: int
    attempt: int
    status: Status
    flags: tuple[str, ...]
    counted: bool
    reason: str | None
    job_id: str | None
    started_at: str | None
    artifacts: dict[str, str] | None


@dataclass(frozen=True, eq=False)
class Launches:
    """All launches in recorded order, an entry of each column a launch.

    `kind` is a place in `kinds`; `details` goes by the launch's place. The other columns are the
    members of `Launch`.
    """

    case: Numbers
    block: Numbers
    attempt: Numbers
    kind: Numbers
    kinds: tuple[Kind, ...]
    counted: Mask
    details: Mapping[int, Details] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.case)

    def where(self, mask: Mask) -> Iterator[Launch]:
        """The launches that `mask` marks."""
        nothing = Details()
        columns = (self.case, self.block, self.attempt, self.kind, self.counted)
        rows = zip(*(column[mask].tolist() for column in columns), strict=True)
        places = np.flatnonzero(mask).tolist()
        for index, (case, block, attempt, kind, counted) in zip(places, rows, strict=True):
            details = msgspec.structs.astuple(self.details.get(index, nothing))
            status, flags = self.kinds[kind]
            yield Launch(case, block, attempt, status, flags, counted, *details)

    def of_status(self, *statuses: Status) -> Mask:
        """Marks those of one of these statuses."""
        return self._of_kinds([status in statuses for status, _ in self.kinds])

    def flagged(self, flag: str) -> Mask:
        """Marks those with a flag."""
        return self._of_kinds([flag in flags for _, flags in self.kinds])

    def _of_kinds(self, wanted: list[bool]) -> Mask:
        return np.array(wanted, dtype=np.bool_)[self.kind]

    def places(self, mask: Mask | slice = slice(None)) -> set[tuple[int, int]]:
        """Case and block of those that `mask` marks; of all without it."""
        return {*zip(self.case[mask].tolist(), self.block[mask].tolist(), strict=True)}

    def part(self, mask: Mask) -> Launches:
        """Launches that `mask` marks."""
        kept = enumerate(np.flatnonzero(mask).tolist())
        return Launches(
            *(self.case[mask], self.block[mask], self.attempt[mask], self.kind[mask], self.kinds),
            self.counted[mask],
            {new: self.details[old] for new, old in kept if old in self.details},
        )


class Series(msgspec.Struct, frozen=True, eq=False, gc=False):
    """The values of one metric at one point of one case, by ascending block; SI base units."""

    case: int
    metric: str
    at: AtKey
    blocks: NDArray[np.int64]
    values: NDArray[np.float64]

    def at_value(self, key: str) -> Any:
        """The coordinate `key` of the point, or None."""
        for name, value in self.at:
            if name == key:
                return value
        return None

    def by_block(self) -> dict[int, float]:
        """Each block's value."""
        return dict(zip(self.blocks.tolist(), self.values.tolist(), strict=True))


def stacked(series: Sequence[Series]) -> NDArray[np.float64]:
    """The values of series of the same n as the rows of a matrix; at least one."""
    return np.concatenate([item.values for item in series]).reshape(len(series), -1)


KEEP_ARTIFACTS_OF_CASES = 1000
KEEP_ARTIFACTS_OF_BAD = 5000

_Key = tuple[str, AtKey]
_NO_POINT = (b"", b"null", b"{}")
_SCANNED = f'"{ARTIFACT}"'.encode()
_KIND, _BLOCK, _ATTEMPT = attrgetter("status", "flags"), attrgetter("block"), attrgetter("attempt")
_NODES = attrgetter("nodes")
_PROFILE = attrgetter("profile")
_NAME, _UNIT, _AT, _VALUE = map(attrgetter, ("name", "unit", "at", "value"))


class Reader:
    """Gathers launches and columns while records stream by.

    One entry a launch: the columns of `Launches`, and `_ends` (where its values end); one entry a
    value: `_places` (metric and point) and `_values`. `_valid` says of each kind of launch whether
    it is ok (1) or invalid on purpose (2). `_scanned` has the file with the values of a launch, and
    its checksum.
    """

    def __init__(self, belonging: Belonging) -> None:
        self.belonging, self.plan = belonging, belonging.plan
        self.profiled = False
        self.nodes: set[str] = set()
        self._case, self._block, self._attempt, self._kind = (array("q") for _ in range(4))
        self._details: dict[int, Details] = {}
        self._kinds: dict[Kind, int] = {}
        self._valid: list[int] = []
        self._counted: Mask = np.array([], dtype=np.bool_)
        self._ends, self._places, self._values = array("q", [0]), array("i"), array("d")
        self._keys: list[_Key] = []
        self._scanned: dict[int, tuple[str, str]] = {}
        self._known: dict[tuple[str, str, bytes], int] = {}
        self._shared: dict[Any, Any] = {}
        self._bad = 0
        self._path, self._line = "", 0

    def read(self, path: Path, chain: Chain) -> None:
        """Take in each record of the file, along the chain."""
        self._path = str(path)
        lists: dict[bytes, int] = {}
        try:
            for batch in batches(path, self.belonging, chain):
                self._take(batch)
                if new := {*map(bytes, map(_NODES, batch.lines))} - lists.keys():
                    texts = [*map(bytes, map(_NODES, batch.lines))]
                    lists |= {text: batch.first + texts.index(text) for text in new}
        except OSError as error:
            raise AssayError(f"{path}: cannot be read: {error}") from error
        self._refuse_impossible()
        for text, self._line in sorted(lists.items(), key=itemgetter(1)):
            self.nodes.update(nodes_of(text, f"{self._path}:{self._line}"))

    def _error(self, message: str) -> AssayError:
        return AssayError(f"{self._path}:{self._line}: {message}")

    def _take(self, batch: Batch) -> None:
        lines = batch.lines
        ended = [*map(_KIND, lines)]
        for status, flags in [kind for kind in dict.fromkeys(ended) if kind not in self._kinds]:
            self._kinds[status, flags] = len(self._kinds)
            self._valid.append(1 if status == "ok" else 2 if INVALID_ON_PURPOSE in flags else 0)
        kinds = [*map(self._kinds.__getitem__, ended)]
        self._case.extend(batch.cases)
        self._block.extend(map(_BLOCK, lines))
        self._attempt.extend(map(_ATTEMPT, lines))
        self._kind.extend(kinds)
        self.profiled |= any(map(is_not, map(_PROFILE, lines), repeat(msgspec.UNSET)))
        valid = [self._valid[kind] for kind in kinds]
        self._take_values(
            [line.metrics if kind else [] for line, kind in zip(lines, valid, strict=True)], batch
        )
        self._take_details(batch, valid)

    def _take_details(self, batch: Batch, valid: list[int]) -> None:
        """Keep what pages tell of launches of a batch, and the files of their scans."""
        numbered = [*zip(batch.cases, valid, batch.lines, strict=True)]
        listed = min(batch.cases) < KEEP_ARTIFACTS_OF_CASES or valid.count(1) < len(valid)
        for self._line, (case, kind, line) in enumerate(numbered if listed else (), batch.first):
            if kind == 1 and case >= KEEP_ARTIFACTS_OF_CASES:
                continue
            ok = line.status == "ok"
            self._bad += not ok
            artifacts = self._artifacts(line) if ok or self._bad <= KEEP_ARTIFACTS_OF_BAD else None
            reason = line.reason and masked(line.reason)
            details = Details(reason, line.job_id, line.started_at, artifacts)
            self._details[self._line - 1] = details
        if _SCANNED not in batch.text:
            return
        for self._line, (_, kind, line) in enumerate(numbered, batch.first):
            if kind == 1 and _SCANNED in bytes(line.artifacts):
                artifacts = self._artifacts(line)
                if ARTIFACT in artifacts:
                    checksum = checksum_of(artifacts, ARTIFACT)
                    self._scanned[self._line - 1] = artifacts[ARTIFACT], checksum

    def _take_values(self, metrics: list[list[Value]], batch: Batch) -> None:
        """Take in the values of each line of a batch."""
        every = [*chain.from_iterable(metrics)]
        begin = len(self._values)
        ends = [*accumulate(map(len, metrics), initial=begin)]
        keys = [
            *zip(map(_NAME, every), map(_UNIT, every), map(bytes, map(_AT, every)), strict=True)
        ]
        places = [*map(self._known.get, keys)]
        for position, key in enumerate(keys) if None in places else ():
            if key not in self._known:
                self._line = batch.first + bisect_right(ends, begin + position) - 1
                self._known[key] = self._new_place(every[position])
            places[position] = self._known[key]
        self._places.extend(cast(list[int], places))
        self._values.extend(map(_VALUE, every))
        self._ends.extend(ends[1:])

    def _artifacts(self, line: Line) -> dict[str, str]:
        return artifacts_of(line, f"{self._path}:{self._line}")

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
        number = self._shared.get(key)
        if number is None:
            number = self._shared[key] = len(self._keys)
            self._keys.append(key)
        return int(number)

    def _point(self, metric: Value) -> AtKey:
        text = bytes(metric.at)
        if text in _NO_POINT:
            return ()
        found = self._shared.get(text)
        if found is None:
            decode = partial(msgspec.json.decode, type=dict[str, Any])
            at = decoded(decode, text, f"{self._path}:{self._line}", "a record: `at`")
            if fault := point_fault(metric.name, at):
                raise self._error(fault)
            found = tuple(sorted(at.items()))
            found = self._shared[text] = self._shared.setdefault(found, found)
        point: AtKey = found
        return point

    def _refuse_impossible(self) -> None:
        """Raise AssayError for the first value that no measurement gives."""
        metrics = self.plan.register.metrics
        bounds = np.array([metrics[name].bounds for name, _ in self._keys]).reshape(-1, 2)
        values, places = np.frombuffer(self._values), np.frombuffer(self._places, dtype=np.int32)
        low, high = bounds[places].T
        for index in np.flatnonzero(~((values >= low) & (values <= high)))[:1].tolist():
            self._line = bisect_right(self._ends, index)
            name = self._keys[self._places[index]][0]
            value = f"{values[index]:g} {metrics[name].unit}"
            raise self._error(f"{name} is {value}, which cannot be measured")

    def settle(self) -> None:
        """Count the latest attempt of each case and block only.

        Raises AssayError for an attempt that is recorded twice.
        """
        cases, blocks, attempts = map(_integers, (self._case, self._block, self._attempt))
        order = np.lexsort((attempts, blocks, cases))
        keys = np.stack([cases[order], blocks[order]])
        last = np.ones(len(order), dtype=np.bool_)
        last[:-1] = (np.diff(keys) != 0).any(axis=0)
        self._counted = np.empty_like(last)
        self._counted[order] = last
        twice = ~last[:-1] & last[1:] & (np.diff(attempts[order]) == 0)
        for index in order[:-1][twice][:1].tolist():
            self._line = index + 1
            raise self._error(
                f"case {self.plan.cases[cases[index]].id}, block {blocks[index]}, attempt"
                f" {attempts[index]} is recorded twice"
            )

    def launches(self) -> Launches:
        """All launches, after `settle`."""
        return Launches(
            case=_integers(self._case),
            block=_integers(self._block),
            attempt=_integers(self._attempt),
            kind=_integers(self._kind),
            kinds=(*self._kinds,),
            counted=self._counted,
            details=self._details,
        )

    def scans(self) -> dict[int, dict[int, tuple[str, str]]]:
        """For each case the files with the values of its counted scans and their checksums, by
        ascending block."""
        result: dict[int, dict[int, tuple[str, str]]] = {}
        for index, file in self._scanned.items():
            if self._counted[index]:
                result.setdefault(self._case[index], {})[self._block[index]] = file
        return {case: dict(sorted(files.items())) for case, files in result.items()}

    def series(self, *, on_purpose: bool = False) -> list[Series]:
        """The series over the counted launches that are ok, or invalid on purpose."""
        lengths = np.diff(_integers(self._ends))
        valid = np.array(self._valid)[_integers(self._kind)] == (2 if on_purpose else 1)
        taken = np.repeat(valid & self._counted, lengths)
        cases = np.repeat(_integers(self._case), lengths)[taken]
        blocks = np.repeat(_integers(self._block), lengths)[taken]
        # The number of a series: case × metrics and points + metric and point.
        ids = cases * len(self._keys) + np.frombuffer(self._places, dtype=np.int32)[taken]
        values = np.frombuffer(self._values)[taken]
        if not len(ids):
            return []
        order = np.argsort(ids * (int(blocks.max()) + 1) + blocks)
        ids, values, blocks = ids[order], values[order], blocks[order]
        steps = np.diff(ids) == 0
        twice = np.flatnonzero(steps & (np.diff(blocks) == 0))
        if twice.size:
            case, number = divmod(int(ids[twice[0]]), len(self._keys))
            name, at = self._keys[number]
            raise AssayError(
                f"records.jsonl: case {self.plan.cases[case].id}, block {blocks[twice[0]]}:"
                f" metric {name} at {dict(at)} appears twice in one record; once is allowed."
            )
        edges = [0, *(np.flatnonzero(~steps) + 1).tolist(), len(ids)]
        owners = [divmod(found, len(self._keys)) for found in ids[edges[:-1]].tolist()]
        alike: dict[bytes, NDArray[np.int64]] = {}  # most series have the same blocks
        found = []
        for (case, number), (low, high) in zip(owners, pairwise(edges), strict=True):
            text = blocks[low:high].tobytes()
            shared = alike.get(text)
            if shared is None:
                shared = alike[text] = np.frombuffer(text, dtype=np.int64)
            name, at = self._keys[number]
            found.append(Series(case, name, at, shared, values[low:high]))
        return found


def _integers(column: array[int]) -> NDArray[np.int64]:
    return np.frombuffer(column, dtype=np.int64)
