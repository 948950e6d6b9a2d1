# SPDX-License-Identifier: Apache-2.0
"""The family of all questions of a run: scores, checks, curves and points of every pair."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Literal, NamedTuple

import numpy as np

from records.axes import along_curve, beside_curve
from records.flags import INVALID_ON_PURPOSE
from reports.analysis.cells import Comparison
from reports.analysis.failures import (
    Failures,
    Point,
    PointKey,
    Ranked,
    combine,
    paired_points,
    points_by_environment,
    rank_failures_last,
)
from reports.analysis.score import Costs, weighted_costs
from reports.load.loading import Run
from reports.notation.labels import CheckLabels, point_text
from reports.notation.units import has_speed
from reports.statistics.max_t import Question

#: More (points × pairs) than this are compared with the reference only, and the report says so.
MOST_CELLS_OF_ALL_PAIRS = 40_000

Level = Literal["checks", "curves", "points"]


@dataclass(frozen=True)
class Family:
    """All questions of a run: those of the score, then those of `cells`, which are not judged yet.

    `wrong` names (check, environment) with wrong records, `unusable` counts points left out because
    a value is not above 0.
    """

    names: list[str]
    costs: Costs | None
    cells: dict[Level, list[Comparison]]
    questions: list[Question]
    wrong: frozenset[tuple[str, str]]
    every_pair: bool
    unusable: int

    @property
    def keys(self) -> list[Hashable]:
        """Key that tells each question from all others, in whichever part of a run it is asked."""
        scores = (
            [("score", *pair) for pair in combinations(self.costs.names, 2)] if self.costs else []
        )
        cells = zip(chain(*self.cells.values()), self.questions[len(scores) :], strict=True)
        return [*scores, *((of.cell, c.environment, c.reference, c.at) for c, of in cells)]


def gather(run: Run, labels: Mapping[str, CheckLabels]) -> Family:
    """Pair the values of all environments by block, at every point.

    The reference is the first environment of the plan. With very many points curves and points
    are compared with the reference only.
    """
    names, cases = list(dict.fromkeys(run.plan.environments)), run.plan.cases
    better = {name: metric.better for name, metric in run.plan.register.metrics.items()}
    failures = Failures(run)
    table, ranked = rank_failures_last(points_by_environment(run), failures, better)
    wrong = frozenset(
        (cases[case].check, cases[case].environment)
        for case, status, flags in run.tally
        if status == "wrong" and INVALID_ON_PURPOSE not in flags
    )
    points = sum(max(map(len, found.values()), default=0) for found in table.values())
    every_pair = points * len(names) * (len(names) - 1) // 2 <= MOST_CELLS_OF_ALL_PAIRS
    asking = _Asking(run, labels, failures, ranked)
    pairs, finer, unusable = [], [], 0
    for reference, environment in combinations(names, 2):
        for (check, metric), found in table.items():
            paired, lost = paired_points(found, environment, reference, better[metric])
            pair = _Pair(check, metric, environment, reference, paired, asking.curves(paired))
            pairs.append(pair)
            if every_pair or reference == names[0]:
                finer.append(pair)
                unusable += lost
    several = any(len(pair.points) > len(pair.curves) for pair in finer)
    asked: dict[Level, list[_Pair]]
    asked = {"checks": pairs, "curves": finer, "points": finer if several else []}
    costs = weighted_costs(run, table, names, wrong, failures)
    questions = costs.questions() if costs else []
    cells: dict[Level, list[Comparison]] = {}
    for level, of in asked.items():
        made = [item for pair in of for item in asking.cells(level, pair)]
        cells[level] = [cell for cell, _ in made]
        questions += [question for _, question in made]
    return Family(names, costs, cells, questions, wrong, every_pair, unusable)


class _Pair(NamedTuple):
    """Two environments by one check's deciding metric; `curves` has the points of each curve, by
    scope, name of the curve and what it is at a point."""

    check: str
    metric: str
    environment: str
    reference: str
    points: Mapping[PointKey, Point]
    curves: Mapping[tuple[str, str, str], list[PointKey]]


class _Asking:
    """Makes the cells of pairs, with their questions."""

    def __init__(
        self, run: Run, labels: Mapping[str, CheckLabels], failures: Failures, ranked: Ranked
    ) -> None:
        self._cases, self._register = run.plan.cases, run.plan.register
        self._labels, self._failures, self._ranked = labels, failures, ranked
        self._declared = frozenset(run.plan.sequential.until if run.plan.sequential else ())
        self._curves: dict[PointKey, tuple[str, str, str]] = {}
        self._place = {
            (key, case.environment): place
            for place, (case, key) in enumerate(zip(self._cases, run.first_alike, strict=True))
        }

    def curves(
        self, points: Mapping[PointKey, Point]
    ) -> dict[tuple[str, str, str], list[PointKey]]:
        """The points of each curve."""
        found: dict[tuple[str, str, str], list[PointKey]] = {}
        for key in points:
            curve = key[0], beside_curve(key[1])
            names = self._curves.get(curve)
            if names is None:
                names = self._curves[curve] = self._names(curve)
            found.setdefault(names, []).append(key)
        return found

    def _names(self, curve: PointKey) -> tuple[str, str, str]:
        """Scope and curve in words, and the curve's name at a point. Placements are never mixed:
        between nodes and within a node are two scopes."""
        case, without = self._cases[curve[0]], ("placement",)
        placement = str(case.params.get("placement") or "").replace("-", " ")
        scope = ", ".join(filter(None, [self._register.check_title(case.check), placement]))
        labels, beside = self._labels[case.check], [str(value) for _, value in curve[1]]
        name, short = (
            ", ".join([*beside, *parts]) or labels.name(case, without)
            for parts in (labels.told(case, without), labels.parts(case, without))
        )
        return scope, name, short

    def cells(self, level: Level, pair: _Pair) -> Iterator[tuple[Comparison, Question]]:
        """A cell for each scope over all its points, for each curve, or for each point."""
        if level == "checks":
            scopes: dict[str, list[PointKey]] = {}
            for (scope, *_), keys in pair.curves.items():
                scopes.setdefault(scope, []).extend(keys)
            for scope, keys in scopes.items():
                yield self._cell(level, pair, keys, scope, "all points", "all points")
            return
        for (scope, curve, short), keys in pair.curves.items():
            if level == "curves":
                yield self._cell(level, pair, keys, scope, curve, curve)
                continue
            for key in keys:
                place = along_curve(key[1])
                own = point_text(*place) if place else "one point"
                label = f"{short}, {own}" if len(keys) > 1 else curve
                yield self._cell(level, pair, [key], scope, label, curve)

    def _cell(  # noqa: PLR0917
        self,
        level: Level,
        pair: _Pair,
        keys: Sequence[PointKey],
        scope: str,
        label: str,
        curve: str,
    ) -> tuple[Comparison, Question]:
        (blocks, values), used = combine([pair.points[key] for key in keys])
        names, params = (pair.environment, pair.reference), {key[0] for key in keys}
        first, second = ([self._place[key, name] for key in params] for name in names)
        comparison = Comparison(
            check=pair.check,
            scope=scope,
            label=label,
            metric=pair.metric,
            environment=pair.environment,
            reference=pair.reference,
            n=len(blocks),
            points=used,
            points_planned=len(keys),
            case_ids=(
                self._cases[self._place[keys[0][0], pair.environment]].id,
                self._cases[self._place[keys[0][0], pair.reference]].id,
            ),
            curve=curve,
            at=keys[0][1] if len(keys) == 1 else (),
            failures=(self._failures.of(first), self._failures.of(second)),
            speed=has_speed(self._register.metrics[pair.metric].unit),
        )
        cell = level, pair.check, pair.metric, scope, label
        kept = self._kept(pair, keys) if self._ranked else 1.0
        return comparison, Question(blocks, values, kept, level in self._declared, cell)

    def _kept(self, pair: _Pair, keys: Sequence[PointKey]) -> float:
        """Mean share of blocks that no failed launch and none in its place took."""
        names = pair.environment, pair.reference
        replaced = [
            max(self._ranked.get((pair.metric, name, key), 0) for name in names)
            / len(pair.points[key][0])
            for key in keys
        ]
        return max(0.1, 1 - 2 * float(np.mean(replaced)))
