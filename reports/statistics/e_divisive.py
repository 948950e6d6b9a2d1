# SPDX-License-Identifier: Apache-2.0
"""E-divisive means: the split of a series at which two samples differ most, and its test.

Szekely & Rizzo's energy distance between what lies before and after each allowed split, with a
permutation test [Matteson & James, J. Am. Stat. Assoc. 109 (2014) 334]. No distribution is assumed
but that the values are exchangeable without a change.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from reports.statistics.descriptive import Matrix

PERMUTATIONS = 9999
#: Orders of the first look, which ends most tests, and of each further one.
_FIRST_LOOK, _BATCH = 199, 1000
_SEED = 20031
#: Orders that differ only inside the parts have the same Q; rounding must not tell them apart.
_ROUNDING = 1e-4


@lru_cache(maxsize=32)
def _orders(n: int) -> NDArray[np.int64]:
    """Orders of n values, shape (PERMUTATIONS, n); seeded."""
    rng = np.random.default_rng(_SEED + n)
    return rng.permuted(np.tile(np.arange(n), (PERMUTATIONS, 1)), axis=1)


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
    allowed = int(p * (PERMUTATIONS + 1) * (1 + 1e-9)) - 1
    exceeding = 0
    for orders in np.split(_orders(len(row)), range(_FIRST_LOOK, PERMUTATIONS, _BATCH)):
        permuted = distances[orders[:, :, np.newaxis], orders[:, np.newaxis, :]]
        _, greatest = _greatest(permuted, before, after)
        exceeding += int((greatest >= statistic * (1 - _ROUNDING)).sum())
        if exceeding > allowed:
            return False
    return True
