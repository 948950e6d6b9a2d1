# SPDX-License-Identifier: Apache-2.0
"""Independence of blocks: correlation of neighbours in time."""

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


def lag_1(rows: Matrix) -> NDArray[np.float64]:
    """Lag-1 correlation of each row: Σ(x_i − m)(x_{i+1} − m)/Σ(x_i − m)²; 0 for equal values."""
    centred = rows - rows.mean(axis=-1, keepdims=True)
    total = (centred**2).sum(axis=-1)
    found = (centred[..., 1:] * centred[..., :-1]).sum(axis=-1)
    return np.asarray(np.where(total > 0, found / np.where(total > 0, total, 1), 0.0))


@lru_cache(maxsize=256)
def lag_1_limit(n: int) -> float:
    """Limit that a row of n independent blocks exceeds with 5 %: (−1 + 1.645·√(n − 2))/(n − 1)
    [Anderson, Annals of Mathematical Statistics 13 (1942) 1]. Least n: 3."""
    return float((-1 + 1.645 * np.sqrt(n - 2)) / (n - 1))


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
