# SPDX-License-Identifier: Apache-2.0
"""Measurements of a library by a run: α, β and laws of its collective operations, resampled.

One line for each protocol segment of the half round trip (models.point_to_point). Row 0 of each
array is what was measured, the others are resamples of whole blocks: in one row all numbers come
from the same launches' blocks.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Self

import numpy as np

from plugins.predict.models.collectives import CollectiveModel, fit_collective
from plugins.predict.models.collectives_ahead import Ahead
from plugins.predict.models.communication import Transfer
from plugins.predict.models.launches import resampled_medians
from plugins.predict.models.parts import LEAST_POINTS, line_of
from plugins.predict.models.point_to_point import MOST_SIZES, segmented
from plugins.predict.operations import Measured as Family
from plugins.predict.operations import measured, points_of, words
from plugins.predict.outcome import Problem
from plugins.predict.subjects import not_learnt_from
from records.flags import shares_cores
from records.units import axis_of
from reports.analysis.run import Analysis, Row, flags_of
from reports.checks.common import ByBlock, echo_times
from reports.show.lines import joined
from reports.statistics.descriptive import Matrix, Vector

SEED = 18
#: Fewer lengths give no line.
LEAST_SIZES = 2
#: A global sum of su3_rmd: four values of three 8-byte integers.
SUM_BYTES = 96


@dataclass(frozen=True)
class Resampled:
    """Medians over launches and over resampled blocks; the same blocks in every call."""

    blocks: tuple[int, ...]

    @classmethod
    def of(cls, analysis: Analysis, environment: str) -> Self:
        """Of all blocks in which an environment has a value."""
        mine = (
            row.series for row in analysis.rows if analysis.case(row).environment == environment
        )
        return cls(tuple(sorted({int(block) for one in mine for block in one.blocks})))

    def medians(self, values: Sequence[ByBlock]) -> Matrix:
        """A column for each series: the median over its launches, then those of the resamples."""
        rows = np.array([[one.get(block, np.nan) for block in self.blocks] for one in values])
        return np.vstack([np.nanmedian(rows, axis=1), resampled_medians(rows, SEED)])


@dataclass(frozen=True, eq=False)
class Link:
    """α in s and β in s a byte of each protocol segment, shape (resamples, segments)."""

    last_bytes: Vector
    alpha_s: Matrix
    beta_s_per_byte: Matrix

    def time_s(self, transfer: Transfer) -> Vector:
        """The transfer in each resample, in the segment of its messages' length."""
        place = int(np.searchsorted(self.last_bytes[:-1], transfer.message_bytes))
        volume = transfer.sharing * transfer.sent_bytes
        return np.asarray(
            transfer.starts * self.alpha_s[:, place] + volume * self.beta_s_per_byte[:, place]
        )


def _link(times: dict[int, ByBlock], resampled: Resampled) -> Link | None:
    """The lines of half round trips by message length; None with too few lengths."""
    sizes = sorted(times)[:MOST_SIZES]
    if len(sizes) < LEAST_SIZES:
        return None
    medians = resampled.medians([times[size] for size in sizes])
    edges = [0, len(sizes)]
    if len(sizes) >= LEAST_POINTS:
        found = segmented(sizes, medians[0].tolist(), replicates=1)
        edges = np.cumsum([0, *(line.points for line in found.segments)]).tolist()
    lines = [line_of(np.array(sizes[a:b]), medians[:, a:b]) for a, b in pairwise(edges)]
    alpha, beta = (np.column_stack(part) for part in zip(*lines, strict=True))
    return Link(np.array([float(sizes[high - 1]) for high in edges[1:]]), alpha, beta)


@dataclass(frozen=True, eq=False)
class Layout:
    """An operation with `on_node` ranks on each of two nodes and more: its rows, and those of them
    that the model rests on, with their node counts; `unlearnt` says which others there are.

    On one node no message crosses the network, which is another law. Where the report's own fit
    holds other rows too, the law is fitted anew to these."""

    analysis: Analysis
    operation: str
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

    def ahead(self, resampled: Resampled) -> Ahead:
        """The model, which there must be, with resamples of the times that it rests on."""
        assert isinstance(self.model, CollectiveModel)
        medians = resampled.medians([row.series.by_block() for row in self.used])
        return Ahead(self.model, points_of(self.analysis, self.used), medians)


def _layouts(analysis: Analysis, environment: str, left_out: Collection[int]) -> Iterator[Layout]:
    """Layouts of each operation; one without rows where no launch has full nodes."""
    for family in measured(analysis):
        if family.environment != environment:
            continue
        layouts: dict[int, list[Row]] = {}
        for row in family.rows:
            case = analysis.case(row)
            if case.nodes > 1 and case.ranks == case.nodes * case.ranks_per_node:
                layouts.setdefault(case.ranks_per_node, []).append(row)
        for on_node, rows in (layouts or {1: []}).items():
            yield _layout(analysis, family, on_node, rows, left_out)


