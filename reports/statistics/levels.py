# SPDX-License-Identifier: Apache-2.0
"""Levels of many short series and their noise: peers on one scale, residuals, pooled tails.

Pure functions on matrices: a peer or a series a row, a block or a night a column, NaN where there
is no value. Values of peers are logarithms, greater is better.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import pi, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy import special  # type: ignore[import-untyped]

from reports.statistics.bounds import Flags, bound_rank
from reports.statistics.descriptive import MAD, Matrix, lag_1, widening

Mask = NDArray[np.bool_]
Counts = NDArray[np.int64]

#: Power of the widening for correlated launches that bounds of peers take: the block effects that
#: are taken off them hide some of it. With it one at its limit passes in at most 8 % at AR(1) 0.7.
PEERS_WIDER = 1.3

#: Two groups lie so many robust standard deviations apart, at least. Halves of one normal
#: distribution lie 2.3 apart.
APART = 4.0
#: The good are this share of the peers at least, or better is an exception.
LEAST_SHARE = 0.05
#: Of a variance by the median of deviations, against the pooled one.
EFFICIENCY = 0.5
#: A peer passes when no more than this share of its launches miss the limit.
MOST_MISSES = 0.2
#: A segment of fewer values gives no residuals.
_LEAST_SEGMENT = 3
#: The tail begins where this share of all deviations lies, or as many as are needed for a fit.
_SHARE, _LEAST_EXCEEDING = 0.05, 30
#: Fewer pooled deviations than this tell no tail: it would begin before the 90 % quantile.
_LEAST_DEVIATIONS = 10 * _LEAST_EXCEEDING
#: Tails lighter than exponential are taken as exponential; heavier than this are cut.
_GREATEST_SHAPE = 0.5
#: The shape comes from some hundred deviations and is uncertain by 0.1, which counts where the tail
#: is heavy: without this, simulated t(3) noise gave twice the alarms allowed.
_SHAPE_MARGIN = 1.35


@dataclass(frozen=True)
class Peers:
    """Peers of one case and point.

    `logs` have the effect of each block taken off; `centres` are the rows' medians; `noise` is the
    standard deviation of one launch, pooled over the peers, with `freedom` degrees; bounds are
    `wider` for the correlation of neighbouring launches.
    """

    logs: Matrix
    centres: Matrix
    counts: NDArray[np.int64]
    noise: float
    freedom: float
    wider: float = 1.0

    @property
    def errors(self) -> Matrix:
        """Standard error of each centre: √(π/2)·noise/√n."""
        return np.asarray(sqrt(pi / 2) * self.noise / np.sqrt(np.maximum(self.counts, 1)))

    @property
    def error(self) -> float:
        """Median of these errors."""
        return float(np.median(self.errors)) if len(self.errors) else 0.0

    def top(self, gap: float) -> Top:
        """The level of the good ones, where a shortfall below `gap` is none."""
        return top_of(self.centres, gap, self.error)


def peers_of(logs: Matrix) -> Peers:
    """Block effects by median polish; noise by the median of the rows' standard deviations.

    The median over rows keeps a few noisy peers out of it.
    """
    centres, blocks = row_medians(logs), np.zeros(logs.shape[1])
    for _ in range(3 if len(logs) > 1 else 0):
        blocks = row_medians((logs - centres[:, None]).T)
        centres = row_medians(logs - blocks)
    free = logs - np.nan_to_num(blocks)
    counts = np.isfinite(free).sum(axis=1)
    deviations, freedom = deviations_of(free)
    known = freedom > 0
    noise = 0.0
    if known.any():
        noise = float(np.median(deviations[known] / typical_deviation(freedom[known])))
    filled = np.where(np.isfinite(free), free, np.nan_to_num(centres)[:, None])
    wider = float(widening(lag_1(filled).mean(), int(counts.mean()))) ** PEERS_WIDER
    freedom_of_all = max(1.0, EFFICIENCY * float(freedom.sum()))
    return Peers(free, centres, counts, noise, freedom_of_all, wider)


def deviations_of(logs: Matrix, *, shared: bool = True) -> tuple[Matrix, Matrix]:
    """Standard deviation of each row, and its degrees of freedom (0: none).

    `shared`: block effects were taken off, which leaves (n − 1)(1 − 1/k) degrees to each of k rows.
    """
    counts = np.isfinite(logs).sum(axis=1)
    freedom = np.maximum(counts - 1, 0) * (1 - 1 / len(logs) if shared and len(logs) > 1 else 1.0)
    means = np.nansum(logs, axis=1) / np.maximum(counts, 1)
    squares = np.nansum((logs - means[:, None]) ** 2, axis=1)
    return np.sqrt(squares / np.maximum(freedom, 1e-9)) * (freedom > 0), freedom


def typical_deviation(freedom: Matrix) -> Matrix:
    """The median of a sample's standard deviation over σ, by its degrees of freedom."""
    return np.asarray(np.sqrt(2 * special.gammaincinv(freedom / 2, 0.5) / freedom))


