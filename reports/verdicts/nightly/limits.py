# SPDX-License-Identifier: Apache-2.0
"""Stage A's limits: what one night may be, and what several nights in a row may be.

Night-to-night noise is rarely normal, and the spread of a series is known from a few dozen nights
only; a limit from the normal's tail gives many times the alarms that it promises. Deviations of all
series, in units of their spread, are pooled. Behind their 95 % quantile a generalised Pareto
distribution is fitted by probability-weighted moments [Hosking & Wallis, Technometrics 29 (1987)
339], from which the quantile that keeps the budget follows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special, stats  # type: ignore[import-untyped]

from reports.statistics.descriptive import Matrix
from reports.verdicts.nightly.reference import (
    Mask,
    References,
    crossed_deviations,
    last_nights,
    row_medians,
)
from reports.verdicts.nightly.rules import Rules

#: The tail begins where this share of all deviations lies, or as many as are needed for a fit.
_SHARE, _LEAST_EXCEEDING = 0.05, 30
#: Fewer pooled deviations than this tell no tail: it would begin before the 90 % quantile.
_LEAST_DEVIATIONS = 10 * _LEAST_EXCEEDING
#: Tails lighter than exponential are taken as exponential; heavier than this are cut.
_GREATEST_SHAPE = 0.5
#: The shape comes from some hundred deviations and is uncertain by 0.1, which counts where the tail
#: is heavy: without this, simulated t(3) noise gave twice the alarms allowed.
_SHAPE_MARGIN = 1.35
#: Variance of a median of n normal values, times n, in units of theirs.
_MEDIAN_VARIANCE = np.pi / 2
#: A re-run confirms beyond the limit for this many times the allowed chance.
_LAXER = 10
#: The nights of a reference are dealt into so many parts, each judged by the others.
_PARTS = 5
#: A night is slow as a whole when the median of so many series deviates by so many spreads.
_LEAST_SERIES, _SLOW = 5, 3.0
#: Factor for the error of the reference's spread, which four nights share.
_SHARED = 1.75
#: Nights this far out that were seen in the pool are part of the site's noise, times a margin.
_SEEN, _MARGIN = 3, 1.15
#: What the nights of all series together may widen a limit to while no tail is known, in units of
#: `rules.widest`.
_WIDEST_EARLY = 2.0


@dataclass(frozen=True, slots=True)
class SeriesLimits:
    """How much worse than its level a night may be, fractions, shape (series,); NaN: not judged.

    `alone`: a single night; `again`: its re-run; `in_a_row`: each of `rules.run_nights` nights.
    """

    alone: Matrix
    again: Matrix
    in_a_row: Matrix


def limits(found: References, away: Matrix, floors: Matrix, rules: Rules) -> SeriesLimits:
    """The limits of all series; `away` are the residuals of the reference's nights, worse positive.

    A single night: max(floor, s·√(1 + π/2n)·max(√F⁻¹(.999; 1, m−1), q)), s from m nights, the level
    a median of n. The F formula is that of a prediction interval under normal noise. q is the far
    quantile of the site's own nights (`fit_tail`): simulated log-normal noise goes beyond the F
    limit in 1 % of series in 80 nights, ten times what is allowed. Without enough nights for a tail
    q is Student's quantile at the allowed chance. `_bounds` keeps both from exploding.

    Nights in a row: where whole nights are bad now and then, q lies beyond them, and a single night
    shows no smaller step. Four bad nights in a row are as rare as the budget requires, so for four
    a limit that one night in twenty exceeds is enough.
    """
    crossed, halves = (
        without_slow_nights(crossed_deviations(away, parts, rules), rules) for parts in (_PARTS, 2)
    )
    tail = fit_tail(crossed)
    widened = found.spread * np.sqrt(1 + _MEDIAN_VARIANCE / np.maximum(found.n, 1))
    early = (found.n_spread < rules.robust_from) | (tail is None)
    in_pool = _MARGIN * _greatest(crossed, _SEEN)
    seen = np.where(early, _seen_early(away, rules), widened * in_pool)
    bounds = _bounds(widened, seen, early, crossed, rules)
    freedom = np.maximum(found.n_spread - 1, 1)

    def of_one_night(level: float, chance: float) -> Matrix:
        far = np.where(early, stats.t.isf(chance, freedom), tail(chance) if tail else 0.0)
        factor = np.maximum(stats.t.ppf((1 + level) / 2, freedom), far)
        limit: Matrix = np.minimum(widened * factor, bounds)
        return limit

    alone = of_one_night(rules.level_suspect, rules.allowed_alone)
    again = of_one_night(rules.level_confirm, _LAXER * rules.allowed_alone)
    alone = np.where(early, np.fmax(alone, seen), alone)
    usable = (found.n > 0) & np.isfinite(widened) & (found.median > 0)
    alone, again, row = (
        np.where(usable, np.maximum(floors, limit), np.nan)
        for limit in (alone, again, widened * _in_a_row(halves, rules))
    )
    settled = found.n >= rules.robust_from
    return SeriesLimits(alone, again, np.where(settled | np.isnan(row), row, np.inf))


def _bounds(widened: Matrix, seen: Matrix, early: Mask, crossed: Matrix, rules: Rules) -> Matrix:
    """What a limit for a single night may be at most.

    A tail fitted to a few hundred deviations, or Student's quantile with few degrees of freedom,
    can reach fifty times the spread: with 12 series 12 % of simulated limits were above 10 % after
    33 nights. Beyond 10 % goes only what the spread itself requires, what was seen (`seen`), and a
    tail known from `rules.trusted_deviations`.
    """
    required = widened * stats.t.isf(rules.allowed_alone, rules.most_nights - 1)
    bounds = np.fmax(np.maximum(rules.widest, required), seen)
    trusted = np.isfinite(crossed).sum() >= rules.trusted_deviations
    return np.where(trusted & ~early, np.inf, bounds)


def _seen_early(away: Matrix, rules: Rules) -> Matrix:
    """How far the first nights strayed: a series' own, or three of all series, with a margin.

    Launches with two speeds give nights with two levels, and the first weeks of a history know
    neither how far apart nor how often. What three nights of the pool showed all series may do, up
    to twice `rules.widest`.
    """
    own = np.nan_to_num(away, nan=0.0).max(axis=1, initial=0.0)
    pool = min(_greatest(away, _SEEN), _WIDEST_EARLY * rules.widest)
    seen: Matrix = _MARGIN * np.maximum(own, pool)
    return seen


def _greatest(deviations: Matrix, rank: int) -> float:
    """The `rank`-th greatest of all deviations, not below 0; 0 without so many."""
    known = deviations[np.isfinite(deviations)]
    return max(0.0, float(np.partition(known, -rank)[-rank])) if known.size >= rank else 0.0


def without_slow_nights(deviations: Matrix, rules: Rules) -> Matrix:
    """The deviations (groups × nights); of a night on which half of all series were slow, less its
    median.

    Such a night is one event, not one a series: counted a series it would make the site's tail so
    heavy that the loss of a sixth in a single series is not seen. The next such night alarms, once;
    where they are more frequent than alarms may be, they stay in the tail and no longer alarm.
    """
    counts = np.isfinite(deviations).sum(axis=0)
    middle = np.where(counts >= _LEAST_SERIES, row_medians(deviations.T), 0.0)
    slow = middle > _SLOW
    most = max(1, round((counts > 0).sum() * rules.slow_nights_allowed))
    return deviations - np.where(slow, middle, 0.0) if slow.sum() <= most else deviations


def _in_a_row(deviations: Matrix, rules: Rules) -> float:
    """The factor of the spread for nights in a row, the smaller of two estimates.

    The first, the quantile of runs, is uncertain where bad nights are few. Bad nights lie far from
    noise, so the second takes the quantile that a single night exceeds with the fourth root of the
    chance, times 1.75 for the error that the nights of a reference share.
    """
    chance, nights = rules.allowed_in_a_row, rules.run_nights
    known = deviations[np.isfinite(deviations)]
    if known.size < _LEAST_DEVIATIONS:
        return float("inf")
    single = float(np.quantile(known, 1 - chance ** (1 / nights)))
    return min(run_quantile(deviations, nights, chance), _SHARED * max(single, 0.0))


def fit_tail(deviations: Matrix) -> Callable[[float], float] | None:
    """The deviation that is exceeded with a given chance (the start of the tail for chances above
    its share), from pooled deviations of any shape, NaN left out; None when there are too few."""
    known = deviations[np.isfinite(deviations)]
    if known.size < _LEAST_DEVIATIONS:
        return None
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
    known = np.isfinite(ordered)
    if known.sum() < _LEAST_DEVIATIONS:
        return float("inf")
    weights = special.comb(np.arange(ordered.shape[1]), length - 1)
    shares = weights / special.comb(n[n >= length], length)[:, np.newaxis] / len(ordered)
    values, shares = ordered[known], shares[known]
    order = np.argsort(-values)
    exceeded = np.cumsum(shares[order]) > chance
    return float(values[order[np.argmax(exceeded)]]) if exceeded.any() else float(values.min())


def run_of_nights(worse: Matrix, limit: Matrix, usable: Mask, length: int) -> Mask:
    """For each series whether its last `length` usable nights are all beyond `limit`.

    `worse` and `usable` have the shape (series, nights); tonight is the last column and must be
    usable.
    """
    last = last_nights(usable, length)
    beyond: Mask = (last & (worse > limit[:, np.newaxis])).sum(axis=1) == length
    return beyond & usable[:, -1]
