# SPDX-License-Identifier: Apache-2.0
"""Bounds of a median and of a coefficient of variation, one-sided, and the verdict they give.

A verdict never rests on a point: PASS if the whole bound is inside the limit, FAIL if it is
outside, else INCONCLUSIVE. SUSPECT: outside, and it fails unless a re-run clears it.
"""

from collections.abc import Sequence
from functools import lru_cache
from statistics import median
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special  # type: ignore[import-untyped]

from records.criteria import Criteria
from records.forms import Part, key
from reports.statistics.descriptive import Matrix
from reports.statistics.max_t import spent_share

Flags = NDArray[np.bool_]
Verdict = Literal["PASS", "INCONCLUSIVE", "SUSPECT", "FAIL"]

#: From best to worst.
ORDER: tuple[Verdict, ...] = ("PASS", "INCONCLUSIVE", "SUSPECT", "FAIL")
#: Launches of an exponential distribution that count with those seen, and its kurtosis.
HEAVY = (5, 9.0)
#: Method of bounds of a spread that hold for heavy tails; they hold for AR(1) launches too.
HEAVY_TAILED = "heavy-tailed"

#: (at_least, at_most)
Limits = tuple[float | None, float | None]


class Bounds(Part, rename={"centre": "median", "method": "bound"}):
    """A value with its bounds, in its unit: each is one-sided, at `level` or above."""

    n: Annotated[int, key("Launches.")]
    centre: Annotated[float, key("The centre.")]
    low: Annotated[float | None, key("Lower bound; null: n is too small for any.")]
    high: Annotated[float | None, key("Upper bound.")]
    level: Annotated[float, key("The level of each bound, one-sided.")]
    method: Annotated[str, key("Method that made them.")]


def median_bounds(values: Sequence[float], confidence: float, least_n: int = 2) -> Bounds:
    """Bounds of the median, one-sided, of n >= 1 launches; none below `least_n`.

    Order statistics x(j) and x(n+1−j) with the greatest j for which P(Bin(n, ½) <= j−1) <=
    1 − confidence: they hold for whatever distribution the launches have [Le Boudec, Performance
    Evaluation, §2.2]. At 95 % that is the least and the greatest value for n = 5 to 7, x(2) for
    n = 8 to 10. Where no such j exists (n < 5) Student's one-sided bound of the mean stands in,
    from n = 2 on; it assumes near normal launches.
    """
    n, centre = len(values), float(median(values))
    if n < max(least_n, 2):
        return Bounds(n, centre, None, None, confidence, "none")
    low, high = row_bounds(np.array([values], dtype=np.float64), confidence, least_n)[:, 0].tolist()
    rank = bound_rank(n, confidence)
    level, method = (rank[1], "order") if rank else (confidence, "t")
    return Bounds(n, centre, low, high, level, method)


@lru_cache(maxsize=512)
def bound_rank(n: int, confidence: float) -> tuple[int, float] | None:
    """The rank j of a median's one-sided bound, and the level it attains; None if n is too low."""
    below = special.bdtr(np.arange(n), n, 0.5)
    rank = int(np.searchsorted(below, (1 - confidence) * (1 + 1e-12), side="right"))
    return (rank, float(1 - below[rank - 1])) if rank >= 1 else None


def spread_bounds(values: Sequence[float], confidence: float, least_n: int = 2) -> Bounds:
    """Bounds of the coefficient of variation, one-sided, from n = 2 or `least_n` on.

    CV·√(k/χ²(confidence; k)) and CV·√(k/χ²(1−confidence; k)): the interval of σ over the mean, for
    a CV below a third [Vangel, The American Statistician 50 (1996)]. Of launches with kurtosis κ
    s² has k = 2(n−1)/(κ−1) degrees of freedom [Box, Biometrika 40 (1953) 318], n − 1 at most. So
    few show no tail, so κ counts HEAVY more of the exponential distribution. Equal values give 0.
    """
    array = np.asarray(values, dtype=np.float64)
    n, cv = len(array), 0.0
    freedom = float(n - 1)
    if n >= 2 and array.min() != array.max():
        cv = float(array.std(ddof=1) / abs(array.mean())) if array.mean() else float("inf")
        away = (array - array.mean()) ** 2
        kurtosis = n * float((away**2).sum() / away.sum() ** 2)
        kurtosis = (n * kurtosis + HEAVY[0] * HEAVY[1]) / (n + HEAVY[0])
        freedom = min(freedom, 2 * freedom / (kurtosis - 1))
    if n < max(least_n, 2):
        return Bounds(n, cv, None, None, confidence, "none")
    low, high = spread_factors(freedom, confidence)
    return Bounds(n, cv, cv * low, cv * high, confidence, HEAVY_TAILED)


