# SPDX-License-Identifier: Apache-2.0
"""Law of an application over node counts, and what it rests on: α and β of the library, resampled.

One line for each protocol segment of the half round trip (point_to_point). Row 0 of each
array is what was measured, the others are resamples of whole blocks: in one row all numbers come
from the same launches' blocks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np

from plugins.predict.launches import resampled_medians
from plugins.predict.outcome import Measured, Problem, Transfer
from plugins.predict.parts import LEAST_POINTS, line_of
from plugins.predict.point_to_point import MOST_SIZES, segmented
from plugins.predict.scaling import Counts, fit_law
from reports.analysis.run import Analysis
from reports.checks.common import ByBlock, echo_times
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
        found = segmented(sizes, medians[0].tolist())
        edges = np.cumsum([0, *(line.points for line in found.segments)]).tolist()
    lines = [line_of(np.array(sizes[a:b]), medians[:, a:b]) for a, b in pairwise(edges)]
    alpha, beta = (np.column_stack(part) for part in zip(*lines, strict=True))
    return Link(np.array([float(sizes[high - 1]) for high in edges[1:]]), alpha, beta)


@dataclass(frozen=True, eq=False)
class Library:
    """A library on the run's nodes; `inside` and `between` are None where nothing was measured."""

    resampled: Resampled
    inside: Link | None = None
    between: Link | None = None

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

    def sums_s(self, count: int, ranks: int, nodes: int) -> Vector:
        """So many global sums: ⌈log₂p⌉ messages each, as recursive doubling sends (R. Thakur,
        R. Rabenseifner and W. Gropp, Int. J. High Perform. Comput. Appl. 19, 2005)."""
        starts = count * math.ceil(math.log2(ranks))
        return self.messages_s([Transfer(starts, starts * SUM_BYTES, nodes > 1)] if starts else [])

    def communication_s(self, problem: Problem) -> Vector:
        """Time by α and β of the problem's messages and sums, in each resample."""
        total = self.messages_s(problem.transfers)
        return total + self.sums_s(problem.sums, problem.ranks, problem.nodes)


def library_of(analysis: Analysis, environment: str) -> Library:
    """The library as the run measured it."""
    resampled = Resampled.of(analysis, environment)
    inside, between = (
        _link(echo_times(analysis, environment, placement=place), resampled)
        for place in ("within-node", "between-nodes")
    )
    return Library(resampled, inside, between)


#: What is left to do where α and β are missing.
ADD_ECHO = "add the check pt2pt or echo with placement {place} and at least four sizes"


@dataclass(frozen=True, slots=True)
class Gap:
    """Why there is no law or no time, and what adds it."""

    why: str
    add: str


@dataclass(frozen=True, slots=True)
class ExpectedTime:
    """The time in s, draws of it with all that is not known, and the share of communication."""

    value: float
    drawn: Vector
    communication_share: float


class ApplicationLaw:
    """su3_rmd or HPL: computing and messages over node counts (scaling)."""

    def __init__(self, library: Library, used: Sequence[Measured]) -> None:
        self.library = library
        problems = [one.problem for one in used]
        time_s = library.resampled.medians([one.time_s for one in used])
        known = [one.communication_s for one in used if one.communication_s]
        messages = [np.broadcast_to(library.communication_s(one), len(time_s)) for one in problems]
        counts = Counts(
            np.array([float(one.nodes) for one in problems]),
            np.array([one.work for one in problems]),
            np.column_stack(messages),
            time_s,
            library.resampled.medians(known) if len(known) == len(used) else None,
        )
        self.law = fit_law(counts)
        self.errors = self.law.scales
        self.first_s = time_s[:, 0] / problems[0].work

    def expected(self, problem: Problem) -> ExpectedTime | Gap:
        """The time by the law, its errors drawn; a gap where α and β were not measured."""
        if place := self.library.lacks(problem.transfers):
            return Gap(f"α and β {place} were not measured", ADD_ECHO.format(place=place))
        at = problem.nodes, problem.work, self.library.communication_s(problem)
        compute, messages = (float(part[0]) for part in self.law.parts_s(*at))
        drawn = np.add(*self.law.drawn_s(*at, np.random.default_rng(SEED)))
        return ExpectedTime(compute + messages, drawn, messages / (compute + messages))
