# SPDX-License-Identifier: Apache-2.0
"""Order in time: correlation of neighbouring blocks, and the split at which a series changes.

E-divisive means: Szekely & Rizzo's energy distance between what lies before and after each allowed
split, with a permutation test [Matteson & James, J. Am. Stat. Assoc. 109 (2014) 334]. No
distribution is assumed but that the values are exchangeable without a change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reports.statistics.descriptive import Matrix

_PERMUTATIONS = 999
#: Blocks below which rows show no correlation.
LEAST_BLOCKS = 6
#: Orders of the values in the test of a change.
SPLIT_PERMUTATIONS = 9999
#: Orders of the first look, which ends most tests, and of each further one.
_FIRST_LOOK, _BATCH = 199, 1000
_SEED = 20031
#: Orders that differ only inside the parts have the same Q; rounding must not tell them apart.
_ROUNDING = 1e-4


def lag_1(rows: Matrix) -> NDArray[np.float64]:
    """Lag-1 correlation of each row: Σ(x_i − m)(x_{i+1} − m)/Σ(x_i − m)²; 0 for equal values."""
    centred = rows - rows.mean(axis=-1, keepdims=True)
    total = (centred**2).sum(axis=-1)
    found = (centred[..., 1:] * centred[..., :-1]).sum(axis=-1)
    return np.asarray(np.where(total > 0, found / np.where(total > 0, total, 1), 0.0))


@dataclass(frozen=True, slots=True)
class Dependence:
    """Mean lag-1 correlation over rows of n blocks, and its chance if blocks are independent."""

    correlation: float
    p: float
    n: int

    @property
    def found(self) -> bool:
        """True where it is above what chance allows at 5 %."""
        return self.p <= 0.05

    @property
    def wider(self) -> float:
        """By which standard errors are too small, √((1 + ρ)/(1 − ρ)) for AR(1); 1 if not found."""
        rho = _unbiased(self.correlation, self.n) if self.found else 0.0
        return float(np.sqrt((1 + rho) / (1 - rho)))


def _unbiased(correlation: ArrayLike, n: int) -> NDArray[np.float64]:
    """ρ = (n·r + 1)/(n − 4), from 0 to 0.9: r without its bias of −(1 + 4ρ)/n [Marriott & Pope,
    Biometrika 41 (1954) 390]; below 7 blocks over 3, for it says little there."""
    return np.clip((n * np.asarray(correlation) + 1) / max(3, n - 4), 0.0, 0.9)


def widening(correlation: ArrayLike, n: int) -> NDArray[np.float64]:
    """By which bounds of n launches are too narrow if launches are AR(1), by each mean lag-1
    correlation of theirs: √((1 + ρ)/(1 − ρ)) over what their own deviation has of σ.

    That is √(1 − 2·Σ(n − k)·ρ^k/(n(n − 1))), k = 1 to n − 1. So few launches rarely prove that they
    are dependent, and are wrong by it all the same: ρ counts as estimated. 1 below LEAST_BLOCKS.
    """
    if n < LEAST_BLOCKS:
        return np.ones(np.shape(correlation))
    rho = _unbiased(correlation, n)
    k = np.arange(1, n)
    within = 1 - 2 * ((n - k) * rho[..., np.newaxis] ** k).sum(axis=-1) / (n * (n - 1))
    return np.asarray(np.sqrt((1 + rho) / (1 - rho) / within))


@lru_cache(maxsize=64)
def _orders(lengths: tuple[int, ...]) -> list[NDArray[np.int64]]:
    """Of each length the blocks as they came, and permuted."""
    rng = np.random.default_rng(1)
    return [
        np.stack([np.arange(n), *(rng.permutation(n) for _ in range(_PERMUTATIONS))])
        for n in lengths
    ]


def serial_dependence(rows: Sequence[NDArray[np.float64]]) -> Dependence:
    """Mean lag-1 correlation of many rows, and the chance of one so great if the order of the
    blocks did not matter.

    One-sided permutation test, 999 seeded permutations of the blocks, the same for all rows of one
    length, so that what the rows share does not count twice. At least one row.
    """
    lengths: dict[int, list[NDArray[np.float64]]] = {}
    for row in rows:
        lengths.setdefault(len(row), []).append(row)
    sums = np.zeros(_PERMUTATIONS + 1)
    for alike, orders in zip(lengths.values(), _orders(tuple(lengths)), strict=True):
        centred = np.stack(alike)
        centred = centred - centred.mean(axis=1, keepdims=True)
        size = np.sqrt((centred**2).sum(axis=1, keepdims=True))
        centred /= np.where(size > 0, size, 1)
        products = centred.T @ centred
        sums += products[orders[:, :-1], orders[:, 1:]].sum(axis=1)
    p = float((sums >= sums[0] - 1e-9 * len(rows)).mean())
    return Dependence(float(sums[0]) / len(rows), p, max(lengths))


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
