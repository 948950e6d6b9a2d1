# SPDX-License-Identifier: Apache-2.0
"""Stage A of one night: reference, limits, and what is worse than allowed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from reports.statistics.descriptive import Matrix
from reports.verdicts.nightly.limits import limits, run_of_nights
from reports.verdicts.nightly.reference import (
    Counts,
    Mask,
    last_nights,
    references,
    residuals,
    worsening,
)
from reports.verdicts.nightly.rules import Rules


@dataclass(frozen=True)
class Seen:
    """All that may be known of a night; shapes (series, nights), tonight is the last column.

    `contexts`: first night of each night's context; `levels`: number of its level; `bad`: inside a
    regression; `learnt`: may enter a reference; `since`, shape (series,): where the present
    reference begins.
    """

    values: Matrix
    reruns: Matrix
    contexts: Counts
    levels: Counts
    bad: Mask
    learnt: Mask
    since: Counts


class StageA:
    """What tonight is compared with: `reference`, `limits`; `worse` and `again` (the re-run) are
    tonight's worsening as fractions of the reference."""

    def __init__(self, seen: Seen, direction: Matrix, floors: Matrix, rules: Rules) -> None:
        self.seen, self.direction, self.rules = seen, direction, rules
        self.floors = floors
        nights = np.arange(seen.values.shape[1])
        usable = np.isfinite(seen.values) & ~seen.bad
        self._since = usable & (nights >= seen.since[:, np.newaxis])
        learnt = usable & seen.learnt & (nights < nights[-1])
        away = self._residuals(learnt)
        # The level: nights of tonight's own context; where those are too few, all of the reference.
        before = self._since & learnt
        own = before & (nights >= seen.contexts[:, -1:])
        enough = own.sum(axis=1, keepdims=True) >= rules.robust_from
        level = last_nights(np.where(enough, own, before), rules.most_nights)
        self.reference = references(seen.values, level, away, rules)
        self.limits = limits(self.reference, away * direction[:, np.newaxis], floors, rules)
        self.worse = worsening(seen.values[:, -1], self.reference, direction)
        self.again = worsening(seen.reruns[:, -1], self.reference, direction)

    @cached_property
    def _better(self) -> Matrix:
        """Each night's value; of a night that was run again the better of both."""
        sign = self.direction[:, np.newaxis]
        better: Matrix = sign * np.fmin(sign * self.seen.values, sign * self.seen.reruns)
        return np.where(np.isfinite(self.seen.values), better, np.nan)

    def _residuals(self, before: Mask) -> Matrix:
        """How far the nights before lie from their own levels, also those before a new level.

        The last nights, which with tonight may be the first of something new, are left out while
        there are enough others: else a step of all series would widen the limit that is to find it.
        """
        older = before & ~last_nights(before, self.rules.run_nights - 1)
        enough = older.sum(axis=1, keepdims=True) >= 2 * self.rules.robust_from
        chosen = last_nights(np.where(enough, older, before), self.rules.most_nights)
        return residuals(self._better, chosen, self.seen.levels)

    def in_a_row(self) -> Mask:
        """Series whose last nights, tonight with them, are all beyond the limit for so many."""
        worse = worsening(self._better, self.reference, self.direction)
        worse[:, -1] = self.worse
        return run_of_nights(worse, self.limits.in_a_row, self._since, self.rules.run_nights)

    def run_begins(self, series: int) -> int:
        """The first of the last nights in a row."""
        return int(np.flatnonzero(self._since[series])[-self.rules.run_nights])
