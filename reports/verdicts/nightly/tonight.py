# SPDX-License-Identifier: Apache-2.0
"""Stage A: a night, what it is compared with, and what is worse than allowed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from records.history.model import Change, History
from reports.statistics.descriptive import Matrix
from reports.verdicts.nightly.covariates import night_terms, term_factors
from reports.verdicts.nightly.limits import SeriesLimits, limits, run_of_nights
from reports.verdicts.nightly.reference import (
    Counts,
    Mask,
    References,
    last_nights,
    references,
    residuals,
    worsening,
)
from reports.verdicts.nightly.rules import Rules
from reports.verdicts.nightly.segments import (
    bad_nights,
    context_starts,
    level_numbers,
    reference_starts,
)

#: Message lengths up to this are start-up bound; their floor is wider.
SMALL_MESSAGE_BYTES = 1024


@dataclass(frozen=True)
class StageA:
    """A night, the last column of matrices (series, nights), and what it is compared with.

    `values` and `reruns` are as with tonight's nodes and weekday; `bad`: inside a regression that
    was not accepted; `usable`: of the present reference, which begins with the night `since`.
    `floors`: the least change of a series that is worth reporting;
    `worse` is tonight's worsening, a fraction of the reference; `in_a_row`: series whose last
    nights, tonight with them, are all beyond the limit for so many.
    """

    values: Matrix
    reruns: Matrix
    bad: Mask
    floors: Matrix
    since: Counts
    usable: Mask
    reference: References
    limits: SeriesLimits
    worse: Matrix
    in_a_row: Mask


class Nights:
    """The nights of a history as they are judged; what is the same for all is worked out once.

    Matrices have the shape (series, nights); a value of too few launches is NaN, and so is a
    series whose better direction is not known. `direction` is +1
    where less is better, −1 where more is; `floors` is the least change of a series that is worth
    reporting: 3 %, 5 % for the latency of small messages. `unexplained`: worse than allowed, and
    neither explained nor accepted; `judge` keeps it up to date.
    """

    def __init__(self, history: History, rules: Rules) -> None:
        self.history, self.rules = history, rules
        known = np.array([key.better != "unknown" for key in history.series], dtype=np.bool_)
        known = known.reshape(-1, 1)
        self.values, self.reruns = (
            np.where((counts >= rules.least_launches) & np.isfinite(values) & known, values, np.nan)
            for values, counts in (
                (history.values, history.counts),
                (history.reruns, history.rerun_counts),
            )
        )
        self.direction = np.array(
            [1.0 if key.better == "lower" else -1.0 for key in history.series], dtype=np.float64
        )
        self.unexplained = history.unexplained.copy()
        small = [
            key.unit == "s" and key.at.get("message_bytes", np.inf) <= SMALL_MESSAGE_BYTES
            for key in history.series
        ]
        self.floors = np.where(small, rules.floor_small_latency, rules.floor)

    @cached_property
    def contexts(self) -> Counts:
        """The first night of each night's context."""
        environments = [key.environment for key in self.history.series]
        starts = {name: context_starts(self.history.nights, name) for name in {*environments}}
        return np.array([starts[name] for name in environments], dtype=np.int64).reshape(
            self.values.shape
        )

    @cached_property
    def terms(self) -> Matrix:
        """Nodes and weekday of each night."""
        return night_terms(self.history.nights)

    def stage_a(self, place: int, changes: Sequence[Change]) -> StageA:
        """Stage A of the night at `place`, given the changes known before it."""
        rules, history, end = self.rules, self.history, place + 1
        bad = bad_nights(history, changes, rules)[:, :end]
        learnt = self._learnt(bad)
        values, reruns = self.values[:, :end], self.reruns[:, :end]
        factors = term_factors(values, learnt, self.terms[:end], rules.most_nights)
        values, reruns = values * factors, reruns * factors
        since = reference_starts(history, changes)
        nights, sign = np.arange(end), self.direction[:, np.newaxis]
        present = np.isfinite(values) & ~bad
        usable = present & (nights >= since[:, np.newaxis])
        learnt &= present & (nights < place)
        # Of a night that was run again the better of both values.
        better = np.where(np.isfinite(values), sign * np.fmin(sign * values, sign * reruns), np.nan)
        levels = level_numbers(history, changes, self.contexts)[:, :end]
        away = residuals(better, self._spread_nights(learnt), levels)
        # The level: nights of tonight's own context; where those are too few, all of the reference.
        before = usable & learnt
        own = before & (nights >= self.contexts[:, place, np.newaxis])
        enough = own.sum(axis=1, keepdims=True) >= rules.robust_from
        level = last_nights(np.where(enough, own, before), rules.most_nights)
        reference = references(values, level, away, rules)
        allowed = limits(reference, away * sign, self.floors, rules)
        worse = worsening(better, reference.median, self.direction)
        worse[:, -1] = tonight = worsening(values[:, -1], reference.median, self.direction)
        in_a_row = run_of_nights(worse, allowed.in_a_row, usable, rules.run_nights)
        return StageA(
            values, reruns, bad, self.floors, since, usable, reference, allowed, tonight, in_a_row
        )

    def _learnt(self, bad: Mask) -> Mask:
        """What may enter a reference: no value that is worse than allowed until that is explained
        or accepted; while a series is young, no value of a night with any such."""
        nights = bad.shape[1]
        odd = self.unexplained[:, :nights] | bad
        learnt = np.isfinite(self.values[:, :nights]) & ~odd
        calm = learnt & ~odd.any(axis=0)
        young = np.cumsum(calm, axis=1) < self.rules.robust_from
        kept: Mask = learnt & (calm | ~young)
        return kept

    def _spread_nights(self, learnt: Mask) -> Mask:
        """The nights whose distances from their own levels give the spread, also those before a new
        level.

        The last nights, which with tonight may be the first of something new, are left out while
        there are enough others: else a step of all series would widen the limit that is to find it.
        """
        older = learnt & ~last_nights(learnt, self.rules.run_nights - 1)
        enough = older.sum(axis=1, keepdims=True) >= 2 * self.rules.robust_from
        return last_nights(np.where(enough, older, learnt), self.rules.most_nights)
