# SPDX-License-Identifier: Apache-2.0
"""A shift between two kinds of launches that is the same in every case, tested within cases."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special  # type: ignore[import-untyped]

#: Least launches of either kind, in cases that have both.
LEAST_OF_EACH = 5
#: Launches of a block from which on its common part is taken off.
_LEAST_IN_BLOCK = 5


@dataclass(frozen=True, slots=True)
class Shift:
    """By how much the values of one kind are above those of the other, with its 95 % interval;
    an end without a bound is infinite. `n` and `others` count the launches of both in the `cases`
    that have both, `p` is two-sided."""

    value: float
    low: float
    high: float
    p: float
    n: int
    others: int
    cases: int


def stratified_shift(
    cases: NDArray[np.int64],
    blocks: NDArray[np.int64],
    values: NDArray[np.float64],
    marked: NDArray[np.bool_],
) -> Shift | None:
    """The shift of the `marked` values, one a launch; None below LEAST_OF_EACH of either kind, and
    where no shift levels the two, as when the marks go with the block.

    Cases are compared within themselves, after the median of what a block's launches have in
    common is taken off: the rank-sum test with strata [van Elteren, Bull. Inst. Int. Statist. 37
    (1960) 351], each case weighing 1/(N + 1). Estimate and interval are the shifts at which its
    statistic is 0 and ±1.96 [Hodges and Lehmann, Ann. Math. Statist. 34 (1963) 598]. Where marks
    were drawn independently of everything else the test holds for any distribution of values.
    """
    both = comparable(cases, marked)
    strata = np.unique_inverse(cases[both])[1]
    n, others = int(marked[both].sum()), int((~marked[both]).sum())
    if min(n, others) < LEAST_OF_EACH:
        return None

    def z(shift: float) -> float:
        # What blocks have in common is known only without the shift.
        aligned = _aligned(cases, blocks, np.where(marked, values - shift, values))
        return _statistic(strata, aligned[both], marked[both])

    from scipy import optimize  # slow: SciPy, seldom needed

    reach = float(np.ptp(values)) + 1e-9
    limit = float(special.ndtri(0.975))
    most, least = z(-reach), z(reach)
    if not most > 0 > least:
        return None
    value, low, high = (
        float(optimize.brentq(lambda s, at=at: z(s) - at, -reach, reach, xtol=1e-7))
        if most > at > least
        else (-np.inf if at > 0 else np.inf)
        for at in (0.0, limit, -limit)
    )
    p = 2 * float(special.ndtr(-abs(z(0.0))))
    return Shift(value, low, high, p, n, others, len(np.unique(strata)))


def comparable(cases: NDArray[np.int64], marked: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The launches of the cases that have both kinds."""
    return np.isin(cases, np.intersect1d(cases[marked], cases[~marked]))


def _aligned(
    cases: NDArray[np.int64], blocks: NDArray[np.int64], values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Values without their case's median, then without their block's where it has enough."""
    values = values - _medians(cases, values)
    found, places, counts = np.unique(blocks, return_inverse=True, return_counts=True)
    common = np.where((counts >= _LEAST_IN_BLOCK)[places], _medians(blocks, values), 0.0)
    return values - common if len(found) > 1 else values


def _medians(groups: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each value the median of its group."""
    _, places, counts = np.unique(groups, return_inverse=True, return_counts=True)
    order = np.lexsort((values, places))
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    ranked = values[order]
    middle = (ranked[first + (counts - 1) // 2] + ranked[first + counts // 2]) / 2
    return np.asarray(middle[places])


def _statistic(
    cases: NDArray[np.int64], values: NDArray[np.float64], marked: NDArray[np.bool_]
) -> float:
    """Van Elteren's standardised statistic; ties have their mean rank."""
    from scipy import stats  # slow: SciPy, seldom needed

    counts = np.bincount(cases)
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    # Cases are shifted apart, so that one ranking of all gives the ranks within each.
    reach = float(np.ptp(values)) + 1.0
    ranks = stats.rankdata(values + cases * 2 * reach) - first[cases]
    n = np.bincount(cases, weights=marked)
    sums = np.bincount(cases, weights=ranks * marked)
    middle = (counts + 1) / 2
    spread = np.bincount(cases, weights=(ranks - middle[cases]) ** 2)
    variance = n * (counts - n) / (counts * np.maximum(counts - 1, 1)) * spread
    weight = 1 / (counts + 1)
    total = float((weight**2 * variance).sum())
    return float((weight * (sums - n * middle)).sum()) / total**0.5 if total > 0 else 0.0