@lru_cache(maxsize=512)
def spread_factors(freedom: float, confidence: float) -> tuple[float, float]:
    """√(k/χ²) at the two ends, with k degrees of freedom; χ²(p; k) = 2·P⁻¹(k/2, p)."""
    ends = np.array([confidence, 1 - confidence])
    low, high = np.sqrt(freedom / (2 * special.gammaincinv(freedom / 2, ends))).tolist()
    return low, high


def decide(
    bounds: Bounds,
    at_least: float | None,
    at_most: float | None,
    least_n: int,
    counted: str = "launches",
) -> tuple[Verdict, str]:
    """The verdict, and why it is INCONCLUSIVE (else ""); `counted` is the noun of n."""
    if bounds.low is None or bounds.high is None or bounds.n < least_n:
        return "INCONCLUSIVE", f"n = {bounds.n}; a verdict needs {least_n} {counted}"
    if (at_least is not None and bounds.high < at_least) or (
        at_most is not None and bounds.low > at_most
    ):
        return "FAIL", ""
    if (at_least is None or bounds.low >= at_least) and (at_most is None or bounds.high <= at_most):
        return "PASS", ""
    return "INCONCLUSIVE", f"at n = {bounds.n} the limit lies inside the bounds"


def decided(bounds: Matrix, limits: Limits) -> tuple[Flags, Flags]:
    """`decide` of many bounds, the lower ones and the upper ones, NaN where there are none: those
    that pass, those that fail."""
    (low, high), (least, most) = bounds, limits
    passes, fails = np.isfinite(low), np.zeros(len(low), dtype=bool)
    if least is not None:
        passes, fails = passes & (low >= least), fails | (high < least)
    if most is not None:
        passes, fails = passes & (high <= most), fails | (low > most)
    return passes, fails


def worst(verdicts: Sequence[Verdict]) -> Verdict:
    """The worst of them; PASS when there is none."""
    return max(verdicts, key=ORDER.index, default="PASS")


def row_bounds(values: Matrix, confidence: float, least_n: int) -> Matrix:
    """`median_bounds` of each row of `values`, a launch a column: the lower ones, the upper ones;
    NaN where there is none."""
    counts = np.isfinite(values).sum(axis=1)
    ordered = np.sort(values, axis=1)  # NaN last
    low, high = found = np.full((2, len(values)), np.nan)
    for n in np.unique(counts[counts >= max(least_n, 2)]).tolist():
        rows, rank = counts == n, bound_rank(n, confidence)
        mine = ordered[rows, :n]
        if rank is None:
            reach = special.stdtrit(n - 1, confidence) * mine.std(axis=1, ddof=1) / np.sqrt(n)
            low[rows], high[rows] = mine.mean(axis=1) - reach, mine.mean(axis=1) + reach
        else:
            low[rows], high[rows] = mine[:, rank[0] - 1], mine[:, n - rank[0]]
    return found


def level_of_look(criteria: Criteria, first: int, n: int) -> float:
    """The level of bounds of n launches, `first` of them before any re-run.

    Where the confidence is of all judgements together, each has the error that is spent between it
    and the one before, so that by Bonferroni's inequality no more than 1 − confidence is spent in
    all, whenever it ends [Lan & DeMets, Biometrika 70 (1983) 659].
    """
    if criteria.confidence_of == "judgement":
        return criteria.confidence
    more = criteria.rerun_blocks
    last = first + criteria.reruns_at_most * more
    look = min(max(0, -(-(n - first) // more)), criteria.reruns_at_most)
    ends = (first + (look - 1) * more if look else 0, first + look * more)
    before, now = (spent_share(end / last) for end in ends)
    return 1 - (1 - criteria.confidence) * (now - before)
