# SPDX-License-Identifier: Apache-2.0
"""What a run measured of a library's messages: α, β and the law of its global sums, resampled.

One line for each protocol segment of the half round trip (models.point_to_point). Row 0 of each
array is what was measured, the others are resamples of whole blocks: in one row all numbers of a
library come from the same launches' blocks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from reports.analysis import Analysis
from reports.checks.collectives.measured import measured
from reports.checks.common.echo_times import ByBlock, echo_times
from reports.models.communication import Transfer
from reports.models.launches import resampled_medians
from reports.models.parts import LEAST_POINTS, line_of
from reports.models.point_to_point import MOST_SIZES, segmented
from reports.statistics.descriptive import Matrix, Vector

#: Fewer lengths give no line.
LEAST_SIZES = 2
SEED = 18


@dataclass(frozen=True)
class Resampled:
    """Medians over launches and over resampled blocks; the same blocks in every call."""

    blocks: tuple[int, ...]

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

    `sum_law` is the time of the run's allreduce by bytes and ranks, where a law was fitted to it.
    """

    resampled: Resampled
    inside: Link | None
    between: Link | None
    sum_law: Callable[[float, int], float] | None

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

    def sums_s(self, count: int, message_bytes: int, ranks: int, *, between: bool) -> Vector:
        """So many global sums: by the law of the run's allreduce, else ⌈log₂p⌉ messages each, as
        recursive doubling sends (R. Thakur, R. Rabenseifner and W. Gropp, Int. J. High Perform.
        Comput. Appl. 19, 2005)."""
        if ranks == 1:
            return np.zeros(1)
        if self.sum_law is not None:
            return np.array([count * self.sum_law(message_bytes, ranks)])
        starts = count * math.ceil(math.log2(ranks))
        return self.messages_s([Transfer(starts, starts * message_bytes, between)])


def resampled_of(analysis: Analysis, environment: str) -> Resampled:
    """The blocks of an environment's launches."""
    mine = [row.series for row in analysis.rows if analysis.case(row).environment == environment]
    return Resampled(tuple(sorted({int(b) for one in mine for b in one.blocks})))


def machine_of(analysis: Analysis, environment: str) -> Machine:
    """The library as the run measured it."""
    resampled = resampled_of(analysis, environment)
    inside, between = (
        link_of(echo_times(analysis, environment, placement=place), resampled)
        for place in ("within-node", "between-nodes")
    )
    laws = [
        one.model.best
        for one in measured(analysis)
        if (one.environment, one.operation) == (environment, "allreduce")
        and not isinstance(one.model, str)
    ]
    return Machine(resampled, inside, between, laws[0].time_s if laws else None)
