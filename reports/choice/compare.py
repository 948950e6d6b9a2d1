# SPDX-License-Identifier: Apache-2.0
"""Environments against each other, paired by block: one family of questions for the whole run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import msgspec.structs
import numpy as np

from records.axes import along_curve
from records.flags import INVALID_ON_PURPOSE
from reports.choice.cells import Comparison, Judgement
from reports.choice.failures import FailureRate, Failures, Ranked, rank_failures_last
from reports.choice.pairing import (
    Planned,
    Point,
    PointKey,
    combine,
    paired_points,
    points_by_environment,
)
from reports.choice.score import OverallScore, weighted_costs
from reports.load.loading import Run
from reports.notation.labels import CheckLabels, params_key, point_text
from reports.statistics.max_t import LEAST_BLOCKS, Answer, Question, answers
from reports.statistics.serial import Dependence, lag_1, serial_dependence
from reports.statistics.signed_rank import LEAST_N, PairedEffect, holm, paired_effects


@dataclass(frozen=True)
class Comparisons:
    """`overall`: over all points of a scope; `groups`: over each curve; `points`: the finest cells,
    empty where every curve has one point only. Every pair of environments, or of the last two those
    with `reference` only (`every_pair` false).

    `unranked` names (check, environment) with wrong records; `unusable` counts points left out
    because a value is not above 0 and has no logarithm. `dependence` is that of neighbouring
    blocks over all questions, None below six blocks; where found, all bounds are wider for it.
    """

    reference: str
    overall: list[Comparison]
    groups: list[Comparison]
    points: list[Comparison]
    unranked: frozenset[tuple[str, str]]
    score: OverallScore | None
    every_pair: bool = True
    unusable: int = 0
    dependence: Dependence | None = None

    @property
    def finest(self) -> list[Comparison]:
        """The cells of single points, or of curves where each has one point."""
        return self.points or self.groups


#: More (points × pairs) than this are compared with the reference only, and the report says so.
MOST_CELLS_OF_ALL_PAIRS = 40_000


@dataclass(frozen=True)
class _Cell:
    comparison: Comparison
    question: Question


def compare_environments(run: Run, labels: Mapping[str, CheckLabels]) -> Comparisons:
    """Compare all pairs of environments; score, checks, curves and points are one family.

    The reference is the first environment of the plan. With very many points curves and points
    are compared with the reference only.
    """
    names, register = list(dict.fromkeys(run.plan.environments)), run.plan.register
    cases = run.plan.cases
    keys = [params_key(case) for case in cases]
    failures = Failures(run, keys)
    better = {name: metric.better for name, metric in register.metrics.items()}
    measured = points_by_environment(run, keys)
    table, ranked = rank_failures_last(measured, failures, better)
    planned = Planned(cases, keys, labels, register)
    points = sum(max(map(len, found.values()), default=0) for found in table.values())
    every_pair = points * len(names) * (len(names) - 1) // 2 <= MOST_CELLS_OF_ALL_PAIRS
    compared: list[_Cells] = []
    overall: list[_Cell] = []
    unusable = 0
    for reference, environment in combinations(names, 2):
        for (check, metric), found in table.items():
            pairs, without_logarithm = paired_points(found, environment, reference, better[metric])
            pair = _Cells(planned, check, metric, environment, reference, pairs, failures, ranked)
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
    groups = [cell for pair in compared for cell in pair.groups()]
    finest = [cell for pair in compared for cell in pair.points()] if finer else []
    costs = weighted_costs(run, table, names, wrong, failures)
    questions = costs.questions() if costs else []
    cells = [*overall, *groups, *finest]
    questions += [cell.question for cell in cells]
    serial = _serial(questions)
    answered = answers(questions, serial.wider if serial else 1.0)
    score = costs.judged(answered) if costs else None
    told = _judged(cells, answered[len(questions) - len(cells) :], len(questions))
    ends = len(overall), len(overall) + len(groups)
    return Comparisons(
        reference=names[0] if names else "",
        overall=_in_order(told[: ends[0]]),
        groups=_in_order(told[ends[0] : ends[1]]),
        points=_in_order(told[ends[1] :]),
        unranked=wrong,
        score=score,
        every_pair=every_pair,
        unusable=unusable,
        dependence=serial,
    )


def _serial(questions: Sequence[Question]) -> Dependence | None:
    rows = [item.values for item in questions if len(item.values) >= LEAST_BLOCKS]
    return serial_dependence(rows) if rows else None


@dataclass(frozen=True)
class _Cells:
    """The cells of one pair of environments for one check's deciding metric."""

    planned: Planned
    check: str
    metric: str
    environment: str
    reference: str
    pairs: Mapping[PointKey, Point]
    failures: Failures
    ranked: Ranked

    @cached_property
    def curves(self) -> dict[tuple[str, str], list[PointKey]]:
        """The points of each curve, by scope and name of the curve."""
        found: dict[tuple[str, str], list[PointKey]] = {}
        for key in self.pairs:
            name = self.planned.names(self.check, key, self.environment)
            found.setdefault(name, []).append(key)
        return found

    def overall(self) -> list[_Cell]:
        """One cell for each scope, over all its points."""
        scopes: dict[str, list[PointKey]] = {}
        for key in self.pairs:
            scope, _ = self.planned.names(self.check, key, self.environment)
            scopes.setdefault(scope, []).append(key)
        return [self._cell(scope, "all points", keys) for scope, keys in scopes.items()]

    def groups(self) -> list[_Cell]:
        """One cell for each curve."""
        return [self._cell(scope, label, keys) for (scope, label), keys in self.curves.items()]

    def points(self) -> Iterator[_Cell]:
        """One cell for each point: the finest cells there are."""
        for (scope, curve), keys in self.curves.items():
            for key in keys:
                place = along_curve(key[1])
                own = point_text(*place) if place else "one point"
                label = f"{curve}, {own}" if len(keys) > 1 else curve
                yield self._cell(scope, label, [key], curve)

    def _cell(self, scope: str, label: str, keys: Sequence[PointKey], curve: str = "") -> _Cell:
        (blocks, values), used = combine([self.pairs[key] for key in keys])
        environment, reference = (
            self.planned.case(self.check, keys[0][0], name).id for name in self._names
        )
        comparison = Comparison(
            check=self.check,
            scope=scope,
            label=label,
            metric=self.metric,
            environment=self.environment,
            reference=self.reference,
            n=len(blocks),
            points=used,
            points_planned=len(keys),
            case_ids=(environment, reference),
            curve=curve or label,
            at=keys[0][1] if len(keys) == 1 else (),
            failures=self._failures_in(frozenset(key[0] for key in keys)),
        )
        return _Cell(comparison, Question(blocks, values, self._kept(keys)))

    def _failures_in(self, params: frozenset[bytes]) -> tuple[FailureRate, FailureRate]:
        """The failures of both environments in the cases with these parameters."""
        found = self._rates.get(params)
        if found is None:
            mine, theirs = (
                self.failures.of(self.planned.place(self.check, one, name) for one in params)
                for name in self._names
            )
            found = self._rates[params] = mine, theirs
        return found

    @cached_property
    def _rates(self) -> dict[frozenset[bytes], tuple[FailureRate, FailureRate]]:
        return {}

    def _kept(self, keys: Sequence[PointKey]) -> float:
        """The mean share of blocks that no failed launch and none in its place took."""
        if not self.ranked:
            return 1.0
        shares = [
            max(self.ranked.get((self.metric, name, key), 0) for name in self._names)
            / len(self.pairs[key][0])
            for key in keys
        ]
        return max(0.1, 1 - 2 * float(np.mean(shares)))

    @property
    def _names(self) -> tuple[str, str]:
        return self.environment, self.reference


