# SPDX-License-Identifier: Apache-2.0
"""Stage B: changes that stay, found in the series of nights alone.

E-divisive means with a permutation test finds steps within a window. Its rank test bounds the
chance of a false alarm and reads a new level in fewer nights: a permutation test finds a third of
the steps after three nights, Mann–Whitney all.
"""

from __future__ import annotations

from statistics import median
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats  # type: ignore[import-untyped]

from records.history.model import Change, History, Kind, Stage
from reports.statistics.descriptive import Matrix
from reports.statistics.serial import best_split, is_change
from reports.verdicts.nightly.limits import Rules

#: The greatest p of the permutation test.
P_ENERGY = 1e-4
#: A step of the first nights: after so many, found while the series has so many nights.
_FIRST_SPLITS, _FIRST_NIGHTS = range(3, 10), range(20, 61)
#: A drift: the median of the first nights against that of the last.
_DRIFT_ANCHOR, _DRIFT_RECENT = 30, 10


class LevelShift(NamedTuple):
    """A series' level before (of `n_before` nights) and after, medians in the unit of the values;
    `since` is a night's position, the first of the new level."""

    series: int
    stage: Stage
    since: int
    before: float
    after: float
    n_before: int

    def change(self, history: History, found: int) -> Change:
        """The change that the night with the id `found` shows."""
        less, better = self.after < self.before, history.series[self.series].better
        kind: Kind = "regression"
        if better == "unknown" or less == (better == "lower"):
            kind = "improvement"
        since = history.nights[self.since].id
        levels = self.before, self.after, self.n_before
        return Change(self.series, kind, self.stage, since, found, *levels)


def may_shift(row: Matrix, floor: float, rules: Rules) -> bool:
    """True for a row that is wide enough for a shift above the floor at any allowed split; spares
    most rows the rest.

    A median of m values lies between the row's m/2-th least and m/2-th greatest.
    """
    ordered = np.sort(row)
    few, many = (max((m + 1) // 2, 1) for m in (rules.least_after, rules.least_before))
    worse = ordered[-few] / ordered[many - 1] - 1
    return bool(max(worse, 1 - ordered[few - 1] / ordered[-many]) > floor)


def _shift(before: Matrix, after: Matrix) -> float:
    """The size of the shift of the median, a fraction of the median before."""
    # Of few values several times as fast as NumPy's.
    return abs(float(median(after.tolist()) / median(before.tolist())) - 1)


def _rank_p(before: Matrix, after: Matrix) -> float:
    """Two-sided Mann–Whitney p; exact without ties for small samples."""
    return float(stats.mannwhitneyu(before, after, alternative="two-sided").pvalue)


def _in_window(row: Matrix, floor: float, rules: Rules, *, proven: bool) -> int | None:
    """Number of values before their change, None without one.

    Needed are enough values on both sides, a median shift above the floor, and a small p of both
    tests. The cheap conditions come first; a change that is `proven` by a confirmed night needs no
    permutations.
    """
    sides = rules.least_before, rules.least_after
    if len(row) < sum(sides) or not may_shift(row, floor, rules):
        return None
    split, statistic = best_split(row, *sides)
    parts = row[:split], row[split:]
    if _shift(*parts) <= floor or _rank_p(*parts) > rules.p_ranks:
        return None
    return split if proven or is_change(row, statistic, *sides, P_ENERGY) else None


def _in_first_nights(row: Matrix, floor: float, rules: Rules) -> int | None:
    """A step within the first nights of a reference, too few before it for a window.

    Of the splits after 3 to 9 nights the one with the least Mann–Whitney p, Bonferroni over the
    splits; median shift above the floor. With three nights before, p is small enough only once
    there are some forty after.
    """
    parts = ((row[:split], row[split:]) for split in _FIRST_SPLITS)
    steps = [(_rank_p(*part), len(part[0])) for part in parts if _shift(*part) > floor]
    p, split = min(steps, default=(1.0, 0))
    return split if p * len(_FIRST_SPLITS) <= rules.p_ranks else None


def level_shift(
    series: int,
    values: Matrix,
    nights: NDArray[np.signedinteger],
    floor: float,
    *,
    proven: bool | None,
    rules: Rules,
) -> LevelShift | None:
    """The lasting change that these nights of a series show, with positive values. `proven`: None
    without an open regression, whose last nights alone are asked, else True where a re-run has
    proven it.

    First a change within the last nights (30); then a step in the first nights; then a drift, which
    is the first nights (30) against the last 10, once they are apart by as many as the window. A
    drift finds what wanders by less than the floor in any window.
    """
    row = values[nights]

    def shift(stage: Stage, before: Matrix, after: Matrix) -> LevelShift:
        levels = float(np.median(before)), float(np.median(after))
        return LevelShift(series, stage, int(nights[-len(after)]), *levels, len(before))

    last = row[-rules.window :]
    if split := _in_window(last, floor, rules, proven=bool(proven)):
        return shift("lasting", last[:split], last[split:])
    if proven is not None:
        return None
    if len(row) in _FIRST_NIGHTS and (split := _in_first_nights(row, floor, rules)):
        return shift("early", row[:split], row[split:])
    first, last = row[:_DRIFT_ANCHOR], row[-_DRIFT_RECENT:]
    if len(row) < _DRIFT_ANCHOR + rules.window or _shift(first, last) <= floor:
        return None
    return shift("drift", first, last) if _rank_p(first, last) <= rules.p_drift else None
