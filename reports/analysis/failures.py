# SPDX-License-Identifier: Apache-2.0
"""Values of two environments paired by point and block; failed launches count and rank last.

A value exists only where a launch ended well. To compare those alone lets a library win by
survival when its slow launches were killed. So for each failed launch the best one on the other
side of its case is set aside too (symmetric winsorising, as trimmed means treat drop-outs: Permutt
& Li, Pharmaceutical Statistics 16 (2017) 20), and who fails in more than 1 % of its launches beyond
doubt is not preferred to who does not; who is proven to fail more often ranks behind. Lost launches
(node, scheduler) are missing, not failed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from records.flags import INVALID_ON_PURPOSE
from records.metric import Better
from reports.load.loading import AtKey, Run, Series, stacked
from reports.statistics.descriptive import LEAST_N, Interval, clopper_pearson, fisher_greater

#: Failures up to this share are borne.
BORNE = 0.01

#: The first case with the same parameters, and the point.
PointKey = tuple[int, AtKey]
#: Blocks, and a value for each.
Point = tuple[NDArray[np.int64], NDArray[np.float64]]
#: By (check, metric), then environment, then point.
Table = dict[tuple[str, str], dict[str, dict[PointKey, Series]]]
#: How many failed launches of (check, metric), environment and point were ranked last.
Ranked = dict[tuple[str, str, PointKey], int]


class FailureRate(msgspec.Struct, frozen=True, gc=False):
    """`failed` of `launched`, replaced attempts too; lost and skipped ones count in neither."""

    failed: int = 0
    launched: int = 0

    @property
    def share(self) -> float:
        """The share of failed launches; 0 without a launch."""
        return self.failed / self.launched if self.launched else 0.0

    @property
    def interval(self) -> Interval | None:
        """Clopper–Pearson limits at 95 %; None without a launch."""
        return clopper_pearson(self.failed, self.launched) if self.launched else None

    def unreliable_beside(self, other: FailureRate) -> bool:
        """True where it is not to be preferred to `other`: beyond doubt it fails in more than 1 %
        of its launches, and in more than the share of `other` at hand."""
        interval = self.interval
        return interval is not None and interval.low > max(BORNE, other.share)

    def worse_than(self, other: FailureRate, level: float) -> bool:
        """True where it fails more often than `other`, proven at `level`, and in more than 1 %."""
        return (
            self.unreliable_beside(other)
            and other.launched > 0
            and fisher_greater(self.failed, self.launched, other.failed, other.launched) <= level
        )


class Failures:
    """Failures of a run by case, `blocks` those in which they were; (check, environment) of cases
    that always failed, and ended well elsewhere, are `hopeless`."""

    def __init__(self, run: Run) -> None:
        self._cases, launches = run.plan.cases, run.launches
        failed = launches.of_status("failed")
        every = len(self._cases)
        self._failed = np.bincount(launches.case[failed], minlength=every).tolist()
        replaced = launches.case[failed & ~launches.counted]
        self._launched = np.bincount(replaced, minlength=every).tolist()
        for (case, status, flags), count in run.tally.items():
            if status in ("ok", "failed", "wrong") and INVALID_ON_PURPOSE not in flags:
                self._launched[case] += count
        self.blocks: defaultdict[int, set[int]] = defaultdict(set)
        for case, block in launches.places(failed & launches.counted):
            self.blocks[case].add(block)
        ended = {run.first_alike[series.case] for series in run.series}
        self.hopeless = {
            (self._cases[place].check, self._cases[place].environment)
            for place, count in enumerate(self._failed)
            if 0 < count == self._launched[place] and run.first_alike[place] in ended
        }

    def of(self, cases: Iterable[int]) -> FailureRate:
        """The failures of these cases together, each counted once."""
        places = {*cases}
        failed, launched = self._failed, self._launched
        return FailureRate(sum([failed[p] for p in places]), sum([launched[p] for p in places]))

    def of_checks(self, checks: Collection[str], environment: str) -> FailureRate:
        """The failures of all cases of these checks in an environment."""
        return self.of(
            place
            for place, case in enumerate(self._cases)
            if case.environment == environment and case.check in checks
        )


def rank_failures_last(
    table: Table, failures: Failures, better: Mapping[str, Better]
) -> tuple[Table, Ranked]:
    """The table with failed launches at the end of their series, and how many they were.

    A series with too many of them to leave three values in the middle stays as it is.
    """
    if not failures.blocks:
        return table, {}
    result: Table = {}
    ranked: Ranked = {}
    for (check, metric), found in table.items():
        completed = result[check, metric] = {name: dict(points) for name, points in found.items()}
        for name, points in found.items():
            for key, series in points.items():
                blocks = failures.blocks.get(series.case)
                if not blocks or (series.values <= 0).any():
                    continue
                others = [found[o][key] for o in found if o != name and key in found[o]]
                whole = _with_failed(series, blocks, others, better[metric])
                if whole is not None:
                    completed[name][key] = whole
                    ranked[metric, name, key] = len(blocks)
    return result, ranked


def _with_failed(
    series: Series, failed: set[int], others: list[Series], better: Better
) -> Series | None:
    """The series with the failed blocks at its worst value, and as many of its best values at the
    next one. Both are relative to the block's other environments: their drift is taken out."""
    g = len(failed)
    if len(series.blocks) - g < LEAST_N:
        return None
    sign = 1.0 if better == "lower" else -1.0
    blocks = np.union1d(series.blocks, np.array(sorted(failed), dtype=np.int64))
    drift = _drift(blocks, [item for item in others if (item.values > 0).all()])
    at = np.searchsorted(blocks, series.blocks)
    own = sign * np.log(series.values) - sign * drift[at]
    ordered = np.sort(own)
    costs = np.full(len(blocks), ordered[-1])
    costs[at] = np.maximum(own, ordered[g])
    values = np.exp(sign * costs + drift)
    return Series(series.case, series.metric, series.at, blocks, values)


