# SPDX-License-Identifier: Apache-2.0
"""Collective operations on node counts that a run did not measure, by laws of its report's kinds.

Only launches on two full nodes and more, of one layout: on one node no message crosses the network,
which is another law. Where the report's own fit holds other rows too, the laws are fitted anew to
these; where none of models.collectives fits them, nothing is predicted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from records.axes import axis_of
from records.flags import shares_cores
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
from reports.prediction.subjects import Measured, Problem, Subject, not_learnt_from
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
    missing: list[Missing] = []
    why_not: dict[tuple[str, str], list[str]] = defaultdict(list)
    for operation, mine in layouts.items():
        known = [one for one in mine if isinstance(one.model, CollectiveModel)]
        for one in known:
            found, gaps = _predicted(one, resampled, nodes, left_out)
            predicted += found
            missing += gaps
        if not known:
            # The layout with the most counts is nearest to what is needed.
            best = max(mine, key=lambda one: len(one.counts))
            add = ADD_OPERATIONS if len(best.counts) < LEAST_COUNTS else _ADD_COUNT
            why_not[best.why_not, add].append(words(operation))
    missing += [
        Missing(COLLECTIVES, environment, ", ".join(names), why, add)
        for (why, add), names in why_not.items()
    ]
    if predicted and 1 in {*nodes, *left_out}:
        why = "no message crosses the network there, so that the law is another"
        missing.append(Missing(COLLECTIVES, environment, "1 node", why, "ask for 2 nodes or more"))
    return [one for one in predicted if one.predictions], list(dict.fromkeys(missing))


@dataclass(frozen=True, eq=False)
class _Layout:
    """An operation with `on_node` ranks on each of two nodes and more: its rows, and those of them
    that the model rests on, with their node counts; `unlearnt` says which others there are."""

    analysis: Analysis
    environment: str
    title: str
    on_node: int
    rows: list[Row]
    used: list[Row]
    counts: tuple[int, ...]
    model: CollectiveModel | str
    unlearnt: tuple[str, ...]

    @property
    def why_not(self) -> str:
        """Why there is no law."""
        return f"{self.model} ({'; '.join(self.unlearnt)})" if self.unlearnt else str(self.model)

    def has(self, nodes: int) -> bool:
        """Whether a row is of so many nodes."""
        return any(self.analysis.case(row).nodes == nodes for row in self.rows)


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
        title = _title(family, on_node)
        counts = tuple(sorted({analysis.case(row).nodes for row in used}))
        whole = len(used) == len(family.rows)
        model = family.model if whole else fit_collective(points_of(analysis, used))
        unlearnt = tuple(not_learnt_from(_shared(analysis, rows), left_out))
        where = analysis, family.environment, title, on_node
        yield _Layout(*where, rows, used, counts, model, unlearnt)


def _title(family: Family, on_node: int) -> str:
    """The operation with what tells it apart, the layout among it."""
    told = f"{axis_of('ranks_per_node').title} {on_node}" in family.variant.split(", ")
    layout = f"{on_node} ranks a node" if on_node > 1 and not told else ""
    return joined(words(family.operation), family.variant, layout)


def _shared(analysis: Analysis, rows: Sequence[Row]) -> dict[int, bool]:
    """Of each node count whether ranks shared cores in all its rows."""
    shared: dict[int, bool] = {}
    for row in rows:
        nodes = analysis.case(row).nodes
        shared[nodes] = shared.get(nodes, True) and shares_cores(flags_of([row]))
    return shared


def _predicted(
    layout: _Layout, resampled: Resampled, nodes: Collection[int], left_out: Collection[int]
) -> tuple[list[Predicted], list[Missing]]:
    """Of the shortest, the middle and the longest message of a layout that has a model."""
    assert isinstance(layout.model, CollectiveModel)
    medians = resampled.medians([row.series.by_block() for row in layout.used])
    ahead = Ahead(layout.model, points_of(layout.analysis, layout.used), medians)
    errors, notes = {"time": ahead.error}, (_law_text(layout.title, layout.model), *layout.unlearnt)
    predicted: list[Predicted] = []
    missing: list[Missing] = []
    lengths = sorted({message_bytes(row) for row in layout.used})
    for length in dict.fromkeys((lengths[0], lengths[len(lengths) // 2], lengths[-1])):
        subject = _subject(layout, length)
        seen = {one.problem.nodes: one for one in subject.measured}
        message = _Message(subject, ahead, length, medians[:, _place(layout, length)])
        asked = sorted({*nodes, *(set(left_out) & seen.keys())} - {1})
        found = {count: message.prediction(count, seen.get(count), left_out) for count in asked}
        missing += _gaps(layout, subject, found, left_out)
        greatest = doubled(max([*nodes, *seen]))[1:]
        curve = [message.prediction(count, None, ()) for count in greatest]
        there, between = (tuple(filter(None, ones)) for ones in (found.values(), curve))
        predicted.append(Predicted(subject, layout.counts, there, between, errors, notes))
    return predicted, missing


def _gaps(
    layout: _Layout,
    subject: Subject,
    found: Mapping[int, Prediction | None],
    left_out: Collection[int],
) -> Iterator[Missing]:
    """What was asked and has no time, and what was left out and never measured."""
    for count in (count for count, one in found.items() if one is None):
        what = f"{subject.title} on {count} nodes"
        why = "the law gives no time above 0 there"
        yield Missing(COLLECTIVES, layout.environment, what, why, _ADD_COUNT)
    for count in sorted(set(left_out) - found.keys() - {1}):
        # What no length has is said once.
        what = f"{subject.title if layout.has(count) else layout.title} on {count} nodes"
        why = "left out, but not measured on so many full nodes"
        yield Missing(COLLECTIVES, layout.environment, what, why, _ADD_COUNT)


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
        if time_s <= 0:
            return None
        generator = np.random.default_rng(SEED)
        drawn = self.ahead.drawn_s(self.message_bytes, problem.ranks, generator)
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
