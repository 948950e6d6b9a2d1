# SPDX-License-Identifier: Apache-2.0
"""Ranks only as far as the bounds separate: a place or a range of places for each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from records.forms import Part, key
from reports.analysis.cells import ALPHA, ComparisonJudgement
from reports.analysis.failures import FailureRate
from reports.statistics.signed_rank import PairedEffect

Ends = tuple[float, float]


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
        """True where the bounds, which hold together with all others, exclude 1."""
        return self.judgement is not None and self.judgement.separated

    @property
    def by_estimate(self) -> tuple[str, str]:
        """The environment with the better estimate, then the other."""
        pair = self.first, self.second
        return pair if self.effect.ratio < 1 else pair[::-1]

    def seen_from(self, second: str) -> Pair:
        """Pair turned so that `second` is what is divided by."""
        if second == self.second:
            return self
        judged = self.judgement and self.judgement.inverse()
        effect = self.effect.inverse()
        return replace(self, first=self.second, second=self.first, effect=effect, judgement=judged)


class Standing(Part):
    """An environment in the ranking by the campaign's weights."""

    environment: Annotated[str, key("The environment.")]
    place: Annotated[tuple[int, int], key("Best and worst place within the bounds; 1 is first.")]
    cost: Annotated[float, key("Cost of the workload, over what it costs in the reference.")]
    bounds: Annotated[Ends | None, key("Joint bounds of that ratio over all questions; or null.")]
    interval: Annotated[Ends | None, key("Interval of that ratio alone; null for the reference.")]
    level: Annotated[float | None, key("Level of the interval.")]
    failed: Annotated[int, key("Failed launches.")]
    launched: Annotated[int, key("Launches.")]
    unreliable: Annotated[bool, key("True if it ranks behind another because it fails more often.")]

    @property
    def best(self) -> int:
        """The best place within the bounds."""
        return self.place[0]

    @property
    def worst(self) -> int:
        """The worst place within the bounds."""
        return self.place[1]

    @property
    def places(self) -> str:
        """ "1", or "1–3" where the bounds separate no further."""
        return "–".join(map(str, dict.fromkeys(self.place)))

    @property
    def failures(self) -> FailureRate:
        """Its failed launches of all."""
        return FailureRate(self.failed, self.launched)


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
        ends = {name, names[0]}
        own = [pair.seen_from(names[0]) for pair in pairs if {pair.first, pair.second} == ends]
        place = best[name], worst[name]
        found.append(_standing(name, place, own, failures[name], unreliable=name in unreliable))
    least = min(failures.values(), key=lambda rate: rate.share)
    return sorted(
        found,
        key=lambda item: (sum(item.place), item.failures.unreliable_beside(least), item.cost),
    )


def _standing(
    name: str, place: tuple[int, int], own: list[Pair], rate: FailureRate, *, unreliable: bool
) -> Standing:
    """Standing of an environment; `own` is its pair with the reference, none for that itself."""
    interval = own[0].effect.interval if own else None
    return Standing(
        environment=name,
        place=place,
        cost=own[0].effect.ratio if own else 1.0,
        bounds=own[0].judgement.ends if own and own[0].judgement else None,
        interval=(interval.low, interval.high) if interval else None,
        level=interval.level if interval else None,
        failed=rate.failed,
        launched=rate.launched,
        unreliable=unreliable,
    )
