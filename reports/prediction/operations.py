# SPDX-License-Identifier: Apache-2.0
"""Collective operations on node counts that a run did not measure, by the laws of its report.

Only launches on two full nodes and more, of one layout: on one node no message crosses the network,
which is another law. Where no law of models.collectives fits, nothing is predicted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np

from reports.analysis import Analysis, Row, flags_of
from reports.checks.collectives.expressions import alternatives, expression_text
from reports.checks.collectives.measured import CHECK as COLLECTIVES
from reports.checks.collectives.measured import Measured as Family
from reports.checks.collectives.measured import measured, points_of, words
from reports.models.collectives import LEAST_COUNTS, CollectiveModel, fit_collective
from reports.models.collectives_ahead import Ahead
from reports.notation.units import bytes_text
from reports.prediction.machine import SEED, Resampled, resampled_of
from reports.prediction.outcome import (
    Missing,
    Predicted,
    Prediction,
    doubled,
    estimate_of,
    seen_of,
)
from reports.prediction.subjects import Measured, Problem, Subject, shares_cores
from reports.show.lines import joined
from reports.show.rows import message_bytes
from reports.statistics.descriptive import Vector

#: What adds laws, and what is left to do where none fits.
ADD_OPERATIONS = (
    f"add to the check collectives `ranks` of at least {LEAST_COUNTS} node counts above 1, on full"
    " nodes of one layout"
)
_ADD_COUNT = "measure it on that node count"


def predicted_operations(
    analysis: Analysis, environment: str, nodes: Collection[int], left_out: Collection[int]
) -> tuple[list[Predicted], list[Missing]]:
    """Predictions of each operation of an environment, for its shortest, middle and longest
    message."""
    layouts: dict[str, list[_Layout]] = defaultdict(list)
    for family in measured(analysis):
        if family.environment == environment:
            layouts[family.operation] += _layouts(analysis, family, left_out)
    resampled = resampled_of(analysis, environment)
    predicted: list[Predicted] = []
    why_not: dict[tuple[str, str], list[str]] = defaultdict(list)
    for operation, found in layouts.items():
        known = [one for one in found if isinstance(one.model, CollectiveModel)]
        for one in known:
            predicted += _predicted(one, resampled, nodes, left_out)
        if not known:
            # The layout with the most counts is nearest to what is needed.
            best = max(found, key=lambda one: len(one.counts))
            add = ADD_OPERATIONS if len(best.counts) < LEAST_COUNTS else _ADD_COUNT
            why_not[str(best.model), add].append(words(operation))
    missing = [
        Missing(COLLECTIVES, environment, ", ".join(names), why, add)
        for (why, add), names in why_not.items()
    ]
    if predicted and 1 in nodes:
        why = "no message crosses the network there, so that the law is another"
        missing.append(Missing(COLLECTIVES, environment, "1 node", why, "ask for 2 nodes or more"))
    return [one for one in predicted if one.predictions], missing


@dataclass(frozen=True, eq=False)
class _Layout:
    """An operation with `on_node` ranks on each of two nodes and more: its rows, and those of them
    that the model rests on, with their node counts."""

    analysis: Analysis
    environment: str
    title: str
    on_node: int
    rows: list[Row]
    used: list[Row]
    counts: tuple[int, ...]
    model: CollectiveModel | str


def _layouts(analysis: Analysis, family: Family, left_out: Collection[int]) -> Iterator[_Layout]:
    """Those of an operation; one without rows where no launch has full nodes."""
    layouts: dict[int, list[Row]] = {}
    for row in family.rows:
        case = analysis.case(row)
        if case.nodes > 1 and case.ranks == case.nodes * case.ranks_per_node:
            layouts.setdefault(case.ranks_per_node, []).append(row)
    for on_node, rows in (layouts or {1: []}).items():
        used = [
            row
            for row in rows
            if analysis.case(row).nodes not in left_out and not shares_cores(flags_of([row]))
        ]
        title = joined(words(family.operation), family.variant)
        if on_node > 1:
            title = f"{title}, {on_node} ranks a node"
        counts = tuple(sorted({analysis.case(row).nodes for row in used}))
        whole = len(used) == len(family.rows)
        model = family.model if whole else fit_collective(points_of(analysis, used))
        yield _Layout(analysis, family.environment, title, on_node, rows, used, counts, model)


def _predicted(
    layout: _Layout, resampled: Resampled, nodes: Collection[int], left_out: Collection[int]
) -> Iterator[Predicted]:
    """Of the shortest, the middle and the longest message of a layout that has a model."""
    assert isinstance(layout.model, CollectiveModel)
    medians = resampled.medians([row.series.by_block() for row in layout.used])
    ahead = Ahead(layout.model, points_of(layout.analysis, layout.used), medians)
    errors, notes = {"time": ahead.error}, (_law_text(layout.title, layout.model),)
    lengths = sorted({message_bytes(row) for row in layout.used})
    for length in dict.fromkeys((lengths[0], lengths[len(lengths) // 2], lengths[-1])):
        subject = _subject(layout, length)
        seen = {one.problem.nodes: one for one in subject.measured}
        message = _Message(subject, ahead, length, medians[:, _place(layout, length)])
        asked = sorted({*nodes, *(set(left_out) & seen.keys())} - {1})
        found = [message.prediction(count, seen.get(count), left_out) for count in asked]
        greatest = doubled(max([*nodes, *seen]))[1:]
        curve = [message.prediction(count, None, ()) for count in greatest]
        yield Predicted(
            subject,
            layout.counts,
            tuple(one for one in found if one),
            tuple(one for one in curve if one),
            errors,
            notes,
        )


@dataclass(frozen=True, eq=False)
class _Message:
    """An operation with messages of one length; `first_s` are resamples on the fewest nodes."""

    subject: Subject
    ahead: Ahead
    message_bytes: int
    first_s: Vector

    def prediction(
        self, nodes: int, seen: Measured | None, left_out: Collection[int]
    ) -> Prediction | None:
        """Time and efficiency on so many nodes; None where the law gives none."""
        problem = self.subject.at(nodes)
        assert isinstance(problem, Problem)
        time_s = self.ahead.model.best.time_s(self.message_bytes, problem.ranks)
        generator = np.random.default_rng(SEED)
        drawn = self.ahead.drawn_s(self.message_bytes, problem.ranks, generator)
        if time_s <= 0:
            return None
        return Prediction(
            problem,
            estimate_of(time_s, drawn),
            estimate_of(float(self.first_s[0]) / time_s, self.first_s / drawn),
            1.0,
            None if seen is None else seen_of(seen, left_out),
        )


def _place(layout: _Layout, length: int) -> int:
    """The first row of a length on the fewest nodes that have it."""
    places = [place for place, row in enumerate(layout.used) if message_bytes(row) == length]
    return min(places, key=lambda place: layout.analysis.case(layout.used[place]).nodes)


def _subject(layout: _Layout, length: int) -> Subject:
    """As much a rank on more and more nodes."""
    title = joined(layout.title, bytes_text(length) if length else "")

    def at(nodes: int) -> Problem:
        return Problem(nodes, nodes * layout.on_node, title, 1.0, ())

    seen: dict[int, Measured] = {}
    for row in layout.rows:
        nodes = layout.analysis.case(row).nodes
        if message_bytes(row) == length:
            times = row.series.by_block()
            seen.setdefault(nodes, Measured(at(nodes), times, None, flags_of([row])))
    measured_there = tuple(seen[nodes] for nodes in sorted(seen))
    return Subject(COLLECTIVES, layout.environment, "weak", title, measured_there, at)


def _law_text(title: str, model: CollectiveModel) -> str:
    """The law with what it is not told apart from."""
    text = f"{title}: {expression_text(model.best.startup, model.best.delay)} µs"
    others = list(alternatives(model))
    return f"{text}, undetermined: {'; '.join(others)}" if others else text
