# SPDX-License-Identifier: Apache-2.0
"""Proportions: how often launches fail, with exact limits."""

from __future__ import annotations

from math import comb

from scipy import special  # type: ignore[import-untyped]

from reports.statistics.descriptive import LEVEL, Interval


def clopper_pearson(count: int, n: int, level: float = LEVEL) -> Interval:
    """Exact limits of a probability after `count` events in n >= 1 independent trials.

    Low: P(X >= count) = α/2, 0 at count 0; high: P(X <= count) = α/2, 1 at count n, by quantiles of
    the beta distribution [Clopper & Pearson, Biometrika 26 (1934) 404]. Covers at least `level`.
    """
    tail = (1 - level) / 2
    low = float(special.betaincinv(count, n - count + 1, tail)) if count else 0.0
    high = float(special.betaincinv(count + 1, n - count, 1 - tail)) if count < n else 1.0
    return Interval(low, high, level, "Clopper–Pearson")


def fisher_greater(count: int, n: int, other: int, m: int) -> float:
    """Chance of at least `count` events in n trials, and the rest of all count + other in m more,
    if both have one probability: Fisher's exact test, one-sided [Fisher 1935]."""
    events = count + other
    ways = sum(comb(n, k) * comb(m, events - k) for k in range(count, min(n, events) + 1))
    return ways / comb(n + m, events)
