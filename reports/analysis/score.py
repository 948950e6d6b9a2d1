# SPDX-License-Identifier: Apache-2.0
"""The overall score by the campaign's weights: what a workload would cost in each environment.

In each block score(A) = Σ_c w_c · (1/P_c) Σ_p T_p(A)/T_p(ref) / Σ_c w_c, with T_p(ref) the
reference's median at point p of check c: Σ w·T / Σ w·T_ref for a workload in which, on the
reference, check c takes the share w_c of the time and each of its P_c points as much as another.
For a rate T is its work over it, T/T_ref = R_ref/R, so that rates are averaged as total work over
total time [Hoefler & Belli, SC15, rule 4]. What is reported of an environment is the ratio of its
score to the reference's, paired by block.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Annotated

import numpy as np

from records.forms import Part, key
from records.metric import Register
from reports.analysis.cells import ALPHA, ComparisonJudgement
from reports.analysis.failures import FailureRate, Failures, PointKey, Table
from reports.load.loading import Run, Series
from reports.statistics.descriptive import LEAST_N, Matrix, PairedEffect, paired_effects
from reports.statistics.max_t import JointBounds, Question

#: All points of a check's deciding metrics in an environment.
_Points = dict[tuple[str, PointKey], Series]


@dataclass(frozen=True, slots=True)
class CheckShare:
    """A weighted check: its weight, and how many points all scored environments have values at."""

    check: str
    weight: float
    points: int
    points_planned: int


@dataclass(frozen=True)
class OverallScore:
    """Scores over at most n common blocks, best first; `excluded` are (environment, why) without
    a score.

    `declared` tells whether the campaign declares weights or each check counts the same.
    """

    reference: str
    declared: bool
    shares: list[CheckShare]
    n: int
    standings: list[Standing]
    pairs: list[Pair]
    excluded: list[tuple[str, str]]

    def pair(self, first: str, second: str) -> Pair:
        """The cost of `first` over that of `second`, two ranked environments."""
        found = next(pair for pair in self.pairs if {pair.first, pair.second} == {first, second})
        return found.seen_from(second)


@dataclass(frozen=True)
class Costs:
    """The scores by environment and block, NaN where one has none, before they are judged.
    `asked`: a sequential design goes on until they are known."""

    names: list[str]
    scores: Matrix
    declared: bool
    shares: list[CheckShare]
    excluded: list[tuple[str, str]]
    failures: dict[str, FailureRate]
    asked: bool = False

    def questions(self) -> list[Question]:
        """ln of the ratio of each pair, in the order of `combinations`."""
        found = []
        for a, b in combinations(self.names, 2):
            first, second = (self.scores[self.names.index(name)] for name in (a, b))
            difference = np.log(first) - np.log(second)
            blocks = np.flatnonzero(np.isfinite(difference))
            kept = max(0.1, 1 - 2 * max(self.failures[a].share, self.failures[b].share))
            found.append(Question(blocks + 1, difference[blocks], kept, self.asked, "score"))
        return found

    def judged(self, answered: Sequence[JointBounds | None]) -> OverallScore | None:
        """Score with places; `answered` begins with the answers to `questions`."""
        questions = self.questions()
        if any(len(item.blocks) < LEAST_N for item in questions):
            return None
        pairs = []
        both = combinations(self.names, 2)
        for names, item, answer in zip(both, questions, answered, strict=False):
            effect = paired_effects(item.values[np.newaxis, :])[0]
            judgement = ComparisonJudgement.of(answer) if answer else None
            effect = judgement.holding(effect) if judgement else effect
            pairs.append(Pair(*names, effect, judgement))
        return OverallScore(
            self.names[0],
            self.declared,
            self.shares,
            max(len(item.blocks) for item in questions),
            standings(self.names, pairs, self.failures),
            pairs,
            self.excluded,
        )


def weighted_costs(
    run: Run,
    table: Table,
    environments: Sequence[str],
    wrong: frozenset[tuple[str, str]],
    failures: Failures,
) -> Costs | None:
    """Cost of each environment in each block; None where fewer than two have what it takes.

    An environment with wrong records in a weighted check has no score, nor has one without an ok
    launch of a weighted check or of a case of it. A launch that is missing costs its cell: it has
    the environment's mean there and the block's drift. A block counts for an environment from half
    of the weight on; in a sequential design up to where all its weighted checks went on.
    """
    weights = run.plan.weighed
    measured = dict.fromkeys(check for check, _ in table if weights.get(check, 0) > 0)
    checks = {check: weights[check] for check in measured}
    points: dict[tuple[str, str], _Points] = {
        (check, name): {} for check in checks for name in environments
    }
    for (check, metric), by_environment in table.items():
        for name, found in by_environment.items():
            if (check, name) in points:
                points[check, name] |= {(metric, key): series for key, series in found.items()}
    lacking = {
        "wrong answers in": wrong,
        "no valid launch of": {pair for pair, series in points.items() if not series},
        "every launch of a case failed in": failures.hopeless,
    }
    excluded = _excluded(environments, checks, lacking)
    scored = [name for name in environments if name not in dict(excluded)]
    if len(scored) < 2 or not checks:
        return None
    total, shares = _weighted(run, checks, scored, points)
    return Costs(
        scored,
        total,
        bool(run.plan.weights),
        shares,
        excluded,
        {name: failures.of_checks(checks, name) for name in scored},
        run.plan.sequential is not None and "score" in run.plan.sequential.until,
    )


def _weighted(
    run: Run,
    checks: Mapping[str, float],
    names: Sequence[str],
    points: Mapping[tuple[str, str], _Points],
) -> tuple[Matrix, list[CheckShare]]:
    """Costs of the environments by block, and the checks' shares."""
    blocks = max((int(series.blocks[-1]) for series in run.series), default=0)
    total: Matrix = np.zeros((len(names), max(blocks, run.plan.blocks)))
    present, shares = np.zeros_like(total), []
    for check, weight in checks.items():
        found = [points[check, name] for name in names]
        cost, known, used, planned = _relative_cost(run.plan.register, found, total.shape[1])
        total, present = total + weight * cost, present + weight * known
        shares.append(CheckShare(check, weight, used, planned))
    for row, name in enumerate(names if run.interims else ()):
        total[row, min(run.asked[name, check] for check in checks) :] = np.nan
    whole = sum(checks.values())
    counted = np.where(2 * present >= whole, total / whole, np.nan)
    return np.asarray(counted, dtype=np.float64), shares