def _drift(blocks: NDArray[np.int64], others: list[Series]) -> NDArray[np.float64]:
    """ln of what the others' values have in common in each block, 0 where they have none."""
    rows = np.full((len(others) + 1, len(blocks)), np.nan)
    for row, item in zip(rows, others, strict=False):
        _, mine, theirs = np.intersect1d(blocks, item.blocks, return_indices=True)
        logs = np.log(item.values)
        row[mine] = logs[theirs] - logs.mean()
    known = np.isfinite(rows)
    return np.asarray(np.where(known, rows, 0).sum(axis=0) / np.maximum(1, known.sum(axis=0)))


def points_by_environment(run: Run) -> Table:
    """Series of the deciding metrics, ordered for pairing."""
    cases, keys = run.plan.cases, run.first_alike
    table: Table = {}
    for series in sorted(run.series, key=lambda item: item.case):
        case = cases[series.case]
        if run.plan.register.decides(case.check, series.metric):
            by_environment = table.setdefault((case.check, series.metric), {})
            found = by_environment.setdefault(case.environment, {})
            found[keys[series.case], series.at] = series
    return table


def paired_points(
    table: Mapping[str, dict[PointKey, Series]], environment: str, reference: str, better: Better
) -> tuple[dict[PointKey, Point], int]:
    """ln of the advantage for each point and common block; points with a value <= 0 are left out,
    and how many they are."""
    first, second = table.get(environment, {}), table.get(reference, {})
    sign = 1.0 if better == "higher" else -1.0
    alike: dict[tuple[bytes, bytes], list[PointKey]] = {}
    for key, series in first.items():
        if (other := second.get(key)) is not None:
            blocks = series.blocks.tobytes(), other.blocks.tobytes()
            alike.setdefault(blocks, []).append(key)
    found: dict[PointKey, Point] = {}
    shared = 0
    for _, keys in sorted(alike.items(), key=lambda item: item[0][0] == item[0][1]):
        blocks_a, blocks_b = (of[keys[0]].blocks for of in (first, second))
        common, at_a, at_b = np.intersect1d(blocks_a, blocks_b, return_indices=True)
        if not len(common):
            continue
        shared += len(keys)
        a = stacked([first[key] for key in keys])[:, at_a]
        b = stacked([second[key] for key in keys])[:, at_b]
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = sign * (np.log(a) - np.log(b))
        ok: NDArray[np.bool_] = np.asarray((a > 0).all(axis=1) & (b > 0).all(axis=1))
        found |= {key: (common, logs[row]) for row, key in enumerate(keys) if ok[row]}
    return found, shared - len(found)


def combine(points: Sequence[Point]) -> tuple[Point, int]:
    """Mean of d over points (at least one) for each block, and how many went in.

    A block that lacks a point has the mean of the others there, each as a deviation from its own
    mean, so that it loses that value alone; one that lacks more than half has none. Points below
    n = 3 are left out unless all are.
    """
    if len(points) == 1:
        return points[0], 1
    usable = [point for point in points if len(point[0]) >= LEAST_N] or list(points)
    first = usable[0][0]
    if all(point[0] is first or np.array_equal(point[0], first) for point in usable[1:]):
        return (first, np.mean([point[1] for point in usable], axis=0)), len(usable)
    every = np.unique(np.concatenate([blocks for blocks, _ in usable]))
    levels = [float(values.mean()) for _, values in usable]
    total, count = np.zeros(len(every)), np.zeros(len(every))
    for (blocks, values), level in zip(usable, levels, strict=True):
        at = np.searchsorted(every, blocks)
        total[at] += values - level
        count[at] += 1
    enough = 2 * count >= len(usable)
    rows = float(np.mean(levels)) + total[enough] / count[enough]
    return (every[enough], rows), len(usable)
