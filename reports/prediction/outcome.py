# SPDX-License-Identifier: Apache-2.0
"""What a prediction consists of, and what is said beside it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from reports.prediction.subjects import Measured, Problem, Scaling, Subject
from reports.statistics.descriptive import LEVEL, Vector

#: What is left to do where no law serves.
ADD_COUNT = "measure it on that node count"


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with the ends of its 95 % interval."""

    value: float
    low: float
    high: float

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


def not_measured(check: str, environment: str, what: str) -> Missing:
    """What was to be left out and is not there."""
    why = "left out, but not measured on so many full nodes"
    return Missing(check, environment, what, why, ADD_COUNT)


@dataclass(frozen=True)
class Outcome:
    """Everything that was asked of a run."""

    predicted: tuple[Predicted, ...]
    missing: tuple[Missing, ...]

    @property
    def held_out(self) -> list[tuple[Estimate, Seen]]:
        """What was predicted beside what was measured and left out."""
        return [
            (one.time_s, one.seen)
            for item in self.predicted
            for one in item.predictions
            if one.seen is not None and one.seen.left_out
        ]

    @property
    def inside(self) -> int:
        """How many of these lie in their intervals."""
        return sum(estimate.holds(seen.value) for estimate, seen in self.held_out)


def estimate_of(value: float, drawn: Vector) -> Estimate:
    """A value with the middle 95 % of its draws."""
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail]).tolist()
    return Estimate(value, min(low, value), max(high, value))


def seen_of(measured: Measured, left_out: Collection[int]) -> Seen:
    """What was measured of a problem."""
    values = np.array(list(measured.time_s.values()))
    is_left_out = measured.problem.nodes in left_out
    return Seen(float(np.median(values)), len(values), is_left_out, measured.flags)


def doubled(greatest: int) -> list[int]:
    """1, 2, 4, … and the greatest."""
    return [*(2**power for power in range(greatest.bit_length()) if 2**power < greatest), greatest]


def scaling_words(scaling: Scaling) -> str:
    """ "one problem on more nodes", "as much a rank on more nodes"."""
    return "one problem on more nodes" if scaling == "strong" else "as much a rank on more nodes"