def _excluded(
    environments: Sequence[str],
    checks: Collection[str],
    lacking: Mapping[str, Collection[tuple[str, str]]],
) -> list[tuple[str, str]]:
    """Environments without a score, each with its first reason; `lacking` has the (check,
    environment) of each."""
    excluded: dict[str, str] = {}
    for name in environments:
        for why, pairs in lacking.items():
            if bad := [check for check in checks if (check, name) in pairs]:
                excluded.setdefault(name, f"{why} {', '.join(bad)}")
    return [*excluded.items()]


def _relative_cost(
    register: Register, found: Sequence[_Points], blocks: int
) -> tuple[Matrix, Matrix, int, int]:
    """By environment and block: mean over points of the cost relative to the first environment's
    median, and the share of points measured; points used, points known.
    """
    common = [key for key in found[0] if all(key in other for other in found[1:])]
    planned = len({key for other in found for key in other})
    logs = np.full((len(found), len(common), blocks), np.nan)
    signs = [1.0 if register.metrics[name].better == "lower" else -1.0 for name, _ in common]
    for row, other in enumerate(found if common else ()):
        series = [other[key] for key in common]
        places = np.repeat(np.arange(len(series)), [len(item.values) for item in series])
        with np.errstate(divide="ignore", invalid="ignore"):
            values = np.log(np.concatenate([item.values for item in series]))
        at = np.concatenate([item.blocks for item in series]) - 1
        logs[row, places, at] = np.array(signs)[places] * values
    logs[~np.isfinite(logs)] = np.nan
    usable = np.isfinite(logs)
    least = min(LEAST_N, int(usable.any(axis=(0, 1)).sum()))
    kept = (usable.sum(axis=2) >= max(1, least)).all(axis=0)
    if not kept.any():
        empty = np.full((len(found), blocks), np.nan)
        return empty, np.zeros_like(empty), 0, len(common)
    logs, usable = logs[:, kept], usable[:, kept]
    logs -= np.nanmedian(logs[0], axis=1)[:, np.newaxis]
    # A missing value is its environment's mean at the point plus what the block adds for others;
    # NaN where no environment has a value.
    levels = np.nanmean(logs, axis=2, keepdims=True)
    others = usable.sum(axis=0)
    drift = np.where(usable, logs - levels, 0).sum(axis=0) / np.where(others > 0, others, np.nan)
    cost = np.exp(np.where(usable, logs, levels + drift)).mean(axis=1)
    return cost, usable.mean(axis=1), int(kept.sum()), planned


Ends = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Pair:
    """`effect` is the cost of `first` over that of `second`; < 1: `first` is better. `judgement`
    has the bounds of that ratio, None below six blocks."""

    first: str
    second: str
    effect: PairedEffect
    judgement: ComparisonJudgement | None

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
        ends, rate = {name, names[0]}, failures[name]
        own = [pair.seen_from(names[0]) for pair in pairs if {pair.first, pair.second} == ends]
        interval = own[0].effect.interval if own else None
        found.append(
            Standing(
                environment=name,
                place=(best[name], worst[name]),
                cost=own[0].effect.ratio if own else 1.0,
                bounds=own[0].judgement.ends if own and own[0].judgement else None,
                interval=(interval.low, interval.high) if interval else None,
                level=interval.level if interval else None,
                failed=rate.failed,
                launched=rate.launched,
                unreliable=name in unreliable,
            )
        )
    least = min(failures.values(), key=lambda rate: rate.share)
    return sorted(
        found,
        key=lambda item: (sum(item.place), item.failures.unreliable_beside(least), item.cost),
    )