def _judged(
    cells: Sequence[_Cell], answered: Sequence[Answer | None], family: int
) -> list[Comparison]:
    """Add effects, computed together for each n, and what the family says of them."""
    by_n: dict[int, list[int]] = {}
    for position, cell in enumerate(cells):
        if cell.comparison.n >= LEAST_N:
            by_n.setdefault(cell.comparison.n, []).append(position)
    effects: dict[int, PairedEffect] = {}
    lags: dict[int, float] = {}
    for positions in by_n.values():
        rows = np.stack([cells[position].question.values for position in positions])
        effects.update(zip(positions, paired_effects(rows), strict=True))
        lags.update(zip(positions, lag_1(rows).tolist(), strict=True))
    adjusted = dict(zip(effects, holm([effect.p for effect in effects.values()]), strict=True))
    return [
        msgspec.structs.replace(
            cell.comparison,
            effect=effects.get(place),
            judgement=Judgement.of(answer) if answer else None,
            p_holm=adjusted.get(place),
            family=family,
            lag=lags.get(place),
        )
        for place, (cell, answer) in enumerate(zip(cells, answered, strict=True))
    ]


def _in_order(judged: Sequence[Comparison]) -> list[Comparison]:
    """Scope by scope, cell by cell, environments of one cell together."""
    scopes = {name: place for place, name in enumerate(dict.fromkeys(c.scope for c in judged))}
    labels = dict.fromkeys((cell.scope, cell.label) for cell in judged)
    order = {name: (scopes[name[0]], place) for place, name in enumerate(labels)}
    return sorted(judged, key=lambda cell: order[cell.scope, cell.label])