@dataclass(frozen=True)
class Top:
    """`level` of the good peers, who they are, and those that are better than they."""

    level: float
    good: Flags
    better: Flags


def top_of(centres: Matrix, gap: float, error: float, least: int | None = None) -> Top:
    """The level of the upper cluster of peers; the median of all where they are one cluster.

    Peers are cut in two where the variance between the parts is greatest [Otsu 1979]. The parts are
    two clusters when their medians differ by `gap` and by APART times the median deviation within
    (`error` at least). Then the upper one is cut again; if it has fewer than `least` peers (default
    5 % and two, one of two or three) it is an exception, and the lower one is cut again.
    """
    known = np.flatnonzero(np.isfinite(centres))
    order = known[np.argsort(centres[known], kind="stable")]
    if least is None:
        least = 1 if len(order) <= 3 else max(2, int(np.ceil(LEAST_SHARE * len(order))))
    better = np.zeros(len(centres), dtype=bool)
    while len(order) > 1:
        values = centres[order]
        place = _cut(values)
        lower, upper = np.median(values[:place]), np.median(values[place:])
        within = np.concatenate([values[:place] - lower, values[place:] - upper])
        spread = max(MAD * float(np.median(np.abs(within))), error)
        if upper - lower < max(gap, APART * spread):
            break
        if len(order) - place < least:
            better[order[place:]] = True
            order = order[:place]
        else:
            order = order[place:]
    good = np.zeros(len(centres), dtype=bool)
    good[order] = True
    level = float(np.median(centres[order])) if len(order) else float("nan")
    return Top(level, good, better)


def _cut(values: Matrix) -> int:
    """Number of the ascending values that are the lower part."""
    n = len(values)
    below = np.arange(1, n)
    sums = np.cumsum(values)[:-1]
    gaps = (values.sum() - sums) / (n - below) - sums / below
    return int(np.argmax(below * (n - below) * gaps**2)) + 1


def reach_of(peers: Peers, level: float, confidence: float) -> tuple[Matrix, Matrix]:
    """Bounds of each peer's median against `level`, one-sided: the low ones, the high ones.

    Each is the pooled bound, centre ∓ t·√(π/2)·noise/√n, and holds for the peer's own launches
    too: the low one for all but a fifth of them, the high one by order statistics [Le Boudec, §2.2]
    (from five launches on; below, for all). Both are as much wider as the peers ask for.
    """
    freedom = max(1.0, peers.freedom / peers.wider)
    quantile = float(special.stdtrit(freedom, confidence))
    centres, errors = peers.centres - level, quantile * peers.errors
    ordered = np.sort(peers.logs - level, axis=1)  # NaN last
    low, high = centres - errors, centres + errors
    for n in np.unique(peers.counts[peers.counts > 0]).tolist():
        rows = peers.counts == n
        low[rows] = np.minimum(low[rows], ordered[rows, int(MOST_MISSES * n + 1e-9)])
        found = bound_rank(n, confidence)
        rank = n - found[0] if found else n - 1
        high[rows] = np.maximum(high[rows], ordered[rows, rank])
    return centres + peers.wider * (low - centres), centres + peers.wider * (high - centres)


def scores_of(peers: Peers, top: Top) -> Matrix:
    """0.6745·deviation/MAD of each peer; the MAD of the good ones, of a centre's error at least."""
    deviations = peers.centres - top.level
    spread = MAD * float(np.median(np.abs(deviations[top.good]))) if top.good.any() else 0.0
    return np.asarray(deviations / max(spread, peers.error, 1e-12))


