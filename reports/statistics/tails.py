# SPDX-License-Identifier: Apache-2.0
"""Noise of many short series (rows; NaN: no value): levels, residuals, and their pooled tail."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from reports.statistics.descriptive import MAD, Matrix

Mask = NDArray[np.bool_]
Counts = NDArray[np.int64]

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
    from scipy import stats  # type: ignore[import-untyped]  # slow: SciPy

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
