# SPDX-License-Identifier: Apache-2.0
"""How far nights stray on this site: the tail of all series' deviations, and its far quantiles.

Night-to-night noise is rarely normal; a limit from the normal's tail gives many times the alarms
that it promises. Deviations of all series, in units of their spread, are pooled; behind their 98 %
quantile a generalised Pareto distribution is fitted by probability-weighted moments [Hosking &
Wallis, Technometrics 29 (1987) 339], from which the quantile that keeps the budget follows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]

THRESHOLD = 0.98
LEAST_EXCEEDING = 30
#: Tails lighter than exponential are taken as exponential; heavier than this are cut.
GREATEST_SHAPE = 0.5


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
    """The tail of pooled deviations, in any order; None when too few lie behind the threshold."""
    if deviations.size < LEAST_EXCEEDING / (1 - THRESHOLD):
        return None
    start = float(np.quantile(deviations, THRESHOLD))
    beyond = np.sort(deviations[deviations > start]) - start
    if beyond.size < LEAST_EXCEEDING:
        return None
    first = float(beyond.mean())
    weights = 1 - (np.arange(1, beyond.size + 1) - 0.35) / beyond.size
    second = float((weights * beyond).mean())
    shape = float(np.clip(2 - first / (first - 2 * second), 0.0, GREATEST_SHAPE))
    share = beyond.size / deviations.size
    return Tail(start, first * (1 - shape), shape, share)