def row_medians(rows: Matrix) -> Matrix:
    """The median of each row, NaN left out; NaN for a row without a number.

    For 500 series and 30 or 200 nights 6 or 36 times as fast as NumPy's `nanmedian`.
    """
    if not rows.shape[1]:
        return np.full(len(rows), np.nan)
    ordered = np.sort(rows, axis=1)
    n = np.isfinite(rows).sum(axis=1)
    low, high = (ordered[np.arange(len(rows)), np.maximum(at, 0)] for at in ((n - 1) // 2, n // 2))
    medians: Matrix = np.where(n > 0, (low + np.where(n % 2, low, high)) / 2, np.nan)
    return medians


def last_of(chosen: Mask, most: int) -> Mask:
    """Of the chosen values of each row the last `most`."""
    from_the_end = np.cumsum(chosen[:, ::-1], axis=1)[:, ::-1]
    return chosen & (from_the_end <= most)


def residuals(values: Matrix, chosen: Mask, segments: Counts) -> Matrix:
    """Distance of each chosen value from the median of its own segment, as a fraction of it.

    `segments` numbers what has one level. So a level that has just begun takes its spread from the
    values before it: noise is a property of the machine, and three nights give no spread. Each
    segment of m values is widened by √(m/(m−1)), because its own median was subtracted.
    """
    away = np.full(values.shape, np.nan)
    for segment in np.unique(segments[chosen]).tolist():
        inside = chosen & (segments == segment)
        rows = np.flatnonzero(inside.sum(axis=1) >= _LEAST_SEGMENT)
        kept = np.where(inside[rows], values[rows], np.nan)
        level = row_medians(kept)[:, np.newaxis]
        m = inside[rows].sum(axis=1, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            distance = (kept / level - 1) * np.sqrt(m / (m - 1))
        away[rows] = np.where(inside[rows] & (level > 0), distance, away[rows])
    return away


def crossed_deviations(away: Matrix, parts: int, least: int, least_spread: float) -> Matrix:
    """Each residual in units of a spread that does not know it; shape (parts·rows, values).

    A row's values are dealt into `parts` in turn; each part is centred and scaled by the median and
    MAD of all others. Deviations from a spread that was taken from the same values are too small
    and hide that a spread from a few dozen is uncertain by a fifth; these do not. Rows of fewer
    than `least` values are left out.
    """
    away = away[np.isfinite(away).sum(axis=1) >= least]
    known = np.isfinite(away)
    part = np.cumsum(known, axis=1) % parts
    deviations = []
    for number in range(parts):
        mine = known & (part == number)
        others = np.where(known & ~mine, away, np.nan)
        centre = row_medians(others)[:, np.newaxis]
        spread = MAD * row_medians(np.abs(others - centre))
        scale = np.maximum(spread, least_spread)[:, np.newaxis]
        deviations.append((np.where(mine, away, np.nan) - centre) / scale)
    return np.concatenate(deviations)


def greatest_of(deviations: Matrix, rank: int) -> float:
    """The `rank`-th greatest of all deviations, not below 0; 0 without so many."""
    known = deviations[np.isfinite(deviations)]
    return max(0.0, float(np.partition(known, -rank)[-rank])) if known.size >= rank else 0.0


def fit_tail(deviations: Matrix) -> Callable[[float], float] | None:
    """The deviation that is exceeded with a given chance (the start of the tail for chances above
    its share), from pooled deviations of any shape; None when there are too few.

    Behind their 95 % quantile a generalised Pareto distribution is fitted by probability-weighted
    moments [Hosking & Wallis, Technometrics 29 (1987) 339].
    """
    known = deviations[np.isfinite(deviations)]
    if known.size < _LEAST_DEVIATIONS:
        return None
    from scipy import stats  # slow: SciPy

    start = float(np.quantile(known, 1 - max(_SHARE, _LEAST_EXCEEDING / known.size)))
    beyond = np.sort(known[known > start]) - start
    if beyond.size < _LEAST_EXCEEDING / 2:
        return None
    first = float(beyond.mean())
    weights = 1 - (np.arange(1, beyond.size + 1) - 0.35) / beyond.size
    second = float((weights * beyond).mean())
    estimate = _SHAPE_MARGIN * (2 - first / (first - 2 * second))
    shape = float(np.clip(estimate, 0.0, _GREATEST_SHAPE))
    tail = stats.genpareto(shape, start, first * (1 - shape))
    return lambda chance: float(tail.isf(min(chance * known.size / beyond.size, 1.0)))
