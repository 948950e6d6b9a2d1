# SPDX-License-Identifier: Apache-2.0
"""Collective operations on node counts that a run did not measure, by laws of its report's kinds.

Where none of models.collectives fits what was measured on a layout, nothing is predicted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from reports.analysis import Analysis, flags_of
from reports.checks.collectives.expressions import alternatives, expression_text
from reports.checks.collectives.measured import CHECK as COLLECTIVES
from reports.checks.collectives.measured import measured, words
from reports.models.collectives import LEAST_COUNTS, CollectiveModel
from reports.models.collectives_ahead import Ahead
from reports.notation.units import bytes_text
from reports.prediction.layouts import Layout, layouts_of
from reports.prediction.outcome import (
    ADD_COUNT,
    Missing,
    Predicted,
    Prediction,
    doubled,
    estimate_of,
    not_measured,
    seen_of,
)
from reports.prediction.resampled import SEED, Resampled, resampled_of
from reports.prediction.subjects import Measured, Problem, Subject
from reports.show.lines import joined
from reports.show.rows import message_bytes
from reports.statistics.descriptive import Vector

#: What adds laws, and what is left to do where none fits.
ADD_OPERATIONS = (
    f"add to the check collectives `ranks` of at least {LEAST_COUNTS} node counts above 1, on full"
    " nodes of one layout"
)


def predicted_operations(
    analysis: Analysis, environment: str, nodes: Collection[int], left_out: Collection[int]
) -> tuple[list[Predicted], list[Missing]]:
    """Predictions of each operation of an environment, for its shortest, middle and longest
    message."""
    layouts: dict[str, list[Layout]] = defaultdict(list)
    for family in measured(analysis):
        if family.environment == environment:
            layouts[family.operation] += layouts_of(analysis, family, left_out)
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
            add = ADD_OPERATIONS if len(best.counts) < LEAST_COUNTS else ADD_COUNT
            why_not[best.why_not, add].append(words(operation))
    missing += [
        Missing(COLLECTIVES, environment, ", ".join(names), why, add)
        for (why, add), names in why_not.items()
    ]
    if predicted and 1 in {*nodes, *left_out}:
        why = "no message crosses the network there, so that the law is another"
        missing.append(Missing(COLLECTIVES, environment, "1 node", why, "ask for 2 nodes or more"))
    return [one for one in predicted if one.predictions], list(dict.fromkeys(missing))


def _predicted(
    layout: Layout, resampled: Resampled, nodes: Collection[int], left_out: Collection[int]
) -> tuple[list[Predicted], list[Missing]]:
    """Of the shortest, the middle and the longest message of a layout that has a model."""
    ahead = layout.ahead(resampled)
    errors, notes = {"time": ahead.error}, (_law_text(layout.title, ahead.model), *layout.unlearnt)
    predicted: list[Predicted] = []
    missing: list[Missing] = []
    lengths = sorted({message_bytes(row) for row in layout.used})
    for length in dict.fromkeys((lengths[0], lengths[len(lengths) // 2], lengths[-1])):
        subject = _subject(layout, length)
        seen = {one.problem.nodes: one for one in subject.measured}
        message = _Message(subject, ahead, length, ahead.time_s[:, _place(layout, length)])
        asked = sorted({*nodes, *(set(left_out) & seen.keys())} - {1})
        found = {count: message.prediction(count, seen.get(count), left_out) for count in asked}
        missing += _gaps(layout, subject, found, left_out)
        greatest = doubled(max([*nodes, *seen]))[1:]
        curve = [message.prediction(count, None, ()) for count in greatest]
        there, between = (tuple(filter(None, ones)) for ones in (found.values(), curve))
        predicted.append(Predicted(subject, layout.counts, there, between, errors, notes))
    return predicted, missing


def _gaps(
    layout: Layout,
    subject: Subject,
    found: Mapping[int, Prediction | None],
    left_out: Collection[int],
) -> Iterator[Missing]:
    """What was asked and has no time, and what was left out and never measured."""
    for count in (count for count, one in found.items() if one is None):
        what = f"{subject.title} on {count} nodes"
        why = "the law gives no time above 0 there"
        yield Missing(COLLECTIVES, layout.environment, what, why, ADD_COUNT)
    for count in sorted(set(left_out) - found.keys() - {1}):
        # What no length has is said once.
        what = f"{subject.title if layout.has(count) else layout.title} on {count} nodes"
        yield not_measured(COLLECTIVES, layout.environment, what)


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


def _place(layout: Layout, length: int) -> int:
    """The first row of a length on the fewest nodes that have it."""
    places = [place for place, row in enumerate(layout.used) if message_bytes(row) == length]
    return min(places, key=lambda place: layout.analysis.case(layout.used[place]).nodes)


def _subject(layout: Layout, length: int) -> Subject:
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
