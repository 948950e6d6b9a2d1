# SPDX-License-Identifier: Apache-2.0
"""The family of all questions of a run: scores, checks, curves and points of every pair."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations

import msgspec
import numpy as np

from records.axes import along_curve
from records.flags import INVALID_ON_PURPOSE
from reports.choice.cells import Comparison
from reports.choice.failures import FailureRate, Failures, Ranked, rank_failures_last
from reports.choice.pairing import (
    Planned,
    Point,
    PointKey,
    combine,
    paired_points,
    points_by_environment,
)
from reports.choice.score import Costs, weighted_costs
from reports.load.loading import AtKey, Run
from reports.notation.labels import CheckLabels, point_text
from reports.statistics.max_t import Question

#: More (points × pairs) than this are compared with the reference only, and the report says so.
MOST_CELLS_OF_ALL_PAIRS = 40_000

#: What tells a question from all others, in whichever part of a run it is asked.
QuestionKey = tuple[str, str, str, str, str, str, AtKey]


class Cell(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A comparison that is not judged yet, and its question."""

    comparison: Comparison
    question: Question


@dataclass(frozen=True)
class Family:
    """All questions of a run; `wrong` names (check, environment) with wrong records, `unusable`
    counts points left out because a value is not above 0."""

    names: list[str]
    costs: Costs | None
    overall: list[Cell]
    groups: list[Cell]
    points: list[Cell]
    wrong: frozenset[tuple[str, str]]
    every_pair: bool
    unusable: int

    @property
    def cells(self) -> list[Cell]:
        """All cells, the coarsest first."""
        return [*self.overall, *self.groups, *self.points]

    @cached_property
    def questions(self) -> list[Question]:
        """Those of the score, then those of the cells."""
        scores = self.costs.questions() if self.costs else []
        return scores + [cell.question for cell in self.cells]

    @property
    def keys(self) -> list[QuestionKey]:
        """What tells each of the questions from the others."""
        scored = self.costs.names if self.costs else []
        found: list[QuestionKey] = [
            ("score", "", "", "", first, second, ()) for first, second in combinations(scored, 2)
        ]
        for level, cells in (
            ("checks", self.overall),
            ("curves", self.groups),
            ("points", self.points),
        ):
            for cell in (cell.comparison for cell in cells):
                names = cell.metric, cell.scope, cell.label, cell.environment, cell.reference
                found.append((level, *names, cell.at))
        return found


def gather(run: Run, labels: Mapping[str, CheckLabels]) -> Family:
    """Pair the values of all environments by block, at every point.

    The reference is the first environment of the plan. With very many points curves and points
    are compared with the reference only.
    """
    names, register = list(dict.fromkeys(run.plan.environments)), run.plan.register
    declared = frozenset(run.plan.sequential.until if run.plan.sequential else ())
    cases = run.plan.cases
    failures = Failures(run)
    better = {name: metric.better for name, metric in register.metrics.items()}
    measured = points_by_environment(run)
    table, ranked = rank_failures_last(measured, failures, better)
    planned = Planned(cases, run.first_alike, labels, register)
    points = sum(max(map(len, found.values()), default=0) for found in table.values())
    every_pair = points * len(names) * (len(names) - 1) // 2 <= MOST_CELLS_OF_ALL_PAIRS
    compared: list[_Pair] = []
    overall: list[Cell] = []
    unusable = 0
    for reference, environment in combinations(names, 2):
        for (check, metric), found in table.items():
            pairs, without_logarithm = paired_points(found, environment, reference, better[metric])
            pair = _Pair(
                planned, check, metric, environment, reference, pairs, failures, ranked, declared
            )
            overall += pair.overall()
            if every_pair or reference == names[0]:
                compared.append(pair)
                unusable += without_logarithm
    wrong = frozenset(
        (cases[case].check, cases[case].environment)
        for case, status, flags in run.tally
        if status == "wrong" and INVALID_ON_PURPOSE not in flags
    )
    finer = any(len(pair.pairs) > len(pair.curves) for pair in compared)
    return Family(
        names,
        weighted_costs(run, table, names, wrong, failures),
        overall,
        [cell for pair in compared for cell in pair.groups()],
        [cell for pair in compared for cell in pair.points()] if finer else [],
        wrong,
        every_pair,
        unusable,
    )


@dataclass(frozen=True)
class _Pair:
    """The cells of one pair of environments for one check's deciding metric."""

    planned: Planned
    check: str
    metric: str
    environment: str
    reference: str
    pairs: Mapping[PointKey, Point]
    failures: Failures
    ranked: Ranked
    declared: frozenset[str]
    #: Failures of both environments in the cases with these parameters.
    rates: dict[frozenset[int], tuple[FailureRate, FailureRate]] = field(default_factory=dict)

    @cached_property
    def curves(self) -> dict[tuple[str, str, str], list[PointKey]]:
        """The points of each curve, by scope, name of the curve and what it is at a point."""
        found: dict[tuple[str, str, str], list[PointKey]] = {}
        for key in self.pairs:
            found.setdefault(self.planned.names(key, self.environment), []).append(key)
        return found

    def overall(self) -> list[Cell]:
        """One cell for each scope, over all its points."""
        scopes: dict[str, list[PointKey]] = {}
        for (scope, *_), keys in self.curves.items():
            scopes.setdefault(scope, []).extend(keys)
        return [self._cell("checks", scope, "all points", keys) for scope, keys in scopes.items()]

    def groups(self) -> list[Cell]:
        """One cell for each curve."""
        return [
            self._cell("curves", scope, label, keys)
            for (scope, label, _), keys in self.curves.items()
        ]

    def points(self) -> Iterator[Cell]:
        """One cell for each point: the finest cells there are."""
        for (scope, curve, short), keys in self.curves.items():
            for key in keys:
                place = along_curve(key[1])
                own = point_text(*place) if place else "one point"
                label = f"{short}, {own}" if len(keys) > 1 else curve
                yield self._cell("points", scope, label, [key], curve)

    def _cell(
        self, level: str, scope: str, label: str, keys: Sequence[PointKey], curve: str = ""
    ) -> Cell:
        (blocks, values), used = combine([self.pairs[key] for key in keys])
        environment, reference, case = self.environment, self.reference, self.planned.case
        first, params = keys[0], frozenset([key[0] for key in keys])
        if params not in self.rates:
            self.rates[params] = (
                self.failures.of(self.planned.places(params, environment)),
                self.failures.of(self.planned.places(params, reference)),
            )
        comparison = Comparison(
            check=self.check,
            scope=scope,
            label=label,
            metric=self.metric,
            environment=environment,
            reference=reference,
            n=len(blocks),
            points=used,
            points_planned=len(keys),
            case_ids=(case(first[0], environment).id, case(first[0], reference).id),
            curve=curve or label,
            at=first[1] if len(keys) == 1 else (),
            failures=self.rates[params],
        )
        cell = level, self.check, self.metric, scope, label
        kept = self._kept(keys) if self.ranked else 1.0
        return Cell(comparison, Question(blocks, values, kept, level in self.declared, cell))

    def _kept(self, keys: Sequence[PointKey]) -> float:
        """The mean share of blocks that no failed launch and none in its place took."""
        shares = [
            max(
                self.ranked.get((self.metric, name, key), 0)
                for name in (self.environment, self.reference)
            )
            / len(self.pairs[key][0])
            for key in keys
        ]
        return max(0.1, 1 - 2 * float(np.mean(shares)))
