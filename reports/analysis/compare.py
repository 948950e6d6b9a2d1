# SPDX-License-Identifier: Apache-2.0
"""Environments against each other, paired by block: one family of questions for the whole run."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, islice
from typing import Literal, NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from records.flags import INVALID_ON_PURPOSE
from records.run.interims import in_turn
from records.units import along_curve, beside_curve
from reports.analysis.cells import Comparison, ComparisonJudgement
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
from reports.analysis.score import Costs, OverallScore, weighted_costs
from reports.load.loading import Run
from reports.notation.labels import CheckLabels, point_text
from reports.statistics.descriptive import (
    LEAST_N,
    Dependence,
    PairedEffect,
    paired_effects,
    serial_dependence,
)
from reports.statistics.max_t import (
    LEAST_BLOCKS,
    InterimJudgement,
    JointBounds,
    Question,
    answers,
    answers_after,
)


@dataclass(frozen=True)
class Comparisons:
    """`overall`: over all points of a scope; `groups`: over each curve; `points`: the finest cells,
    empty where every curve has one point only. Every pair of environments, or of the last two those
    with `reference` only (`every_pair` false).

    `unranked` names (check, environment) with wrong records; `unusable` counts points left out
    because a value is not above 0 and has no logarithm. `dependence` is that of neighbouring
    blocks over all questions, None below six blocks; where found, all bounds are wider for it.
    `scored` are the environments that have what a score takes.
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
    scored: tuple[str, ...] = ()


def compare_environments(run: Run, labels: Mapping[str, CheckLabels]) -> Comparisons:
    """Compare all pairs of environments; score, checks, curves and points are one family."""
    if run.plan.sequential is not None:
        return compare_after(run, labels, [interim.block for interim in run.interims])
    family = gather(run, labels)
    serial = _serial(family.questions)
    return _judged(family, answers(family.questions, serial.wider if serial else 1.0), serial)


def compare_after(
    run: Run, labels: Mapping[str, CheckLabels], blocks: Sequence[int]
) -> Comparisons:
    """Comparisons of a sequential design by its judgements after these blocks.

    Each is made of the launches up to its block alone, as it was when the run stood there; without
    a judgement nothing has bounds.
    """
    judgements = Judgements(labels)
    for block in blocks:
        judgements.add(run.until(block), block)
    return judgements.found() if blocks else _judged(gather(run, labels), [], None)


class Judgements:
    """The judgements of a sequential design, one after the other. A question has the bounds of the
    last one that had a new value for it."""

    def __init__(self, labels: Mapping[str, CheckLabels]) -> None:
        self._labels = labels
        self._known: dict[Hashable, JointBounds | None] = {}
        self._made: list[InterimJudgement] = []
        self._family: Family
        self._serial: Dependence | None = None

    def add(self, run: Run, block: int) -> None:
        """Judge a run that ends after `block`."""
        family = self._family = gather(run, self._labels)
        serial = self._serial = _serial(family.questions)
        wider = serial.wider if serial else 1.0
        stages = in_turn(run.plan).stages
        found, made = answers_after(family.questions, block, self._made, stages, wider)
        self._made.append(made)
        answered = zip(family.keys, found, strict=True)
        self._known |= {key: bounds for key, bounds in answered if bounds}

    def found(self) -> Comparisons:
        """Comparisons as known after the last judgement."""
        answered = [self._known.get(key) for key in self._family.keys]
        return _judged(self._family, answered, self._serial)


def _serial(questions: Sequence[Question]) -> Dependence | None:
    rows = [item.values for item in questions if len(item.values) >= LEAST_BLOCKS]
    return serial_dependence(rows) if rows else None


def _judged(
    family: Family,
    answered: Sequence[JointBounds | None],
    serial: Dependence | None,
) -> Comparisons:
    """The cells with their effects and the answers to the family's questions, if there are any."""
    questions, answered = family.questions, answered or [None] * len(family.questions)
    cells = [*chain(*family.cells.values())]
    first = len(questions) - len(cells)
    effects = _effects([question.values for question in questions[first:]])
    for place, cell in enumerate(cells):
        effect, answer = effects.get(place), answered[first + place]
        judgement = ComparisonJudgement.of(answer) if answer else None
        cells[place] = replace(
            cell,
            effect=judgement.holding(effect) if judgement and effect else effect,
            judgement=judgement,
            family=len(answered),
        )
    rest = iter(cells)
    checks, curves, points = (_in_order([*islice(rest, len(of))]) for of in family.cells.values())
    score = family.costs.judged(answered) if family.costs else None
    return Comparisons(
        reference=family.names[0] if family.names else "",
        overall=checks,
        groups=curves,
        points=points,
        unranked=family.wrong,
        score=score,
        every_pair=family.every_pair,
        unusable=family.unusable,
        dependence=serial,
        scored=tuple(family.costs.names) if family.costs else (),
    )


def _effects(values: Sequence[NDArray[np.float64]]) -> dict[int, PairedEffect]:
    """Effect of each cell with enough blocks, by its place; those of one n are computed
    together."""
    by_n: dict[int, list[int]] = {}
    for place, row in enumerate(values):
        if len(row) >= LEAST_N:
            by_n.setdefault(len(row), []).append(place)
    effects: dict[int, PairedEffect] = {}
    for places in by_n.values():
        rows = np.stack([values[place] for place in places])
        effects.update(zip(places, paired_effects(rows), strict=True))
    return effects


def _in_order(cells: Sequence[Comparison]) -> list[Comparison]:
    """Scope by scope, cell by cell, environments of one cell together."""
    scopes = {name: place for place, name in enumerate(dict.fromkeys(c.scope for c in cells))}
    labels = dict.fromkeys((cell.scope, cell.label) for cell in cells)
    order = {name: (scopes[name[0]], place) for place, name in enumerate(labels)}
    return sorted(cells, key=lambda cell: order[cell.scope, cell.label])


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
                yield self._cell(level, pair, keys, scope, "all points")
            return
        for (scope, curve, short), keys in pair.curves.items():
            if level == "curves":
                yield self._cell(level, pair, keys, scope, curve)
                continue
            for key in keys:
                place = along_curve(key[1])
                own = point_text(*place) if place else "one point"
                label = f"{short}, {own}" if len(keys) > 1 else curve
                yield self._cell(level, pair, [key], scope, label)

    def _cell(
        self, level: Level, pair: _Pair, keys: Sequence[PointKey], scope: str, label: str
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
            case_ids=(
                self._cases[self._place[keys[0][0], pair.environment]].id,
                self._cases[self._place[keys[0][0], pair.reference]].id,
            ),
            at=keys[0][1] if len(keys) == 1 else (),
            failures=(self._failures.of(first), self._failures.of(second)),
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
