# SPDX-License-Identifier: Apache-2.0
"""Ratios of environments over blocks, by ranks: estimate and exact interval.

For each block d = ln(A/B). Rows of a matrix are cells, columns are blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import repeat

import msgspec
import numpy as np

from reports.statistics.descriptive import LEVEL, Interval, Matrix, grids

LEAST_N = 3
_CHUNK = 2_000_000


class PairedEffect(msgspec.Struct, frozen=True, gc=False):
    """The ratio A/B over n blocks: exp of the Hodges–Lehmann estimate.

    `interval` is the narrowest exact one of at least 95 %, or the widest attainable when there is
    none (n < 6; its level says so). `log_stddev` is s of d, ddof 1.
    """

    n: int
    ratio: float
    interval: Interval
    log_stddev: float

    def inverse(self) -> PairedEffect:
        """The ratio B/A."""
        interval = self.interval.inverse()
        return msgspec.structs.replace(self, ratio=1 / self.ratio, interval=interval)


def paired_effect(a: Sequence[float], b: Sequence[float]) -> PairedEffect:
    """Effect of one cell from the values of both environments in the same blocks, all > 0."""
    ratios = np.log(np.asarray(a, dtype=np.float64)) - np.log(np.asarray(b, dtype=np.float64))
    return paired_effects(ratios[np.newaxis, :])[0]


def paired_effects(differences: Matrix) -> list[PairedEffect]:
    """Effects of many cells; `differences` has shape (cells, n) and holds ln(A/B), n >= 3.

    Estimate: median of the n(n+1)/2 Walsh averages (d_i + d_j)/2 [Hodges & Lehmann 1963].
    Interval: Walsh averages w(k), w(M+1−k) with P(T <= k−1) <= α/2 under the exact null
    distribution of the signed-rank sum T [Hollander & Wolfe, §3.3]. Assumes independent blocks
    and d symmetric about the effect.
    """
    n = differences.shape[1]
    if n < LEAST_N:
        raise ValueError(f"a paired comparison needs {LEAST_N} blocks, not {n}")
    if not np.isfinite(differences).all():
        raise ValueError("ln(A/B) must be finite: values above 0 only")
    step = max(1, _CHUNK // (n * (n + 1) // 2))
    first, second = np.triu_indices(n)
    rank, level = interval_rank(n, LEVEL)
    effects: list[PairedEffect] = []
    for start in range(0, len(differences), step):
        chunk = differences[start : start + step]
        walsh = np.sort((chunk[:, first] + chunk[:, second]) / 2, axis=1)
        centre, grid = np.median(walsh, axis=1), grids(chunk)
        grid = np.where(np.isfinite(grid), grid, 0.0)
        # Where values tie the interval reaches at least as far as their grid.
        lows = np.exp(np.minimum(walsh[:, rank - 1], centre - grid)).tolist()
        highs = np.exp(np.maximum(walsh[:, walsh.shape[1] - rank], centre + grid)).tolist()
        effects += map(
            PairedEffect,
            repeat(n),
            np.exp(centre).tolist(),
            map(Interval, lows, highs, repeat(level), repeat("signed-rank")),
            chunk.std(axis=1, ddof=1).tolist(),
        )
    return effects


@lru_cache(maxsize=512)
def interval_rank(n: int, level: float) -> tuple[int, float]:
    """Rank k of the Walsh averages that bound the interval (1 = widest), and the level attained."""
    tail = (1 - level) / 2
    mass = np.zeros(n * (n + 1) // 2 + 1)
    mass[0] = 1.0
    for weight in range(1, n + 1):  # each rank counts or not with probability ½
        shifted = np.zeros_like(mass)
        shifted[weight:] = mass[:-weight]
        mass = (mass + shifted) / 2
    below = np.cumsum(mass)
    rank = max(1, int(np.searchsorted(below, tail * (1 + 1e-12), side="right")))
    return rank, float(1 - 2 * below[rank - 1])
