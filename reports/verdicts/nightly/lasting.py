# SPDX-License-Identifier: Apache-2.0
"""Stage B: has the level of a series changed to stay. E-divisive means with a permutation test.

Q(k) = k(n−k)/n · (2·E|X−Y| − E|X−X'| − E|Y−Y'|) for the split after k values, with the mean
distances between and within both parts; the change is where Q is greatest [Matteson & James,
JASA 109 (2014) 334]. It assumes independent nights and no distribution.

One test does not serve for all. Mann–Whitney alone, Bonferroni over the splits of the window, finds
a step of 5 % where one night in twenty is bad after 7 nights instead of 4 (t(3) noise: 12 instead
of 5). The permutation test finds a third of the steps after three nights, Mann–Whitney all.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from statistics import median
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats  # type: ignore[import-untyped]

from records.history.model import Change, History, Kind, Stage
from reports.statistics.descriptive import Matrix
from reports.verdicts.nightly.rules import Rules

Single = NDArray[np.float32]
Places = NDArray[np.signedinteger]

PERMUTATIONS = 9999
_FIRST_LOOK = 199
_BATCH = 1000
_SEED = 20031
#: Orders that differ only inside the parts have the same Q; rounding must not tell them apart.
_ROUNDING = 1e-4


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


@lru_cache(maxsize=64)
def _pairs(n: int) -> tuple[Places, Places, Places]:
    """Pairs i < j in order of j, and where each j begins."""
    second, first = np.tril_indices(n, -1)
    return first, second, np.concatenate([[0], np.cumsum(np.arange(1, n - 1))])


@lru_cache(maxsize=32)
def _permutations(n: int) -> tuple[Places, Places]:
    """Orders of n values, shape (PERMUTATIONS, n), and the index i·n + j of each of their pairs;
    seeded."""
    rng = np.random.default_rng(_SEED + n)
    orders = rng.permuted(np.tile(np.arange(n), (PERMUTATIONS, 1)), axis=1).astype(np.int32)
    first, second, _ = _pairs(n)
    return orders, orders[:, first] * np.int32(n) + orders[:, second]


def _table(row: Matrix) -> Single:
    """|a − b| of all values, shape (n, n), in units of their range: single precision is enough
    then, and twice as fast."""
    table: Single = (np.abs(row[:, np.newaxis] - row) / (np.ptp(row) or 1)).astype(np.float32)
    return table


def _statistics(distances: Single, sums: Single, rules: Rules) -> Single:
    """Q for each row at each allowed split; column 0 is the split after `rules.least_before`.

    `distances`: of the pairs of `_pairs` (rows, pairs); `sums`: of each value to all others (rows,
    n). Pairs inside the first part are summed value by value; the others follow from `sums`.
    """
    n, least, end = sums.shape[1], rules.least_before, sums.shape[1] - rules.least_after
    k = np.arange(least, end + 1, dtype=np.float32)
    inside = np.cumsum(np.add.reduceat(distances, _pairs(n)[2], axis=1), axis=1)
    inside = inside[:, least - 2 : end - 1]
    touching = np.cumsum(sums, axis=1)[:, least - 1 : end] - inside
    across = touching - inside
    outside = sums.sum(axis=1, keepdims=True) / 2 - touching
    rest = n - k
    result: Single = (k * rest / n) * (
        2 * across / (k * rest)
        - inside / np.maximum(k * (k - 1) / 2, 1)
        - outside / np.maximum(rest * (rest - 1) / 2, 1)
    )
    return result


def best_split(row: Matrix, rules: Rules) -> tuple[int, float]:
    """How many values lie before the greatest Q of a row, and that Q."""
    first, second, _ = _pairs(len(row))
    table = _table(row)
    (found,) = _statistics(table[np.newaxis, first, second], table.sum(axis=1)[np.newaxis], rules)
    return int(found.argmax()) + rules.least_before, float(found.max())


def is_change(row: Matrix, statistic: float, rules: Rules) -> bool:
    """Whether the permutation test of a row's greatest Q has p <= `rules.p_energy`.

    p = (1 + exceeding)/(1 + permutations). It ends at the permutation that makes p too great, so
    that a row without a change costs little.
    """
    table = _table(row)
    flat, sums = table.ravel(), table.sum(axis=1)
    orders, pairs = _permutations(len(row))
    allowed = int(rules.p_energy * (PERMUTATIONS + 1) * (1 + 1e-9)) - 1
    exceeding = 0
    for begin, end in pairwise([0, *range(_FIRST_LOOK, PERMUTATIONS, _BATCH), PERMUTATIONS]):
        found = _statistics(flat[pairs[begin:end]], sums[orders[begin:end]], rules)
        exceeding += int((found.max(axis=1) >= statistic * (1 - _ROUNDING)).sum())
        if exceeding > allowed:
            return False
    return True


def may_shift(row: Matrix, floor: float, rules: Rules) -> bool:
    """Whether a row is wide enough for a shift above the floor at any allowed split; spares most
    rows the rest.

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
    """How many of the values lie before their change, None without one.

    Needed are enough values on both sides, a median shift above the floor, and a small p of both
    tests. The cheap conditions come first; a change that is `proven` by a confirmed night needs no
    permutations.
    """
    if len(row) < rules.least_before + rules.least_after or not may_shift(row, floor, rules):
        return None
    split, statistic = best_split(row, rules)
    parts = row[:split], row[split:]
    if _shift(*parts) <= floor or _rank_p(*parts) > rules.p_ranks:
        return None
    return split if proven or is_change(row, statistic, rules) else None


