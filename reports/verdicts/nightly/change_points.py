# SPDX-License-Identifier: Apache-2.0
"""Stage B: has the level changed to stay. E-divisive means with a permutation test.

Q(k) = k(n−k)/n · (2·E|X−Y| − E|X−X'| − E|Y−Y'|) for the split after k values, with the mean
distances between and within both parts; the change is where Q is greatest [Matteson & James,
JASA 109 (2014) 334]. It assumes independent nights and no distribution.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import stats  # type: ignore[import-untyped]

from reports.statistics.descriptive import Matrix
from reports.verdicts.nightly.reference import row_medians
from reports.verdicts.nightly.rules import Rules

Single = NDArray[np.float32]
Places = NDArray[np.signedinteger]

PERMUTATIONS = 9999
_FIRST_LOOK = 199
_BATCH = 1000
_SEED = 20031
#: Orders that differ only inside the parts have the same Q; rounding must not tell them apart.
_ROUNDING = 1e-4


@dataclass(frozen=True, slots=True)
class Split:
    """`place` values lie before the change; `statistic` is Q there."""

    place: int
    statistic: float


@lru_cache(maxsize=64)
def _pairs(n: int) -> tuple[Places, Places, Places]:
    """Pairs i < j in order of j, and where each j begins."""
    second, first = np.tril_indices(n, -1)
    return first, second, np.concatenate([[0], np.cumsum(np.arange(1, n - 1))])


def _statistics(distances: Single, sums: Single, least_before: int, least_after: int) -> Single:
    """Q for each row at each allowed split; column 0 is the split after `least_before` values.

    `distances`: of the pairs of `_pairs` (rows, pairs); `sums`: of each value to all others (rows,
    n). Pairs inside the first part are summed value by value; the others follow from `sums`.
    """
    n = sums.shape[1]
    _, _, begins = _pairs(n)
    k = np.arange(least_before, n - least_after + 1, dtype=np.float32)
    splits = slice(least_before - 2, n - least_after - 1)
    inside = np.cumsum(np.add.reduceat(distances, begins, axis=1), axis=1)[:, splits]
    touching = np.cumsum(sums, axis=1)[:, least_before - 1 : n - least_after] - inside
    across = touching - inside
    outside = sums.sum(axis=1, keepdims=True) / 2 - touching
    rest = n - k
    result: Single = (k * rest / n) * (
        2 * across / (k * rest)
        - inside / np.maximum(k * (k - 1) / 2, 1)
        - outside / np.maximum(rest * (rest - 1) / 2, 1)
    )
    return result


def _tables(rows: Matrix) -> Single:
    """|a − b| of all values of each row, shape (rows, n, n), in units of each row's range: single
    precision is enough then, and twice as fast."""
    spread = np.ptp(rows, axis=1)[:, np.newaxis, np.newaxis]
    away = np.abs(rows[:, :, np.newaxis] - rows[:, np.newaxis, :])
    tables: Single = (away / np.where(spread > 0, spread, 1)).astype(np.float32)
    return tables


def best_splits(rows: Matrix, least_before: int, least_after: int) -> list[Split]:
    """Where each row, shape (series, n), changes most. n >= least_before + least_after."""
    first, second, _ = _pairs(rows.shape[1])
    tables = _tables(rows)
    found = _statistics(tables[:, first, second], tables.sum(axis=2), least_before, least_after)
    places = found.argmax(axis=1)
    return [
        Split(int(place) + least_before, float(row[place]))
        for place, row in zip(places, found, strict=True)
    ]


@lru_cache(maxsize=32)
def _permutations(n: int) -> tuple[Places, Places]:
    """Orders of n values, shape (PERMUTATIONS, n), and the index i·n + j of each of their pairs;
    seeded."""
    rng = np.random.default_rng(_SEED + n)
    orders = rng.permuted(np.tile(np.arange(n), (PERMUTATIONS, 1)), axis=1).astype(np.int32)
    first, second, _ = _pairs(n)
    return orders, orders[:, first] * np.int32(n) + orders[:, second]


def is_change(row: Matrix, split: Split, rules: Rules) -> bool:
    """Whether the permutation test of a row's greatest Q has p <= `rules.p_energy`.

    p = (1 + exceeding)/(1 + permutations). It ends at the permutation that makes p too great, so
    that a row without a change costs little.
    """
    table = _tables(row[np.newaxis, :])[0]
    flat, sums = table.ravel(), table.sum(axis=1)
    orders, pairs = _permutations(len(row))
    allowed = int(rules.p_energy * (PERMUTATIONS + 1) * (1 + 1e-9)) - 1
    exceeding = 0
    for begin, end in pairwise([0, *range(_FIRST_LOOK, PERMUTATIONS, _BATCH), PERMUTATIONS]):
        found = _statistics(
            flat[pairs[begin:end]], sums[orders[begin:end]], rules.least_before, rules.least_after
        )
        exceeding += int((found.max(axis=1) >= split.statistic * (1 - _ROUNDING)).sum())
        if exceeding > allowed:
            return False
    return True


def median_shifts(rows: Matrix, places: NDArray[np.int64]) -> Matrix:
    """For each row the median behind its place over the median before it, minus 1.

    0 where the median before is not positive."""
    behind = np.arange(rows.shape[1]) >= places[:, np.newaxis]
    before = row_medians(np.where(behind, np.nan, rows))
    after = row_medians(np.where(behind, rows, np.nan))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(before > 0, after / before - 1, 0.0)


def rank_p(before: Matrix, after: Matrix) -> float:
    """Two-sided Mann–Whitney p; exact without ties for small samples."""
    return float(stats.mannwhitneyu(before, after, alternative="two-sided").pvalue)


def lasting_changes(
    rows: Matrix, floors: Matrix, proven: NDArray[np.bool_], rules: Rules
) -> list[int | None]:
    """For each row, shape (series, n): how many values lie before its change, None without one.

    Kept only with enough values on both sides, a median shift above the floor, Mann–Whitney and
    permutation p small enough. The cheap conditions come first; rows whose change is `proven` by a
    confirmed night need no permutations.
    """
    if rows.shape[1] < rules.least_before + rules.least_after:
        return [None] * len(rows)
    found: list[int | None] = [None] * len(rows)
    wide = np.flatnonzero(may_shift(rows, floors, rules))
    splits = best_splits(rows[wide], rules.least_before, rules.least_after)
    places = np.array([split.place for split in splits], dtype=np.int64)
    shifted = np.abs(median_shifts(rows[wide], places)) > floors[wide]
    for place in np.flatnonzero(shifted).tolist():
        number, split = int(wide[place]), splits[place]
        row = rows[number]
        if rank_p(row[: split.place], row[split.place :]) <= rules.p_ranks and (
            proven[number] or is_change(row, split, rules)
        ):
            found[number] = split.place
    return found


def may_shift(rows: Matrix, floors: Matrix, rules: Rules) -> NDArray[np.bool_]:
    """Rows wide enough for a shift above the floor at any allowed split; spares most rows the rest.

    A median of m values lies between the row's m/2-th least and m/2-th greatest.
    """
    ordered = np.sort(rows, axis=1)
    few, many = (max((m + 1) // 2, 1) for m in (rules.least_after, rules.least_before))
    worse = ordered[:, -few] / ordered[:, many - 1] - 1
    better = 1 - ordered[:, few - 1] / ordered[:, -many]
    wide: NDArray[np.bool_] = np.maximum(worse, better) > floors
    return wide
