# SPDX-License-Identifier: Apache-2.0
"""Stage B: has the level changed to stay. E-divisive means with a permutation test.

Q(k) = k(n−k)/n · (2·E|X−Y| − E|X−X'| − E|Y−Y'|) for the split after k values, with the mean
distances between and within both parts; the change is where Q is greatest [Matteson & James,
JASA 109 (2014) 334]. It assumes independent nights and no distribution.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import stats  # type: ignore[import-untyped]

from reports.nightly.rules import Rules

Matrix = NDArray[np.float64]
Single = NDArray[np.float32]
Indices = NDArray[np.int64]

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
def _pair_sums(n: int) -> tuple[Indices, Indices, Single, Single]:
    """Pairs i < j, and what of them lies in the first k (column k) or behind the first k."""
    first, second = np.triu_indices(n, 1)
    splits = np.arange(n)
    before = (second[:, np.newaxis] < splits).astype(np.float32)
    behind = (first[:, np.newaxis] >= splits).astype(np.float32)
    return first.astype(np.int64), second.astype(np.int64), before, behind


def _statistics(distances: Single, least_before: int, least_after: int) -> Single:
    """Q for each row of pair distances (rows, pairs) at each allowed split; column 0 is
    the split after `least_before` values."""
    n = round((1 + np.sqrt(1 + 8 * distances.shape[1])) / 2)
    _, _, before, behind = _pair_sums(n)
    k = np.arange(least_before, n - least_after + 1, dtype=np.float32)
    columns = slice(least_before, n - least_after + 1)
    inside = distances @ before[:, columns]
    outside = distances @ behind[:, columns]
    across = distances.sum(axis=1, keepdims=True) - inside - outside
    rest = n - k
    result: Single = (k * rest / n) * (
        2 * across / (k * rest)
        - inside / np.maximum(k * (k - 1) / 2, 1)
        - outside / np.maximum(rest * (rest - 1) / 2, 1)
    )
    return result


def _distances(a: Matrix, b: Matrix, rows: Matrix) -> Single:
    """|a − b| in units of each row's range: single precision is enough then, and twice as fast."""
    spread = np.ptp(rows, axis=1, keepdims=True)
    distances: Single = (np.abs(a - b) / np.where(spread > 0, spread, 1)).astype(np.float32)
    return distances


def best_splits(rows: Matrix, least_before: int, least_after: int) -> list[Split]:
    """Where each row, shape (series, n), changes most. n >= least_before + least_after."""
    first, second, _, _ = _pair_sums(rows.shape[1])
    distances = _distances(rows[:, first], rows[:, second], rows)
    found = _statistics(distances, least_before, least_after)
    places = found.argmax(axis=1)
    return [
        Split(int(place) + least_before, float(row[place]))
        for place, row in zip(places, found, strict=True)
    ]


@lru_cache(maxsize=32)
def _permuted_pairs(n: int) -> Indices:
    """Index i·n + j of each pair of each permutation, shape (PERMUTATIONS, pairs); seeded."""
    rng = np.random.default_rng(_SEED + n)
    orders = rng.permuted(np.tile(np.arange(n), (PERMUTATIONS, 1)), axis=1)
    first, second, _, _ = _pair_sums(n)
    pairs: Indices = (orders[:, first] * n + orders[:, second]).astype(np.int32)
    return pairs


def is_change(row: Matrix, split: Split, rules: Rules) -> bool:
    """Whether the permutation test of a row's greatest Q has p <= `rules.p_energy`.

    p = (1 + exceeding)/(1 + permutations). It ends at the permutation that makes p too great, so
    that a row without a change costs little.
    """
    n = len(row)
    distances = _distances(np.repeat(row, n), np.tile(row, n), row[np.newaxis, :])[0]
    pairs = _permuted_pairs(len(row))
    allowed = int(rules.p_energy * (PERMUTATIONS + 1) * (1 + 1e-9)) - 1
    exceeding, begin = 0, 0
    while begin < PERMUTATIONS:
        end = min(begin + (_BATCH if begin else _FIRST_LOOK), PERMUTATIONS)
        found = _statistics(distances[pairs[begin:end]], rules.least_before, rules.least_after)
        exceeding += int((found.max(axis=1) >= split.statistic * (1 - _ROUNDING)).sum())
        if exceeding > allowed:
            return False
        begin = end
    return exceeding <= allowed


def median_shift(row: Matrix, place: int) -> float:
    """Median behind the change over the median before it, minus 1."""
    before = float(np.median(row[:place]))
    return float(np.median(row[place:])) / before - 1 if before > 0 else 0.0


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
    splits = best_splits(rows, rules.least_before, rules.least_after)
    kept = [
        abs(median_shift(row, split.place)) > floor
        and rank_p(row[: split.place], row[split.place :]) <= rules.p_ranks
        and (known or is_change(row, split, rules))
        for row, split, floor, known in zip(rows, splits, floors, proven, strict=True)
    ]
    return [split.place if keep else None for split, keep in zip(splits, kept, strict=True)]
