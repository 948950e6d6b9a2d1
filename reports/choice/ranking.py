# SPDX-License-Identifier: Apache-2.0
"""Ranks only as far as the intervals separate: a place or a range of places for each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from reports.choice.cells import ALPHA
from reports.statistics.descriptive import Interval, Matrix, summarise_rows
from reports.statistics.signed_rank import PairedEffect, holm, paired_effects


@dataclass(frozen=True, slots=True)
class Pair:
    """`effect` is the cost of `first` over that of `second`; < 1: `first` is better.

    `separated`: p <= 0.05 after Holm over all pairs, so that the interval excludes 1 as well.
    """

    first: str
    second: str
    effect: PairedEffect
    p_holm: float

    @property
    def separated(self) -> bool:
        """Whether one of the two is better beyond doubt at the family's level."""
        return self.p_holm <= ALPHA

    @property
    def by_estimate(self) -> tuple[str, str]:
        """The environment with the better estimate, then the other."""
        pair = self.first, self.second
        return pair if self.effect.ratio < 1 else pair[::-1]


@dataclass(frozen=True, slots=True)
class Standing:
    """An environment's places `best`..`worst` (1 = first), its median score and its interval."""

    environment: str
    score: float
    interval: Interval | None
    best: int
    worst: int

    @property
    def place(self) -> str:
        """ "1", or "1–3" where the intervals separate no further."""
        return str(self.best) if self.best == self.worst else f"{self.best}–{self.worst}"


def standings(names: Sequence[str], costs: Matrix) -> tuple[list[Standing], list[Pair]]:
    """Places of the environments from their costs, shape (environments, blocks), all > 0, n >= 3.

    An environment's best place is 1 + the number of those separated as better, its worst place the
    number of environments − the number separated as worse: a place never contradicts an interval.
    """
    logs = np.log(costs)
    positions = list(combinations(range(len(names)), 2))
    effects = paired_effects(np.stack([logs[a] - logs[b] for a, b in positions]))
    adjusted = holm([effect.p for effect in effects])
    pairs = [
        Pair(names[a], names[b], effect, p)
        for (a, b), effect, p in zip(positions, effects, adjusted, strict=True)
    ]
    separated = [pair.by_estimate for pair in pairs if pair.separated]
    worse_than_others = Counter(worse for _, worse in separated)
    better_than_others = Counter(better for better, _ in separated)
    found = [
        Standing(
            name,
            summary.median,
            summary.median_interval or summary.mean_interval,
            1 + worse_than_others[name],
            len(names) - better_than_others[name],
        )
        for name, summary in zip(names, summarise_rows(costs), strict=True)
    ]
    return sorted(found, key=lambda item: (item.best + item.worst, item.score)), pairs
