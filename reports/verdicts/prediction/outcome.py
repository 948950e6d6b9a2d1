# SPDX-License-Identifier: Apache-2.0
"""What is predicted, of what, and what is said about it: plain values."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from records.flags import shares_cores
from reports.checks.common.blocks import ByBlock
from reports.models.communication import Transfer
from reports.statistics.descriptive import LEVEL, Vector

#: strong: one problem on more and more nodes; weak: as much a rank on more and more.
Scaling = Literal["strong", "weak"]


@dataclass(frozen=True, slots=True)
class Problem:
    """What runs on `nodes`: work of a rank (site·steps, or flop), messages of the busiest rank,
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
        """Whether ranks shared cores: no time of the machine."""
        return shares_cores(self.flags)


@dataclass(frozen=True)
class Subject:
    """`measured` by ascending nodes, one each; `at` gives the problem on a number of nodes, or says
    why there is none; below `least_nodes` another law holds."""

    check: str
    environment: str
    scaling: Scaling
    title: str
    measured: tuple[Measured, ...]
    at: Callable[[int], Problem | str] = field(compare=False)
    least_nodes: int = 1

    @property
    def by_nodes(self) -> dict[int, Measured]:
        """What was measured on each number of nodes."""
        return {one.problem.nodes: one for one in self.measured}


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with the ends of its 95 % interval."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, value: float, drawn: Vector) -> Estimate:
        """A value with the middle 95 % of its draws."""
        tail = (1 - LEVEL) / 2
        low, high = np.quantile(drawn, [tail, 1 - tail]).tolist()
        return cls(value, min(low, value), max(high, value))

    def holds(self, value: float) -> bool:
        """Whether the interval holds a value."""
        return self.low <= value <= self.high


@dataclass(frozen=True, slots=True)
class Seen:
    """What was measured where something is predicted: the median over n launches, in s."""

    value: float
    n: int
    left_out: bool
    flags: tuple[str, ...]

    @classmethod
    def of(cls, measured: Measured, left_out: Collection[int]) -> Seen:
        """What was measured of a problem."""
        values = np.array(list(measured.time_s.values()))
        is_left_out = measured.problem.nodes in left_out
        return cls(float(np.median(values)), len(values), is_left_out, measured.flags)


@dataclass(frozen=True, slots=True)
class Prediction:
    """Time in s, efficiency over the fewest measured nodes, share of communication in the time."""

    problem: Problem
    time_s: Estimate
    efficiency: Estimate
    communication_share: float
    seen: Seen | None = None


@dataclass(frozen=True)
class Predicted:
    """A subject with its predictions; `used` are the node counts that the law rests on.

    `curve` are predictions over all nodes between, for pictures; `errors` those of a node count by
    what they are of; `notes` what else to know.
    """

    subject: Subject
    used: tuple[int, ...]
    predictions: tuple[Prediction, ...]
    curve: tuple[Prediction, ...]
    errors: dict[str, float]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Missing:
    """What cannot be predicted, why, and what a run must have for it."""

    check: str
    environment: str
    what: str
    why: str
    add: str


@dataclass(frozen=True)
class Outcome:
    """Everything that was asked of a run."""

    predicted: tuple[Predicted, ...]
    missing: tuple[Missing, ...]

    @property
    def held_out(self) -> list[tuple[Estimate, Seen]]:
        """The predictions of what was measured and left out, with what was measured."""
        return [
            (one.time_s, one.seen)
            for item in self.predicted
            for one in item.predictions
            if one.seen is not None and one.seen.left_out
        ]

    @property
    def inside(self) -> int:
        """How many of these are within their intervals."""
        return sum(estimate.holds(seen.value) for estimate, seen in self.held_out)


def scaling_words(scaling: Scaling) -> str:
    """ "one problem on more nodes", "as much a rank on more nodes"."""
    return "one problem on more nodes" if scaling == "strong" else "as much a rank on more nodes"
