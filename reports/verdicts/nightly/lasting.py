# SPDX-License-Identifier: Apache-2.0
"""Stage B: changes that stay, found in the series of nights alone.

E-divisive means find steps within a window: Szekely & Rizzo's energy distance between what lies
before and after each allowed split, with a permutation test [Matteson & James, J. Am. Stat. Assoc.
109 (2014) 334]. No distribution is assumed but that the values are exchangeable without a change.
A rank test bounds the chance of a false alarm.
"""

from __future__ import annotations

from functools import lru_cache
from statistics import median
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats  # type: ignore[import-untyped]

from records.history.model import Change, History, Kind, Stage
from reports.statistics.descriptive import Matrix
from reports.verdicts.nightly.tonight import Rules

#: The greatest p of the permutation test.
P_ENERGY = 1e-4
#: Orders of the values in the permutation test; of the first look, which ends most tests, and of
#: each further one.
SPLIT_PERMUTATIONS, _FIRST_LOOK, _BATCH = 9999, 199, 1000
_SEED = 20031
#: Orders that differ only inside the parts have the same Q; rounding must not tell them apart.
_ROUNDING = 1e-4
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


@lru_cache(maxsize=32)
def _split_orders(n: int) -> NDArray[np.int64]:
    """Orders of n values, shape (SPLIT_PERMUTATIONS, n); seeded."""
    rng = np.random.default_rng(_SEED + n)
    return rng.permuted(np.tile(np.arange(n), (SPLIT_PERMUTATIONS, 1)), axis=1)


def _greatest(distances: Matrix, before: int, after: int) -> tuple[NDArray[np.int64], Matrix]:
    """Greatest Q(k) = k(n−k)/n·(2·E|X−Y| − E|X−X'| − E|Y−Y'|) of each matrix of distances (…, n,
    n) and its split k, which leaves `before` values or more before it and `after` after it."""
    n = distances.shape[-1]
    k = np.arange(before, n - after + 1)
    rest = n - k
    pairs = np.tril(distances).sum(axis=-1)
    inside = np.cumsum(pairs, axis=-1)[..., k - 1]
    touching = np.cumsum(distances.sum(axis=-1), axis=-1)[..., k - 1]
    across = touching - 2 * inside
    outside = pairs.sum(axis=-1, keepdims=True) - inside - across
    statistics = (k * rest / n) * (
        2 * across / (k * rest)
        - inside / np.maximum(k * (k - 1) / 2, 1)
        - outside / np.maximum(rest * (rest - 1) / 2, 1)
    )
    return statistics.argmax(axis=-1) + before, statistics.max(axis=-1)


def _distances(row: Matrix) -> Matrix:
    """|a − b| of all values, shape (n, n), in units of their range."""
    distances: Matrix = np.abs(row[:, np.newaxis] - row) / (np.ptp(row) or 1)
    return distances


def best_split(row: Matrix, before: int, after: int) -> tuple[int, float]:
    """Number of values before the greatest Q of a row, and that Q in units of the row's range."""
    split, statistic = _greatest(_distances(row), before, after)
    return int(split), float(statistic)


def is_change(row: Matrix, statistic: float, before: int, after: int, p: float) -> bool:
    """Permutation test of a row's greatest Q: (1 + exceeding)/(1 + permutations) is at most `p`.

    It ends at the permutation that makes p too great, so that a row without a change costs little.
    """
    distances = _distances(row)
    allowed = int(p * (SPLIT_PERMUTATIONS + 1) * (1 + 1e-9)) - 1
    exceeding = 0
    for orders in np.split(_split_orders(len(row)), range(_FIRST_LOOK, SPLIT_PERMUTATIONS, _BATCH)):
        permuted = distances[orders[:, :, np.newaxis], orders[:, np.newaxis, :]]
        _, greatest = _greatest(permuted, before, after)
        exceeding += int((greatest >= statistic * (1 - _ROUNDING)).sum())
        if exceeding > allowed:
            return False
    return True


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

    First a change within the last nights (30); then a drift, which is the first nights (30) against
    the last 10, once they are apart by as many as the window. A drift finds what wanders by less
    than the floor in any window.
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
    first, last = row[:_DRIFT_ANCHOR], row[-_DRIFT_RECENT:]
    if len(row) < _DRIFT_ANCHOR + rules.window or _shift(first, last) <= floor:
        return None
    return shift("drift", first, last) if _rank_p(first, last) <= rules.p_drift else None
