# SPDX-License-Identifier: Apache-2.0
"""Whether blocks are independent of each other: correlation of neighbours in time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from reports.statistics.descriptive import Matrix

_PERMUTATIONS = 999


def lag_1(rows: Matrix) -> NDArray[np.float64]:
    """Lag-1 correlation of each row: Σ(x_i − m)(x_{i+1} − m)/Σ(x_i − m)²; 0 for equal values."""
    centred = rows - rows.mean(axis=-1, keepdims=True)
    total = (centred**2).sum(axis=-1)
    found = (centred[..., 1:] * centred[..., :-1]).sum(axis=-1)
    return np.asarray(np.where(total > 0, found / np.where(total > 0, total, 1), 0.0))


@lru_cache(maxsize=256)
def lag_1_limit(n: int) -> float:
    """What one row of n independent blocks exceeds with 5 %: (−1 + 1.645·√(n − 2))/(n − 1)
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
        """Whether it is above what chance allows at 5 %."""
        return self.p <= 0.05

    @property
    def wider(self) -> float:
        """By which standard errors are too small, √((1 + ρ)/(1 − ρ)) for AR(1); 1 if not found.

        ρ = (n·r + 1)/(n − 3), at most 0.9: r without its bias of −(1 + 3ρ)/n [Kendall, Biometrika
        41 (1954) 403].
        """
        if not self.found:
            return 1.0
        rho = min(0.9, max(0.0, (self.n * self.correlation + 1) / max(1, self.n - 3)))
        return float(np.sqrt((1 + rho) / (1 - rho)))


def serial_dependence(rows: Sequence[NDArray[np.float64]]) -> Dependence:
    """Mean lag-1 correlation of many rows, and the chance of one so great if the order of the
    blocks did not matter.

    One-sided permutation test, 999 seeded permutations of the blocks, the same for all rows of one
    length, so that what the rows share does not count twice. At least one row.
    """
    rng = np.random.default_rng(1)
    lengths: dict[int, list[NDArray[np.float64]]] = {}
    for row in rows:
        lengths.setdefault(len(row), []).append(row)
    sums = np.zeros(_PERMUTATIONS + 1)
    for n, alike in lengths.items():
        centred = np.stack(alike)
        centred = centred - centred.mean(axis=1, keepdims=True)
        size = np.sqrt((centred**2).sum(axis=1, keepdims=True))
        centred /= np.where(size > 0, size, 1)
        products = centred.T @ centred
        orders = np.stack([np.arange(n), *(rng.permutation(n) for _ in range(_PERMUTATIONS))])
        sums += products[orders[:, :-1], orders[:, 1:]].sum(axis=1)
    p = float((sums >= sums[0] - 1e-9 * len(rows)).mean())
    return Dependence(float(sums[0]) / len(rows), p, max(lengths))