def _before_judging(row: Matrix, limit: float, rules: Rules) -> int | None:
    """A step within the nights that came before any could be judged, which no rank test tells.

    From 10 nights after these on, until `_in_first_nights` begins: what the first night, or each of
    the first two, lies away from the level of the others, by more than one night may (`limit`), as
    none of those does.
    """
    for split in range(1, rules.judged_from) if rules.robust_from < len(row) else ():
        away = row / np.median(row[split:]) - 1
        first = away[:split]
        if (np.abs(away[split:]) <= limit).all() and (
            (first < -limit).all() or (first > limit).all()
        ):
            return split
    return None


def _in_first_nights(row: Matrix, floor: float, rules: Rules) -> int | None:
    """A step within the first nights of a reference, too few before it for a window.

    All nights so far, while they are 20 to 60: of the splits after 3 to 9 nights the one with the
    least Mann–Whitney p, Bonferroni over the splits; median shift above the floor. With three
    nights before, p is small enough only once there are some forty after.
    """
    splits = range(rules.judged_from, rules.first_nights)
    parts = ((row[:split], row[split:]) for split in splits)
    steps = [(_rank_p(*part), len(part[0])) for part in parts if _shift(*part) > floor]
    p, split = min(steps, default=(1.0, 0))
    return split if p * len(splits) <= rules.p_ranks else None


def level_shift(
    series: int,
    values: Matrix,
    nights: Places,
    limits: tuple[float, float],
    *,
    proven: bool | None,
    rules: Rules,
) -> LevelShift | None:
    """The lasting change that these nights of a series show, with positive values. `limits`: floor,
    what one night may be. `proven`: None without an open regression, whose last nights alone are
    asked, else whether a re-run has proven it.

    First a change within the last nights (30); then a step in the first nights; then a drift, which
    is the first nights (30) against the last 10, once they are apart by as many as the window. A
    drift finds what wanders by less than the floor in any window.
    """
    row, (floor, limit) = values[nights], limits

    def found(stage: Stage, before: Matrix, after: Matrix) -> LevelShift:
        levels = float(np.median(before)), float(np.median(after))
        return LevelShift(series, stage, int(nights[-len(after)]), *levels, len(before))

    last = row[-rules.window :]
    if split := _in_window(last, floor, rules, proven=bool(proven)):
        return found("lasting", last[:split], last[split:])
    if proven is not None:
        return None
    if rules.robust_from < len(row) < rules.early_from:
        split = _before_judging(row, limit, rules)
    elif rules.early_from <= len(row) <= rules.most_nights:
        split = _in_first_nights(row, floor, rules)
    if split:
        return found("early", row[:split], row[split:])
    first, last = row[: rules.drift_anchor], row[-rules.drift_recent :]
    if len(row) < rules.drift_anchor + rules.window or _shift(first, last) <= floor:
        return None
    return found("drift", first, last) if _rank_p(first, last) <= rules.p_drift else None
