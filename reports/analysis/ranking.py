# SPDX-License-Identifier: Apache-2.0
"""Ranks only as far as the bounds separate: a place or a range of places for each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from reports.analysis.cells import ALPHA, ComparisonJudgement
from reports.analysis.failures import FailureRate
from reports.statistics.descriptive import Interval
from reports.statistics.signed_rank import PairedEffect


@dataclass(frozen=True, slots=True)
class Pair:
    """`effect` is the cost of `first` over that of `second`; < 1: `first` is better. `judgement`
    has the bounds of that ratio, None below six blocks; `lag` is the correlation of neighbours.
    `carried`: the checks that make more than half of the difference each, and their share of it;
    none where a single check is weighed."""

    first: str
    second: str
    effect: PairedEffect
    judgement: ComparisonJudgement | None
    lag: float = 0.0
    carried: tuple[tuple[str, float], ...] = ()

    @property
    def separated(self) -> bool:
        """Whether the bounds, which hold together with all others, exclude 1."""
        return self.judgement is not None and self.judgement.separated

    @property
    def by_estimate(self) -> tuple[str, str]:
        """The environment with the better estimate, then the other."""
        pair = self.first, self.second
        return pair if self.effect.ratio < 1 else pair[::-1]

    def seen_from(self, second: str) -> Pair:
        """The same pair with `second` as what is divided by."""
        if second == self.second:
            return self
        judged = self.judgement and self.judgement.inverse()
        effect = self.effect.inverse()
        return replace(self, first=self.second, second=self.first, effect=effect, judgement=judged)


@dataclass(frozen=True, slots=True)
class Standing:
    """An environment's places `best`..`worst` (1 = first), and its cost over the reference's with
    the bounds that decide, and the interval of that ratio by itself (none for the reference).
    `unreliable`: it ranks behind another because it is proven to fail more often."""

    environment: str
    score: float
    judgement: ComparisonJudgement | None
    interval: Interval | None
    best: int
    worst: int
    failures: FailureRate
    unreliable: bool

    @property
    def place(self) -> str:
        """ "1", or "1–3" where the intervals separate no further."""
        return str(self.best) if self.best == self.worst else f"{self.best}–{self.worst}"


def standings(
    names: Sequence[str], pairs: Sequence[Pair], failures: Mapping[str, FailureRate]
) -> list[Standing]:
    """Places of the environments, best first; the first of `names` is the reference.

    An environment's best place is 1 + the number of those ahead of it, its worst place the number
    of environments − the number of those behind it. Ahead is who is proven to fail less (Fisher's
    test, 5 % over all pairs), else who is separated as better and does not fail too often to be
    preferred: a place never contradicts the bounds of two that fail alike.
    """
    level = ALPHA / max(1, len(pairs))
    best, worst = Counter(names), Counter(dict.fromkeys(names, len(names)))
    unreliable = set()
    for pair in pairs:
        better, worse = pair.by_estimate
        rates = failures[better], failures[worse]
        if proven := rates[0].worse_than(rates[1], level):
            better, worse = worse, better
        if proven or rates[1].worse_than(rates[0], level):
            unreliable.add(worse)
        elif not pair.separated or rates[0].unreliable_beside(rates[1]):
            continue
        best[worse] += 1
        worst[better] -= 1
    found = []
    for name in names:
        ends, own = {name, names[0]}, None
        for pair in pairs:
            if {pair.first, pair.second} == ends:
                own = pair.seen_from(names[0])
        found.append(
            Standing(
                name,
                own.effect.ratio if own else 1.0,
                own.judgement if own else None,
                own.effect.interval if own else None,
                best[name],
                worst[name],
                failures[name],
                name in unreliable,
            )
        )
    least = min(failures.values(), key=lambda rate: rate.share)
    return sorted(
        found,
        key=lambda item: (
            item.best + item.worst,
            item.failures.unreliable_beside(least),
            item.score,
        ),
    )
