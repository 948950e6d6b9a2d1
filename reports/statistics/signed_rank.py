# SPDX-License-Identifier: Apache-2.0
"""Rank tests: environments over blocks, a shift between two kinds of launches within cases.

For each block d = ln(A/B). Rows of a matrix are cells, columns are blocks.

SciPy's exact p of `wilcoxon` does not hold with ties, and it has no Holm.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import repeat

import msgspec
import numpy as np
from numpy.typing import NDArray

from reports.statistics.descriptive import LEVEL, Interval, Matrix, grids

LEAST_N = 3
_CHUNK = 2_000_000


class PairedEffect(msgspec.Struct, frozen=True, gc=False):
    """The ratio A/B over n blocks: exp of the Hodges–Lehmann estimate.

    `interval` is the narrowest exact one of at least 95 %, or the widest attainable when there is
    none (n < 6; its level says so). `p` is two-sided; `log_stddev` is s of d, ddof 1.
    """

    n: int
    ratio: float
    interval: Interval
    p: float
    log_stddev: float

    @property
    def least_p(self) -> float:
        """The least two-sided p that n blocks can give: 2/2ⁿ."""
        return 2.0 ** (1 - self.n)

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
            signed_rank_p(chunk),
            chunk.std(axis=1, ddof=1).tolist(),
        )
    return effects


@lru_cache(maxsize=256)
def null_cdf(doubled_ranks: tuple[int, ...]) -> NDArray[np.float64]:
    """P(2T <= t) for t = 0, 1, …, when each rank counts or not with probability ½.

    Ranks are doubled so that mid-ranks of ties stay integers; exact, by convolution.
    """
    mass = np.zeros(sum(doubled_ranks) + 1)
    mass[0] = 1.0
    for rank in doubled_ranks:
        shifted = np.zeros_like(mass)
        shifted[rank:] = mass[:-rank]
        mass = (mass + shifted) / 2
    return np.minimum(np.cumsum(mass), 1.0)


def _untied_cdf(n: int) -> NDArray[np.float64]:
    return null_cdf(tuple(range(2, 2 * n + 1, 2)))[::2]


@lru_cache(maxsize=256)
def least_n(alpha: float) -> int:
    """The least number of blocks whose signed-rank test can reach p <= alpha."""
    return max(LEAST_N, int(np.ceil(1 - np.log2(alpha) - 1e-9)))


@lru_cache(maxsize=512)
def interval_rank(n: int, level: float) -> tuple[int, float]:
    """Rank k of the Walsh averages that bound the interval (1 = widest), and the level attained."""
    tail = (1 - level) / 2
    below = _untied_cdf(n)
    rank = max(1, int(np.searchsorted(below, tail * (1 + 1e-12), side="right")))
    return rank, float(1 - 2 * below[rank - 1])


def signed_rank_p(differences: Matrix) -> list[float]:
    """Two-sided p of the signed-rank test for each row, exact also with ties.

    Zero differences are left out, as Wilcoxon did; a row of zeros has p = 1.
    """
    n = differences.shape[1]
    size = np.abs(differences)
    ordered = np.sort(size, axis=1)
    untied = (ordered[:, 0] > 0) & (np.diff(ordered, axis=1) > 0).all(axis=1)
    result = np.ones(len(differences))
    if untied.any():
        ranks = size[untied].argsort(axis=1).argsort(axis=1) + 1
        positive = (ranks * (differences[untied] > 0)).sum(axis=1)
        smaller = np.minimum(positive, n * (n + 1) // 2 - positive)
        result[untied] = np.minimum(2 * _untied_cdf(n)[smaller], 1.0)
    for row in np.flatnonzero(~untied):
        result[row] = tied_p(differences[row])
    return [float(p) for p in result]


def tied_p(difference: NDArray[np.float64]) -> float:
    """Two-sided p of one row by the exact distribution given its mid-ranks."""
    nonzero = difference[difference != 0]
    if nonzero.size == 0:
        return 1.0
    from scipy import stats  # type: ignore[import-untyped]  # slow, rarely needed

    doubled = np.rint(2 * stats.rankdata(np.abs(nonzero))).astype(int)
    positive = int(doubled[nonzero > 0].sum())
    smaller = min(positive, int(doubled.sum()) - positive)
    return min(1.0, 2 * float(null_cdf(tuple(sorted(doubled.tolist())))[smaller]))
