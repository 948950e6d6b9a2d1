# SPDX-License-Identifier: Apache-2.0
"""A collective operation on two full nodes and more, of one layout, and the law of its times.

On one node no message crosses the network, which is another law. Where the report's own fit holds
other rows too, the law is fitted anew to these.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from records.axes import axis_of
from records.flags import shares_cores
from reports.analysis import Analysis, Row, flags_of
from reports.checks.collectives.measured import Measured as Family
from reports.checks.collectives.measured import points_of, words
from reports.models.collectives import CollectiveModel, fit_collective
from reports.models.collectives_ahead import Ahead
from reports.prediction.resampled import Resampled
from reports.prediction.subjects import not_learnt_from
from reports.show.lines import joined


@dataclass(frozen=True, eq=False)
class Layout:
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

    def ahead(self, resampled: Resampled) -> Ahead:
        """The model, which there must be, with resamples of the times that it rests on."""
        assert isinstance(self.model, CollectiveModel)
        medians = resampled.medians([row.series.by_block() for row in self.used])
        return Ahead(self.model, points_of(self.analysis, self.used), medians)

    def has(self, nodes: int) -> bool:
        """Whether a row is of so many nodes."""
        return any(self.analysis.case(row).nodes == nodes for row in self.rows)


def layouts_of(analysis: Analysis, family: Family, left_out: Collection[int]) -> Iterator[Layout]:
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
        yield Layout(*where, rows, used, counts, model, unlearnt)


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
