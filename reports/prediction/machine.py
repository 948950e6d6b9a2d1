# SPDX-License-Identifier: Apache-2.0
"""What a run measured of a library's messages: α, β and the law of its global sums, resampled.

One line for each protocol segment of the half round trip (models.point_to_point). Row 0 of each
array is what was measured, the others are resamples of whole blocks.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from reports.analysis import Analysis
from reports.checks.collectives.measured import measured
from reports.checks.common.echo_times import ByBlock, echo_times
from reports.models.collectives import CollectiveModel
from reports.models.collectives_ahead import Ahead
from reports.models.communication import Transfer
from reports.models.parts import LEAST_POINTS, line_of
from reports.models.point_to_point import MOST_SIZES, segmented
from reports.prediction.layouts import layouts_of
from reports.prediction.resampled import SEED, Resampled, resampled_of
from reports.statistics.descriptive import Matrix, Vector

#: Fewer lengths give no line.
LEAST_SIZES = 2
#: A global sum of su3_rmd: four values of three 8-byte integers.
SUM_BYTES = 96


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


def link_of(times: dict[int, ByBlock], resampled: Resampled) -> Link | None:
    """The lines of half round trips by message length; None with too few lengths."""
    sizes = sorted(times)[:MOST_SIZES]
    if len(sizes) < LEAST_SIZES:
        return None
    medians = resampled.medians([times[size] for size in sizes])
    edges = [0, len(sizes)]
    if len(sizes) >= LEAST_POINTS:
        found = segmented(sizes, medians[0].tolist(), replicates=1)
        edges = np.cumsum([0, *(line.points for line in found.segments)]).tolist()
    lines = []
    for low, high in pairwise(edges):
        lines.append(line_of(np.array(sizes[low:high]), medians[:, low:high]))
    alpha, beta = (np.column_stack(part) for part in zip(*lines, strict=True))
    return Link(np.array([float(sizes[high - 1]) for high in edges[1:]]), alpha, beta)


@dataclass(frozen=True, eq=False)
class Machine:
    """A library on the run's nodes; `inside` and `between` are None where nothing was measured.

    `sums` has the run's allreduce by ranks a node, where a law was fitted to it.
    """

    resampled: Resampled
    inside: Link | None
    between: Link | None
    sums: Mapping[int, Ahead]

    def lacks(self, transfers: Sequence[Transfer]) -> str | None:
        """The placement whose messages are needed and were not measured."""
        for transfer in transfers:
            if (self.between if transfer.between_nodes else self.inside) is None:
                return "between-nodes" if transfer.between_nodes else "within-node"
        return None

    def messages_s(self, transfers: Sequence[Transfer]) -> Vector:
        """All transfers, one after the other, in each resample."""
        total = np.zeros(1)
        for transfer in transfers:
            link = self.between if transfer.between_nodes else self.inside
            assert link is not None
            total = total + link.time_s(transfer)
        return total

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
            one_s = ahead.model.best.time_s(SUM_BYTES, ranks)
            drawn_s = ahead.drawn_s(SUM_BYTES, ranks, np.random.default_rng([SEED, ranks]))
            drawn_s[0] = one_s
            # A resample without a block of one of the law's points has no law.
            return np.asarray(count * np.where(np.isfinite(drawn_s), drawn_s, one_s))
        starts = count * math.ceil(math.log2(ranks))
        between = nodes > 1
        return self.messages_s([Transfer(starts, starts * SUM_BYTES, between)] if starts else [])


def machine_of(analysis: Analysis, environment: str, left_out: Collection[int]) -> Machine:
    """The library as the run measured it; of global sums without the node counts `left_out`."""
    resampled = resampled_of(analysis, environment)
    inside, between = (
        link_of(echo_times(analysis, environment, placement=place), resampled)
        for place in ("within-node", "between-nodes")
    )
    sums: dict[int, Ahead] = {}
    for family in measured(analysis):
        if (family.environment, family.operation) == (environment, "allreduce"):
            for layout in layouts_of(analysis, family, left_out):
                if layout.on_node not in sums and isinstance(layout.model, CollectiveModel):
                    sums[layout.on_node] = layout.ahead(resampled)
    return Machine(resampled, inside, between, sums)
