# SPDX-License-Identifier: Apache-2.0
"""Launches that failed are an outcome: they are counted, and rank last in their block.

A value exists only where a launch ended well. To compare those alone lets a library win by
survival when its slow launches were killed. So for each failed launch the best one on the other
side of its case is set aside too (symmetric winsorising, as trimmed means treat drop-outs: Permutt
& Li, Pharmaceutical Statistics 16 (2017) 20), and who fails in more than 1 % of its launches beyond
doubt is not preferred to who does not; who is proven to fail more often ranks behind. Lost launches
(node, scheduler) are missing, not failed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

import msgspec
import numpy as np
from numpy.typing import NDArray

from records.flags import INVALID_ON_PURPOSE
from records.metric import Better
from reports.analysis.pairing import PointKey, Table
from reports.load.loading import Run, Series
from reports.statistics.descriptive import Interval, clopper_pearson, fisher_greater
from reports.statistics.signed_rank import LEAST_N

#: Failures up to this share are borne.
BORNE = 0.01

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
        #: Equal rates are one: there may be 100,000 cells.
        self._rates: dict[tuple[int, int], FailureRate] = {}

    def of(self, cases: Iterable[int]) -> FailureRate:
        """The failures of these cases together, each counted once."""
        places = {*cases}
        pair = sum([self._failed[p] for p in places]), sum([self._launched[p] for p in places])
        rate = self._rates.get(pair)
        if rate is None:
            rate = self._rates[pair] = FailureRate(*pair)
        return rate

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
