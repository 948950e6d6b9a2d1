# SPDX-License-Identifier: Apache-2.0
"""Evidence of one night: its values, their reference, and how much worse they may be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from records.history.model import Change, History, Night
from reports.load.nights import (
    LASTING_NIGHTS,
    SETTLED_NIGHTS,
    Nights,
    bad_nights,
    begins_level,
    level_numbers,
)
from reports.statistics.descriptive import Matrix
from reports.statistics.levels import Counts, Mask, last_of, residuals
from reports.verdicts.nightly.limits import References, Rules, limits, references, worsening
from reports.verdicts.nightly.wording import case_names

#: Message lengths up to this are start-up bound; their floor is wider.
SMALL_MESSAGE_BYTES = 1024
_NEAR = 0.4


@dataclass(frozen=True)
class Tonight:
    """The night at `position`, the last column of matrices (series, nights), and what it is
    compared with.

    `changes` are those known before it. `values` and `reruns` end with it; `bad`: inside a
    regression that was not accepted; `unexplained`: worse than allowed, and neither explained nor
    accepted. A series' present reference begins with the night `since`. `floors`: the least change
    of a series that is worth reporting; `worse` is tonight's worsening, `limit` what it may be,
    fractions of the reference.
    """

    nights: Nights
    position: int
    changes: Sequence[Change]
    rules: Rules
    values: Matrix
    reruns: Matrix
    unexplained: Mask
    bad: Mask
    floors: Matrix
    since: Counts
    reference: References
    limit: Matrix
    worse: Matrix

    @property
    def history(self) -> History:
        """The history, of which nothing after tonight is looked at."""
        return self.nights.history

    @property
    def night(self) -> Night:
        """The night."""
        return self.history.nights[self.position]

    @cached_property
    def names(self) -> dict[str, str]:
        """Names of the cases, by case id."""
        return case_names(self.history)

    @property
    def near_limit(self) -> Matrix:
        """Share of the limit, not below the floor: what each of four nights in a row may be. Of
        normal noise, where they are most frequent, four such nights have the chance of one beyond
        the limit."""
        return np.maximum(self.floors, _NEAR * self.limit)

    @property
    def value(self) -> Matrix:
        """Tonight's values."""
        return self.values[:, -1]


def evidence(
    nights: Nights,
    position: int,
    changes: Sequence[Change],
    rules: Rules,
    unexplained: Mask | None = None,
) -> Tonight:
    """What the night at `position` is judged by, given the changes known before it. `unexplained`
    (series, nights) is the history's where it is None."""
    history, end = nights.history, position + 1
    values, reruns = nights.values[:, :end], nights.reruns[:, :end]
    unexplained = (history.unexplained if unexplained is None else unexplained)[:, :end]
    bad, floors = bad_nights(history, changes)[:, :end], floors_of(history, rules)
    since = np.zeros(len(values), dtype=np.int64)
    for change in filter(begins_level, changes):
        since[change.series] = max(since[change.series], history.position(change.since))
    earlier = np.arange(end)
    learnt = _learnt(values, unexplained | bad) & (earlier < position)
    # Of a night that was run again the better of both values.
    sign = nights.direction[:, np.newaxis]
    better = np.where(np.isfinite(values), sign * np.fmin(sign * values, sign * reruns), np.nan)
    levels = level_numbers(nights, changes)[:, :end]
    away = residuals(better, _spread_nights(learnt, rules), levels)
    # The level: nights of tonight's own context; where those are too few, all of the reference.
    before = learnt & (earlier >= since[:, np.newaxis])
    own = before & (earlier >= nights.contexts[:, position, np.newaxis])
    enough = own.sum(axis=1, keepdims=True) >= SETTLED_NIGHTS
    level = last_of(np.where(enough, own, before), rules.most_nights)
    reference = references(values, level, away, rules)
    return Tonight(
        nights=nights,
        position=position,
        changes=changes,
        rules=rules,
        values=values,
        reruns=reruns,
        unexplained=unexplained,
        bad=bad,
        floors=floors,
        since=since,
        reference=reference,
        limit=limits(reference, away * sign, floors, rules),
        worse=worsening(values[:, -1], reference.median, nights.direction),
    )


def floors_of(history: History, rules: Rules) -> Matrix:
    """The least change of each series that is worth reporting; more for short messages."""
    small = [
        key.unit == "s" and key.at.get("message_bytes", np.inf) <= SMALL_MESSAGE_BYTES
        for key in history.series
    ]
    floors: Matrix = np.where(small, rules.floor_small_latency, rules.floor)
    return floors


def _learnt(values: Matrix, odd: Mask) -> Mask:
    """Values that may enter a reference: none that is worse than allowed until that is explained or
    accepted (`odd`); while a series is young, none of a night with any such."""
    learnt = np.isfinite(values) & ~odd
    calm = learnt & ~odd.any(axis=0)
    young = np.cumsum(calm, axis=1) < SETTLED_NIGHTS
    kept: Mask = learnt & (calm | ~young)
    return kept


def _spread_nights(learnt: Mask, rules: Rules) -> Mask:
    """The nights whose distances from their own levels give the spread, also those before a new
    level.

    The last nights, which with tonight may be the first of something new, are left out while there
    are enough others: else a step of all series would widen the limit that is to find it.
    """
    older = learnt & ~last_of(learnt, LASTING_NIGHTS - 1)
    enough = older.sum(axis=1, keepdims=True) >= 2 * SETTLED_NIGHTS
    return last_of(np.where(enough, older, learnt), rules.most_nights)