def _layout(
    analysis: Analysis, family: Family, on_node: int, rows: list[Row], left_out: Collection[int]
) -> Layout:
    shared: dict[int, bool] = {}
    used = []
    for row in rows:
        nodes, crowded = analysis.case(row).nodes, shares_cores(flags_of([row]))
        shared[nodes] = shared.get(nodes, True) and crowded
        if nodes not in left_out and not crowded:
            used.append(row)
    whole = len(used) == len(family.rows)
    in_variant = f"{axis_of('ranks_per_node').title} {on_node}" in family.variant.split(", ")
    layout = f"{on_node} ranks a node" if on_node > 1 and not in_variant else ""
    return Layout(
        analysis,
        family.operation,
        joined(words(family.operation), family.variant, layout),
        on_node,
        rows,
        used,
        tuple(sorted({analysis.case(row).nodes for row in used})),
        family.model if whole else fit_collective(points_of(analysis, used)),
        tuple(not_learnt_from(shared, left_out)),
    )


@dataclass(frozen=True, eq=False)
class Library:
    """A library on the run's nodes; `inside` and `between` are None where nothing was measured.

    `layouts` are those of all operations; `sums` has the run's allreduce by ranks a node, where a
    law was fitted to it.
    """

    resampled: Resampled
    inside: Link | None = None
    between: Link | None = None
    layouts: Sequence[Layout] = ()
    sums: Mapping[int, Ahead] = field(default_factory=dict)

    def lacks(self, transfers: Sequence[Transfer]) -> str | None:
        """The placement whose messages are needed and were not measured."""
        for one in transfers:
            if self._link(one) is None:
                return "between-nodes" if one.between_nodes else "within-node"
        return None

    def messages_s(self, transfers: Sequence[Transfer]) -> Vector:
        """All transfers, one after the other, in each resample."""
        total = np.zeros(1)
        for one in transfers:
            link = self._link(one)
            assert link is not None
            total = total + link.time_s(one)
        return total

    def _link(self, transfer: Transfer) -> Link | None:
        return self.between if transfer.between_nodes else self.inside

    def law_of_sums(self, ranks: int, nodes: int) -> Ahead | None:
        """The law of global sums of so many ranks on full nodes; None where none gives a time."""
        ahead = self.sums.get(ranks // nodes) if nodes > 1 else None
        known = ahead is not None and ahead.model.best.time_s(SUM_BYTES, ranks) > 0
        return ahead if known else None

    def sums_s(self, count: int, ranks: int, nodes: int) -> Vector:
        """So many global sums: by the law of the run's allreduce, else ⌈log₂p⌉ messages each, as
        recursive doubling sends (R. Thakur, R. Rabenseifner and W. Gropp, Int. J. High Perform.
        Comput. Appl. 19, 2005)."""
        ahead = self.law_of_sums(ranks, nodes)
        if ahead is not None:
            return np.asarray(count * ahead.resampled_s(SUM_BYTES, ranks, SEED))
        starts = count * math.ceil(math.log2(ranks))
        between = nodes > 1
        return self.messages_s([Transfer(starts, starts * SUM_BYTES, between)] if starts else [])

    def communication_s(self, problem: Problem) -> Vector:
        """Time by α and β of the problem's messages and sums, in each resample."""
        total = self.messages_s(problem.transfers)
        return total + self.sums_s(problem.sums, problem.ranks, problem.nodes)

    def sums_note(self, problems: Sequence[Problem]) -> list[str]:
        """On which node counts global sums have no law of their own."""
        summing = (one for one in problems if one.sums and one.ranks > 1)
        without = sorted({o.nodes for o in summing if self.law_of_sums(o.ranks, o.nodes) is None})
        return [
            f"global sums as ⌈log₂p⌉ messages on {', '.join(map(str, without))}"
            f" node{'s' * (without != [1])}: no law of allreduce, with so many ranks a node, there"
        ] * bool(without)


def library_of(analysis: Analysis, environment: str, left_out: Collection[int]) -> Library:
    """The library as the run measured it; of global sums without the node counts `left_out`."""
    resampled = Resampled.of(analysis, environment)
    inside, between = (
        _link(echo_times(analysis, environment, placement=place), resampled)
        for place in ("within-node", "between-nodes")
    )
    layouts = [*_layouts(analysis, environment, left_out)]
    sums: dict[int, Ahead] = {}
    for layout in layouts:
        known = isinstance(layout.model, CollectiveModel)
        if layout.operation == "allreduce" and known and layout.on_node not in sums:
            sums[layout.on_node] = layout.ahead(resampled)
    return Library(resampled, inside, between, layouts, sums)
