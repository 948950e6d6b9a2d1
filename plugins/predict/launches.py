# SPDX-License-Identifier: Apache-2.0
"""Certainty of a curve's lines and breaks: launches resampled, lack of fit tested.

The unit is the launch: all sizes of one share its luck. So whole blocks are drawn with replacement,
and medians, lines and breaks are made again from what was drawn.
"""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from plugins.predict.parts import best_edges, costs_of_parts, line_of
from plugins.predict.point_to_point import Line, Segmentation, supported
from reports.statistics.descriptive import LEVEL, Interval, Matrix, Vector

#: Fewer launches give no interval: the least and the greatest of four hold the median in 87.5 %.
LEAST_LAUNCHES = 5
#: Fewer complete launches do not tell scatter from misfit.
LEAST_TESTED = 3
RESAMPLES = 999
#: Resamples in which breaks are searched anew; over more sizes fewer, for the time it takes.
SEARCHES = 200
MOST_SEARCHED_SIZES = 200


def with_launches(
    chosen: Segmentation, sizes: list[int], launches: Matrix, seed: int = 1
) -> Segmentation:
    """`chosen` with intervals of lines and breaks, and the lines' lack of fit.

    `launches` are times, a row a size and a column a block, NaN where a launch is missing; at least
    one in each row. Intervals are expanded percentiles: tails Φ(−t(0.975; n − 1)·√(n/(n − 1)))
    instead of 2.5 % [Hesterberg, The American Statistician 69 (2015) 371], n the fewest launches of
    a size; breaks are searched anew in each resample, lines within the segments chosen.
    """
    m = np.asarray(sizes, dtype=np.float64)
    edges = np.cumsum([0, *(line.points for line in chosen.segments)]).tolist()
    parts = list(pairwise(edges))
    lines = [
        replace(line, lack_of_fit=lack_of_fit(line, m[low:high], launches[low:high]))
        for line, (low, high) in zip(chosen.segments, parts, strict=True)
    ]
    n = fewest_launches(launches)
    if n >= LEAST_LAUNCHES:
        medians = resampled_medians(launches, seed)
        tail = float(special.ndtr(-special.stdtrit(n - 1, 0.975) * math.sqrt(n / (n - 1))))
        lines = [
            _with_intervals(line, m[low:high], medians[:, low:high], tail, n)
            for line, (low, high) in zip(lines, parts, strict=True)
        ]
        if chosen.breaks:
            searches = round(SEARCHES * min(1.0, (MOST_SEARCHED_SIZES / len(m)) ** 2))
            found = [
                best_edges(costs_of_parts(m, times), len(lines))[-1][1:-1]
                for times in medians[:searches]
            ]
            chosen = supported(chosen, m, np.array(found, dtype=np.int64), tail)
    return replace(chosen, segments=tuple(lines))


def fewest_launches(launches: Matrix) -> int:
    """The launches of the size that has the fewest."""
    return int((~np.isnan(launches)).sum(axis=1).min())


def lack_of_fit(line: Line, sizes: Vector, launches: Matrix) -> float | None:
    """The p of the test that the launches' times follow the line; None below three launches.

    Residuals ln(t/f) of the complete launches, projected to where no change of α and β leads, have
    mean 0 if the line holds; a launch that is slower as a whole drops out. F = n·Σ w̄²/Σ s², with
    Huynh and Feldt's ε for sizes that scatter differently or together [Journal of Educational
    Statistics 1 (1976) 69]: the test of a profile in repeated measures.
    """
    complete = launches[:, ~np.isnan(launches).any(axis=0)]
    n = complete.shape[1]
    fitted = line.alpha_s + line.beta_s_per_byte * sizes
    active = [
        column
        for column, value in ((1 / fitted, line.alpha_s), (sizes / fitted, line.beta_s_per_byte))
        if value > 0 and column.any()
    ]
    if n < LEAST_TESTED or not (fitted > 0).all() or len(sizes) <= len(active):
        return None
    basis, _ = np.linalg.qr(np.column_stack(active), mode="complete")
    left = basis[:, len(active) :].T @ np.log(complete / fitted[:, np.newaxis])
    q = len(left)
    covariance = np.atleast_2d(np.cov(left))
    scatter, squares = float(np.trace(covariance)), float(n * (left.mean(axis=1) ** 2).sum())
    least = q * (1e-9) ** 2  # times are printed with nine digits: less is rounding
    if squares <= n * least:
        return 1.0
    if scatter <= least:
        return 0.0
    low = scatter**2 / (q * float((covariance**2).sum()))
    room = q * (n - 1 - q * low)
    epsilon = min(1.0, max(low, (n * q * low - 2) / room if room > 0 else 1.0))
    return float(special.fdtrc(epsilon * q, epsilon * (n - 1) * q, squares / scatter))


def resampled_medians(launches: Matrix, seed: int) -> Matrix:
    """Medians of resampled blocks, a row a resample; the own median where no launch was drawn."""
    blocks = launches.shape[1]
    drawn = np.random.default_rng(seed).integers(0, blocks, (RESAMPLES, blocks))
    medians, every = np.empty((RESAMPLES, len(launches))), np.arange(RESAMPLES)
    for place, row in enumerate(launches):
        times = np.sort(row[drawn], axis=1)  # NaN last
        counts = (~np.isnan(times)).sum(axis=1)
        middle = (times[every, (counts - 1) // 2] + times[every, counts // 2]) / 2
        medians[:, place] = np.where(counts > 0, middle, np.nanmedian(row))
    return medians


def _with_intervals(line: Line, sizes: Vector, medians: Matrix, tail: float, n: int) -> Line:
    """The line with what α, R∞ and n½ are in all but `tail` of the resamples at either end."""
    alpha, beta = line_of(sizes, medians)
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = 1 / beta
        half = np.where(beta > 0, alpha / beta, np.inf)
    level = min(LEVEL, 1 - 0.5 ** (n - 1))

    def interval(values: Vector) -> Interval:
        low, high = np.quantile(values, [tail, 1 - tail], method="inverted_cdf").tolist()
        return Interval(low, high, level, "expanded percentiles of resampled launches")

    return replace(
        line, alpha=interval(alpha), bandwidth=interval(rate), half_length=interval(half)
    )
