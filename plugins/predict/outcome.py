# SPDX-License-Identifier: Apache-2.0
"""Predictions and their subjects: problems, and the keys of what is said of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median
from typing import Annotated, Literal

import numpy as np

from records.flags import shares_cores
from records.forms import Form, Part, key
from reports.checks.common import ByBlock
from reports.statistics.descriptive import LEVEL, Vector

#: strong: one problem on more and more nodes; weak: as much a rank on more and more.
Scaling = Literal["strong", "weak"]


@dataclass(frozen=True, slots=True)
class Transfer:
    """Messages that the busiest rank sends one after the other, and how far.

    `starts` counts start-up times, `sent_bytes` is the volume of them all; `sharing` ranks of a
    node send through its link at once.
    """

    starts: float
    sent_bytes: float
    between_nodes: bool
    sharing: int = 1

    @property
    def message_bytes(self) -> float:
        """The mean length of a message."""
        return self.sent_bytes / self.starts


@dataclass(frozen=True, slots=True)
class Problem:
    """Problem on `nodes`: work of a rank (site·steps, or flop), messages of the busiest rank,
    how many global sums."""

    nodes: int
    ranks: int
    text: str
    work: float
    transfers: tuple[Transfer, ...] = ()
    sums: int = 0


@dataclass(frozen=True, slots=True)
class Measured:
    """A problem that was run: the times of its launches and, where known, of their messages."""

    problem: Problem
    time_s: ByBlock
    communication_s: ByBlock | None
    flags: tuple[str, ...]

    @property
    def shares_cores(self) -> bool:
        """True if ranks shared cores: no time of the machine."""
        return shares_cores(self.flags)

    @property
    def median_s(self) -> float:
        """The median over launches."""
        return median(self.time_s.values())


@dataclass(frozen=True)
class Subject:
    """`measured` by ascending nodes, one each; `at` gives the problem on a number of nodes, or says
    why there is none."""

    check: str
    environment: str
    scaling: Scaling
    title: str
    measured: tuple[Measured, ...]
    at: Callable[[int], Problem | str] = field(compare=False)

    @property
    def by_nodes(self) -> dict[int, Measured]:
        """Measurements by number of nodes."""
        return {one.problem.nodes: one for one in self.measured}


class EstimatePart(Part):
    """A value with its interval."""

    value: Annotated[float, key("The law's value.")]
    low: Annotated[float, key("Lower end of the 95 % interval.")]
    high: Annotated[float, key("Upper end of the 95 % interval.")]

    @classmethod
    def of(cls, value: float, drawn: Vector) -> EstimatePart:
        """A value with the middle 95 % of its draws."""
        tail = (1 - LEVEL) / 2
        low, high = np.quantile(drawn, [tail, 1 - tail]).tolist()
        return cls(value, min(low, value), max(high, value))

    def holds(self, value: float) -> bool:
        """True if the interval holds a value."""
        return self.low <= value <= self.high


class MeasuredPart(Part):
    """Measured time on the node count that is predicted."""

    value: Annotated[float, key("Median time over launches, s.")]
    n: Annotated[int, key("Launches.")]
    left_out: Annotated[bool, key("True if the law excludes it (--leave-out).")]
    inside: Annotated[bool, key("True if it is in the predicted interval.")]
    flags: Annotated[list[str], key("Marks of the launches.")]


class PointPart(Part):
    """Subject on one node count."""

    nodes: Annotated[int, key("Nodes.")]
    ranks: Annotated[int, key("Ranks.")]
    problem: Annotated[
        str,
        key("Problem to run: the lattice and its process grid, or N and the grid."),
    ]
    time_s: Annotated[EstimatePart, key("Program time of su3_rmd, solution time of HPL, s.")]
    efficiency: Annotated[
        EstimatePart, key("Work a rank and second, over that on the fewest measured nodes.")
    ]
    communication_share: Annotated[float, key("Communication in the time, by the law.")]
    measured: Annotated[MeasuredPart | None, key("Time that was measured there; null: none.")]


class SubjectPart(Part):
    """A problem of one size (strong) or of one size a rank (weak) in an environment."""

    check: Annotated[str, key("The check.")]
    environment: Annotated[str, key("The environment.")]
    scaling: Annotated[
        Literal["strong", "weak"],
        key("strong: one problem on more nodes; weak: as much a rank on more nodes."),
    ]
    title: Annotated[str, key("The lattice or N, or what a rank has of it.")]
    learnt_from: Annotated[list[int], key("Node counts that the law rests on.")]
    errors: Annotated[
        dict[str, float],
        key("Relative error of a node count, by leave-one-out: of time, or compute and messages."),
    ]
    notes: Annotated[list[str], key("Other facts to know.")]
    points: Annotated[list[PointPart], key("Predictions, by ascending nodes.")]


class MissingPart(Part):
    """Problem that cannot be predicted from this run."""

    check: Annotated[str, key("The check.")]
    environment: Annotated[str, key("The environment; empty: any.")]
    what: Annotated[str, key("The problem.")]
    why: Annotated[str, key("Reason: what is missing or does not fit.")]
    add: Annotated[str, key("Additions to the campaign.")]


class PredictionForm(Form, kw_only=True):
    """`assay predict`: times on node counts that were not measured."""

    schema: Annotated[int, key("The version of this form.")] = 2
    run_id: Annotated[str, key("The run's id.")]
    campaign: Annotated[str, key("The campaign.")]
    site: Annotated[str, key("The site.")]
    nodes: Annotated[list[int], key("Node counts that were asked for.")]
    left_out: Annotated[list[int], key("Node counts that the law excludes.")]
    held_out: Annotated[int, key("Measured points that were left out and predicted.")]
    inside: Annotated[int, key("Number of them in their 95 % intervals.")]
    subjects: Annotated[list[SubjectPart], key("Predictions.")]
    missing: Annotated[list[MissingPart], key("Problems not predicted, and what to add.")]


def scaling_words(scaling: Scaling) -> str:
    """ "one problem on more nodes", "as much a rank on more nodes"."""
    return "one problem on more nodes" if scaling == "strong" else "as much a rank on more nodes"
