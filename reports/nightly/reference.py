# SPDX-License-Identifier: Apache-2.0
"""Stage A: what tonight may be, from the nights before it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats  # type: ignore[import-untyped]

from reports.nightly.rules import Rules

Matrix = NDArray[np.float64]
Mask = NDArray[np.bool_]
Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class References:
    """For each series: nights in the reference, their median and spread (unit of the values).

    The spread is max(1.4826·MAD, 0.2 % of the median) from 10 nights on, the standard deviation
    (ddof 1) below. NaN where there is no night.
    """

    n: Counts
    median: Matrix
    spread: Matrix


def last_nights(chosen: Mask, most: int) -> Mask:
    """Of the chosen nights (shape series × nights) the last `most` of each series."""
    from_the_end = np.cumsum(chosen[:, ::-1], axis=1)[:, ::-1]
    return chosen & (from_the_end <= most)


def references(values: Matrix, chosen: Mask, rules: Rules) -> References:
    """The reference of each series: `values`, shape (series, nights), where `chosen`."""
    kept = np.where(chosen, values, np.nan)
    n = np.isfinite(kept).sum(axis=1)
    some = n > 0
    median, mad, deviation = (np.full(len(n), np.nan) for _ in range(3))
    if some.any():
        rows = kept[some]
        median[some] = np.nanmedian(rows, axis=1)
        mad[some] = np.nanmedian(np.abs(rows - median[some, np.newaxis]), axis=1)
        deviation[some] = _standard_deviation(rows)
    robust = np.maximum(1.4826 * mad, rules.least_spread * np.abs(median))
    early = np.maximum(deviation, rules.least_spread * np.abs(median))
    return References(n, median, np.where(n >= rules.robust_from, robust, early))


def _standard_deviation(rows: Matrix) -> Matrix:
    n = np.isfinite(rows).sum(axis=1)
    centred = rows - np.nanmean(rows, axis=1, keepdims=True)
    squares = np.nansum(centred**2, axis=1)
    deviation: Matrix = np.sqrt(squares / np.maximum(n - 1, 1))
    return deviation


def limits(found: References, floors: Matrix, level: float, least_factor: float = 0.0) -> Matrix:
    """How far from its reference a night may be, as a fraction of the median; NaN: not judged.

    max(floor, s/median · √((n+1)/n) · √F⁻¹(level; 1, n−1)): the prediction interval of one further
    night, √F(level; 1, n−1) = t((1+level)/2; n−1). Least n: 2. The factor of s is at least
    `least_factor`.
    """
    n = np.maximum(found.n, 2)
    factor = np.sqrt((n + 1) / n) * stats.t.ppf((1 + level) / 2, n - 1)
    factor = np.maximum(factor, least_factor)
    with np.errstate(invalid="ignore", divide="ignore"):
        relative = found.spread / np.abs(found.median)
    usable = (found.n >= 2) & np.isfinite(relative) & (found.median > 0)
    return np.where(usable, np.maximum(floors, relative * factor), np.nan)


def worsening(values: Matrix, found: References, direction: Matrix) -> Matrix:
    """(value − median)/median with the sign that makes worse positive.

    `direction` is +1 where less is better, −1 where more is.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        return direction * (values - found.median) / np.abs(found.median)
