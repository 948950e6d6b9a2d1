# SPDX-License-Identifier: Apache-2.0
"""Environments against each other, paired by block: one family of questions for the whole run."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from records.run.extensions import in_turn
from reports.analysis.cells import Comparison, ComparisonJudgement
from reports.analysis.family import Family, gather
from reports.analysis.score import OverallScore
from reports.load.loading import Run
from reports.notation.labels import CheckLabels
from reports.statistics.max_t import LEAST_BLOCKS, JointBounds, Question, answers
from reports.statistics.serial import Dependence, lag_1, serial_dependence
from reports.statistics.signed_rank import LEAST_N, PairedEffect, holm, paired_effects
from reports.statistics.spending import InterimJudgement, answers_after


@dataclass(frozen=True)
class Comparisons:
    """`overall`: over all points of a scope; `groups`: over each curve; `points`: the finest cells,
    empty where every curve has one point only. Every pair of environments, or of the last two those
    with `reference` only (`every_pair` false).

    `unranked` names (check, environment) with wrong records; `unusable` counts points left out
    because a value is not above 0 and has no logarithm. `dependence` is that of neighbouring
    blocks over all questions, None below six blocks; where found, all bounds are wider for it.
    `scored` are the environments that have what a score takes, `estimates` their costs where blocks
    are too few for a score; `judged` the blocks after which a sequential design was judged.
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
    judged: tuple[int, ...] = ()
    estimates: dict[str, float] = field(default_factory=dict)

    @property
    def finest(self) -> list[Comparison]:
        """The cells of single points, or of curves where each has one point."""
        return self.points or self.groups


def compare_environments(run: Run, labels: Mapping[str, CheckLabels]) -> Comparisons:
    """Compare all pairs of environments; score, checks, curves and points are one family."""
    if run.plan.sequential is not None:
        return compare_after(run, labels, run.judged_after)
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
        judged = tuple(made.block for made in self._made)
        return _judged(self._family, answered, self._serial, judged)


def _serial(questions: Sequence[Question]) -> Dependence | None:
    rows = [item.values for item in questions if len(item.values) >= LEAST_BLOCKS]
    return serial_dependence(rows) if rows else None


def _judged(
    family: Family,
    answered: Sequence[JointBounds | None],
    serial: Dependence | None,
    judged: tuple[int, ...] = (),
) -> Comparisons:
    """The cells with their effects and the answers to the family's questions, if there are any."""
    questions, answered = family.questions, answered or [None] * len(family.questions)
    cells = [*chain(*family.cells.values())]
    first = len(questions) - len(cells)
    effects, lags = _effects([question.values for question in questions[first:]])
    adjusted = dict(zip(effects, holm([effect.p for effect in effects.values()]), strict=True))
    for place, cell in enumerate(cells):
        effect, answer = effects.get(place), answered[first + place]
        judgement = ComparisonJudgement.of(answer) if answer else None
        cells[place] = replace(
            cell,
            effect=judgement.holding(effect) if judgement and effect else effect,
            judgement=judgement,
            p_holm=adjusted.get(place),
            family=len(answered),
            lag=lags.get(place),
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
        judged=judged,
        estimates=family.costs.estimates() if family.costs and score is None else {},
    )


def _effects(
    values: Sequence[NDArray[np.float64]],
) -> tuple[dict[int, PairedEffect], dict[int, float]]:
    """Effect and correlation of neighbouring blocks of each cell with enough blocks, by its place;
    those of one n are computed together."""
    by_n: dict[int, list[int]] = {}
    for place, row in enumerate(values):
        if len(row) >= LEAST_N:
            by_n.setdefault(len(row), []).append(place)
    effects: dict[int, PairedEffect] = {}
    lags: dict[int, float] = {}
    for places in by_n.values():
        rows = np.stack([values[place] for place in places])
        effects.update(zip(places, paired_effects(rows), strict=True))
        lags.update(zip(places, lag_1(rows).tolist(), strict=True))
    return effects, lags


def _in_order(cells: Sequence[Comparison]) -> list[Comparison]:
    """Scope by scope, cell by cell, environments of one cell together."""
    scopes = {name: place for place, name in enumerate(dict.fromkeys(c.scope for c in cells))}
    labels = dict.fromkeys((cell.scope, cell.label) for cell in cells)
    order = {name: (scopes[name[0]], place) for place, name in enumerate(labels)}
    return sorted(cells, key=lambda cell: order[cell.scope, cell.label])
