# SPDX-License-Identifier: Apache-2.0
"""How far nights stray on this site: one night alone, and several nights in a row.

Night-to-night noise is rarely normal, and the spread of a series is known from a few dozen nights
only; a limit from the normal's tail gives many times the alarms that it promises. Deviations of all
series, in units of their spread, are pooled. Behind their 95 % quantile a generalised Pareto
distribution is fitted by probability-weighted moments [Hosking & Wallis, Technometrics 29 (1987)
339], from which the quantile that keeps the budget follows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reports.statistics.descriptive import Matrix
from reports.verdicts.nightly.reference import Counts

#: The tail begins where this share of all deviations lies, or as many as are needed for a fit.
SHARE = 0.05
LEAST_EXCEEDING = 30
GREATEST_SHARE = 0.10
#: Fewer pooled deviations than this tell no tail.
LEAST_DEVIATIONS = int(LEAST_EXCEEDING / GREATEST_SHARE)
#: Tails lighter than exponential are taken as exponential; heavier than this are cut.
GREATEST_SHAPE = 0.5
#: The shape comes from some hundred deviations and is uncertain by 0.1, which counts where the tail
#: is heavy: without this, simulated t(3) noise gave twice the alarms allowed.
_SHAPE_MARGIN = 1.35


@dataclass(frozen=True, slots=True)
class Tail:
    """P(z > x) = share · (1 + shape·(x − start)/scale)^(−1/shape) for x >= start."""

    start: float
    scale: float
    shape: float
    share: float

    def quantile(self, chance: float) -> float:
        """The deviation that is exceeded with this chance; `start` for chances above `share`."""
        if chance >= self.share:
            return self.start
        if self.shape < 1e-6:
            return self.start + self.scale * float(np.log(self.share / chance))
        power = (self.share / chance) ** self.shape
        return self.start + self.scale * float(power - 1) / self.shape


def fit_tail(deviations: Matrix) -> Tail | None:
    """The tail of pooled deviations, any shape, NaN left out; None when there are too few."""
    known = deviations[np.isfinite(deviations)]
    if known.size < LEAST_DEVIATIONS:
        return None
    share = max(SHARE, LEAST_EXCEEDING / known.size)
    start = float(np.quantile(known, 1 - share))
    beyond = np.sort(known[known > start]) - start
    if beyond.size < LEAST_EXCEEDING / 2:
        return None
    first = float(beyond.mean())
    weights = 1 - (np.arange(1, beyond.size + 1) - 0.35) / beyond.size
    second = float((weights * beyond).mean())
    estimate = _SHAPE_MARGIN * (2 - first / (first - 2 * second))
    shape = float(np.clip(estimate, 0.0, GREATEST_SHAPE))
    return Tail(start, first * (1 - shape), shape, beyond.size / known.size)


def run_quantile(groups: Matrix, length: int, chance: float) -> float:
    """What `length` nights of a series exceed together with this chance.

    `groups`, shape (groups, nights), NaN where there is none: deviations that share a reference.
    The mean over groups of C(c, length)/C(n, length), where c of n deviations are greater than x,
    estimates without bias the chance that `length` nights are all greater than x [Hoeffding 1948,
    U-statistics]; no distribution is assumed, and what the nights of a group share (the error of
    their reference) is in it. Gives the least x with an estimate of at most `chance`; infinity
    without enough nights.
    """
    n = np.isfinite(groups).sum(axis=1)
    ordered = -np.sort(-groups[n >= length], axis=1)
    if np.isfinite(ordered).sum() < LEAST_DEVIATIONS:
        return float("inf")
    weights = _choose(np.arange(ordered.shape[1]), length - 1)
    shares = weights / _choose(n[n >= length], length)[:, np.newaxis] / len(ordered)
    known = np.isfinite(ordered)
    values, shares = ordered[known], shares[known]
    order = np.argsort(-values)
    exceeded = np.cumsum(shares[order]) > chance
    return float(values[order[np.argmax(exceeded)]]) if exceeded.any() else float(values.min())


def _choose(n: Counts, k: int) -> Matrix:
    """Binomial coefficients of many n; 0 where n < k."""
    result = np.ones(len(n))
    for step in range(k):
        result *= (n - step) / (step + 1)
    return np.maximum(result, 0.0)
