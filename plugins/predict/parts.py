# SPDX-License-Identifier: Apache-2.0
"""The search for the best straight lines over consecutive parts of a curve.

Dynamic programming over breaks (R. Bellman and R. Roth, J. Am. Stat. Assoc. 64, 1969): for each
number of parts, the edges with the least sum of squares of relative residuals.
"""

import numpy as np
from numpy.typing import NDArray

from reports.statistics.descriptive import Vector

#: A part of fewer points is not fitted.
LEAST_POINTS = 4
MOST_PARTS = 6


def solve(
    xx: Vector, xy: Vector, yy: Vector, x: Vector, y: Vector, *, free: bool
) -> tuple[Vector, Vector]:
    """α and β that make Σ(1 − α·x − β·y)² least, x = 1/t, y = m/t, from the sums of many fits.

    β ≥ 0 always; α ≥ 0 unless it is `free`.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        determinant = xx * yy - xy * xy
        alpha = (x * yy - y * xy) / determinant
        beta = (xx * y - xy * x) / determinant
        only_beta = np.where(yy > 0, y / yy, 0.0)
        only_alpha = x / xx
    no_beta = ~(beta >= 0)
    no_alpha = ~no_beta & ~(alpha >= 0) & (not free)
    alpha = np.where(no_alpha, 0.0, np.where(no_beta, only_alpha, alpha))
    beta = np.where(no_alpha, only_beta, np.where(no_beta, 0.0, beta))
    return alpha, beta


def line_of(m: Vector, t: Vector, *, free: bool = False) -> tuple[Vector, Vector]:
    """α and β that make Σ((t − α − β·m)/t)² least, for each row of times `t` at sizes `m`."""
    x, y = 1 / t, m / t
    sums = ((x * x).sum(1), (x * y).sum(1), (y * y).sum(1), x.sum(1), y.sum(1))
    return solve(*sums, free=free)


def costs_of_parts(m: Vector, t: Vector) -> Vector:
    """Σ((t − f)/t)² of the best line over sizes low … high−1, at [low, high]; inf where too few.

    α is free here: above a bend a line may well meet the axis below 0, and one held at 0 would be
    cut into pieces with steps between them.
    """
    n = len(m)
    scaled, unit = m / max(m[-1], 1.0), np.median(t)
    x, y = unit / t, scaled * unit / t
    totals = [np.concatenate([[0.0], np.cumsum(part)]) for part in (x * x, x * y, y * y, x, y)]
    low, high = np.triu_indices(n + 1, LEAST_POINTS)
    xx, xy, yy, sx, sy = (total[high] - total[low] for total in totals)
    alpha, beta = solve(xx, xy, yy, sx, sy, free=True)
    explained = 2 * (alpha * sx + beta * sy)
    squares = alpha**2 * xx + 2 * alpha * beta * xy + beta**2 * yy
    costs = np.full((n + 1, n + 1), np.inf)
    costs[low, high] = np.maximum((high - low) - explained + squares, 0.0)
    return costs


def best_edges(costs: Vector, most: int = MOST_PARTS) -> list[list[int]]:
    """For 1, 2, … parts, at most `most`: the edges 0, …, n with the least sum of costs."""
    n = len(costs) - 1
    best = costs[0].copy()
    back: list[NDArray[np.int64]] = []
    result = [[0, n]]
    for _ in range(2, min(most, n // LEAST_POINTS) + 1):
        through = best[:, np.newaxis] + costs
        back.append(np.argmin(through, axis=0))
        best = np.min(through, axis=0)
        edges = [n]
        for step in reversed(back):
            edges.append(int(step[edges[-1]]))
        result.append([0, *reversed(edges)])
    return result
