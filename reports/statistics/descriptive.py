# SPDX-License-Identifier: Apache-2.0
"""Statistics of launches, their order in time, limits of proportions, ratios of environments over
blocks: sequences in, structs out.

One value is one launch of a case (its unit of replication), so n counts launches. Everything is
computed for many cases at once (rows of a matrix); `summarise` is the same code for one row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import repeat
from math import comb, isfinite
from typing import Annotated, Any

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special  # type: ignore[import-untyped]

from records.forms import key

LEVEL = 0.95
OUTLIER_LIMIT = 3.5
OUTLIER_LEAST_N = 7
#: Standard deviations in a median absolute deviation of a normal distribution.
MAD = 1.4826

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


class Interval(msgspec.Struct, frozen=True, gc=False):
    """`low` and `high` in the unit of the values; `level` is the level really attained."""

    low: Annotated[float, key("Lower end.")]
    high: Annotated[float, key("Upper end.")]
    level: Annotated[float, key("Its level: 0.95, or what the number of launches allows.")]
    method: Annotated[str, key("The method by which it was computed.")]

    def inverse(self) -> Interval:
        """The interval of 1/x for x > 0."""
        return Interval(1 / self.high, 1 / self.low, self.level, self.method)


class Summary(msgspec.Struct, frozen=True, gc=False):
    """n launches of one metric. None: not defined at this n (s from 2, median interval from 5).

    `outliers` are the positions of flagged values; they are never removed.
    """

    n: int
    mean: float
    stddev: float | None
    cv: float | None
    median: float
    mean_interval: Interval | None
    median_interval: Interval | None
    least: float
    greatest: float
    outliers: tuple[int, ...]


def summarise(values: Sequence[float]) -> Summary:
    """Summary of one sequence of n >= 1 finite values."""
    row = np.asarray(values, dtype=np.float64)
    if row.ndim != 1 or row.size == 0:
        raise ValueError("a summary needs at least one value")
    return summarise_rows(row[np.newaxis, :])[0]


def summarise_rows(matrix: Matrix) -> list[Summary]:
    """Summaries of the rows of `matrix`, shape (cases, n), n >= 1, finite values.

    mean = Σx/n; s = √(Σ(x−mean)²/(n−1)), ddof 1, from n = 2 on; CV = s/|mean|, none at mean 0.
    Rows are scaled by their greatest magnitude first: equal values give s = 0 exactly, and
    nothing overflows.
    """
    n = matrix.shape[1]
    scale = np.abs(matrix).max(axis=1)
    scale[scale == 0.0] = 1.0
    ordered = np.sort(matrix / scale[:, np.newaxis], axis=1)
    mean = ordered.mean(axis=1)
    stddev = ordered.std(axis=1, ddof=1) if n > 1 else np.full(len(mean), np.nan)
    stddev[ordered[:, 0] == ordered[:, -1]] = 0.0 if n > 1 else np.nan
    half_width = mean_half_width(n) * stddev if n > 1 else stddev
    with np.errstate(divide="ignore", invalid="ignore"):
        cv = stddev / np.abs(mean)
    intervals = _intervals((mean - half_width) * scale, (mean + half_width) * scale, LEVEL, "t")
    columns: tuple[Iterable[Any], ...] = (
        repeat(n),
        (mean * scale).tolist(),
        (stddev * scale).tolist() if n > 1 else repeat(None),
        [value if isfinite(value) else None for value in cv.tolist()],
        (np.median(ordered, axis=1) * scale).tolist(),
        intervals if n > 1 else repeat(None),
        median_intervals(ordered * scale[:, np.newaxis]),
        (ordered[:, 0] * scale).tolist(),
        (ordered[:, -1] * scale).tolist(),
        outlier_positions(matrix),
    )
    return list(map(Summary, *columns))


def _intervals(
    low: NDArray[np.float64], high: NDArray[np.float64], level: float, method: str
) -> list[Interval]:
    return list(map(Interval, low.tolist(), high.tolist(), repeat(level), repeat(method)))


@lru_cache(maxsize=256)
def mean_half_width(n: int, level: float = LEVEL) -> float:
    """t(1−α/2; n−1)/√n, the half width of the mean's interval in units of s.

    Student's interval, mean ± t·s/√n: assumes independent launches and a near normal mean.
    It keeps 93–97 % for log-normal launches up to a CV of 25 %; beyond, it covers less (89 % at
    CV 75 % and n = 7) and the median's interval is the one to read (`bench_statistics`).
    Least n: 2.
    """
    return float(special.stdtrit(n - 1, 0.5 + level / 2) / np.sqrt(n))


@lru_cache(maxsize=256)
def median_weights(n: int) -> tuple[int, float, float, str] | None:
    """Rank j, weight w, level and method of the median's interval; None below n = 5 at 95 %.

    j is the greatest with g(j) = 1 − 2·P(Bin(n, ½) <= j−1) >= level: x(j), x(n+1−j) hold for any
    distribution of independent launches [Hoefler & Belli, SC15; Le Boudec, Performance Evaluation].
    The ends are (1−w)·x(j) + w·x(j+1) and its mirror image: from n = 6 on, w interpolates between
    g(j) and g(j+1), I = (g(j) − level)/(g(j) − g(j+1)), w = (n−j)·I / (j + (n−2j)·I), where whole
    ranks alone would cover 98.4 % at n = 7 [Hettmansperger & Sheather 1986; Nyblom 1992]. At n = 5
    the widest interval, least to greatest, has 93.75 % and is given at that level.
    """
    tail = (1 - LEVEL) / 2
    below = special.bdtr(np.arange(n), n, 0.5)
    rank = int(np.searchsorted(below, tail * (1 + 1e-12), side="right"))
    if rank < 1:
        widest = 1 - 2 * 0.5**n
        return (1, 0.0, widest, "order statistics") if widest >= LEVEL - 0.02 else None
    attained, beyond = float(1 - 2 * below[rank - 1]), float(1 - 2 * special.bdtr(rank, n, 0.5))
    share = (attained - LEVEL) / (attained - beyond)
    weight = (n - rank) * share / (rank + (n - 2 * rank) * share)
    return rank, weight, LEVEL, "interpolated order statistics"


def median_intervals(ordered: Matrix) -> list[Interval | None]:
    """Interval of the median of each row by `median_weights`; rows ascending."""
    n = ordered.shape[1]
    found = median_weights(n)
    if found is None:
        return [None] * len(ordered)
    rank, weight, level, method = found
    inner = min(rank, n - 1)
    low = (1 - weight) * ordered[:, rank - 1] + weight * ordered[:, inner]
    high = (1 - weight) * ordered[:, n - rank] + weight * ordered[:, n - 1 - inner]
    return [*_intervals(low, high, level, method)]


def outlier_positions(matrix: Matrix) -> list[tuple[int, ...]]:
    """Positions with |modified z| > 3.5, per row; from n = 7 on (below, MAD is so
    uncertain that a fifth of good cases would be marked; a sixth still are at n = 7).

    z = 0.6745·(x − median)/MAD; where MAD = 0 (more than half the values equal) the mean
    absolute deviation is used: z = (x − median)/(1.253314·meanAD); where that is 0 too
    all values are equal and none is flagged [Iglewicz & Hoaglin 1993].
    """
    flagged: list[tuple[int, ...]] = [()] * len(matrix)
    if matrix.shape[1] < OUTLIER_LEAST_N:
        return flagged
    size = np.abs(matrix - np.median(matrix, axis=1, keepdims=True))
    spread = np.median(size, axis=1) / 0.6745
    spread = np.where(spread == 0, 1.253314 * size.mean(axis=1), spread)
    far = size > OUTLIER_LIMIT * spread[:, np.newaxis]
    for row, position in np.argwhere(far).tolist():
        flagged[row] = (*flagged[row], position)
    return flagged


def log_ratio_interval(a: Sequence[float], b: Sequence[float]) -> tuple[float, Interval] | None:
    """Ratio b/a of geometric means of two independent sets of launches, with its interval.

    exp(mean ln b − mean ln a ± t·√(s_a²/n_a + s_b²/n_b)), Welch–Satterthwaite degrees of freedom.
    Assumes independent launches and near normal logarithms. Never narrower than the grid of the
    values: ties are no small variance. Least n: 2 each; None below, or when a value is not above 0.
    """
    if min(len(a), len(b)) < 2 or min(*a, *b) <= 0:
        return None
    first, second = np.log(a), np.log(b)
    parts = np.array([first.var(ddof=1) / len(a), second.var(ddof=1) / len(b)])
    difference = float(second.mean() - first.mean())
    variance = float(parts.sum())
    freedom = (
        variance**2 / float((parts**2 / [len(a) - 1, len(b) - 1]).sum()) if variance > 0 else 1.0
    )
    half = float(special.stdtrit(freedom, 0.5 + LEVEL / 2)) * variance**0.5
    half = max(half, (1 + 1e-9) * gap(np.concatenate([first, second])))
    low, high = np.exp([difference - half, difference + half]).tolist()
    return float(np.exp(difference)), Interval(low, high, LEVEL, "Welch t of logarithms")


def clopper_pearson(count: int, n: int) -> Interval:
    """Exact limits of a probability after `count` events in n >= 1 independent trials.

    Low: P(X >= count) = α/2, 0 at count 0; high: P(X <= count) = α/2, 1 at count n, by quantiles of
    the beta distribution [Clopper & Pearson, Biometrika 26 (1934) 404]. Covers at least LEVEL.
    """
    tail = (1 - LEVEL) / 2
    low = float(special.betaincinv(count, n - count + 1, tail)) if count else 0.0
    high = float(special.betaincinv(count + 1, n - count, 1 - tail)) if count < n else 1.0
    return Interval(low, high, LEVEL, "Clopper–Pearson")


def fisher_greater(count: int, n: int, other: int, m: int) -> float:
    """Chance of at least `count` events in n trials, and the rest of all count + other in m more,
    if both have one probability: Fisher's exact test, one-sided [Fisher 1935]."""
    events = count + other
    ways = sum(comb(n, k) * comb(m, events - k) for k in range(count, min(n, events) + 1))
    return ways / comb(n + m, events)


#: Values closer than this, relative to their size, are one value; the rest is rounding.
_ALIKE = 1e-12


def grids(rows: Matrix) -> NDArray[np.float64]:
    """Of each row the smallest gap between two values that differ; where none do, the value
    itself; inf where that is zero."""
    greatest = np.abs(rows).max(axis=1)
    gaps = np.diff(np.sort(rows, axis=1), axis=1)
    alike = gaps <= _ALIKE * (1 + greatest[:, np.newaxis])
    least = np.where(alike, np.inf, gaps).min(axis=1)
    known = np.where(greatest > _ALIKE, greatest, np.inf)
    return np.asarray(np.where(np.isfinite(least), least, known))


def gap(values: NDArray[np.float64]) -> float:
    """The smallest gap of two values that differ; 0 where none do."""
    if np.ptp(values) <= _ALIKE * (1 + np.abs(values).max()):
        return 0.0
    return float(grids(values[np.newaxis, :])[0])


_PERMUTATIONS = 999
#: Blocks below which rows show no correlation.
LEAST_BLOCKS = 6


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
