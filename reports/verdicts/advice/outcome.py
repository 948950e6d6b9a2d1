# SPDX-License-Identifier: Apache-2.0
"""What an advice says: the keys of its machine form."""

from __future__ import annotations

from typing import Annotated, Self

import numpy as np

from records.forms import Form, Part, key
from reports.answers import AnswerPart
from reports.statistics.descriptive import Vector

LEVEL = 0.90
#: Ends of an interval that are further apart than by this factor have no value between them that
#: is worth saying [choice: half of the values are then within 5 % where the intervals hold].
NARROW = 1.25


class LikelyPart(Part):
    """A value with its interval."""

    value: Annotated[float, key("The value by what was measured.")]
    low: Annotated[float, key("Lower end of the 90 % interval.")]
    high: Annotated[float, key("Upper end of the 90 % interval.")]

    @classmethod
    def of(cls, drawn: Vector) -> Self:
        """The first of the draws, with the middle 90 % of all."""
        value = float(drawn[0])
        low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]).tolist()
        return cls(value, min(low, value), max(high, value))

    @property
    def tied(self) -> bool:
        """Whether the interval of a ratio holds 1."""
        return self.low <= 1 <= self.high

    @property
    def stated(self) -> bool:
        """Whether the value is said, and not the interval alone."""
        return self.high <= NARROW * self.low


class AdvisedPart(Part, kw_only=True):
    """The application in one environment."""

    environment: Annotated[str, key("The environment.")]
    place: Annotated[
        int, key("1 and how many environments are faster, those that cannot be told apart aside.")
    ]
    time_s: Annotated[LikelyPart, key("Predicted time of the whole, s.")]
    communication_s: Annotated[
        LikelyPart, key("Predicted time of a mean rank in MPI without wait, s.")
    ]
    ratio: Annotated[LikelyPart, key("Time of the whole over that of the first one.")]
    communication_ratio: Annotated[LikelyPart, key("The same of communication.")]
    tied_with: Annotated[list[str], key("Environments that it cannot be told apart from.")]


class DecidingPart(Part, kw_only=True):
    """Calls that make the difference between the first environment and the next one."""

    call: Annotated[str, key("The MPI function.")]
    message_bytes: Annotated[float, key("Mean length of their messages.")]
    ranks: Annotated[int, key("Ranks of the communicator; of point to point 2.")]
    within_node: Annotated[bool, key("Whether they stay on one node.")]
    count: Annotated[float, key("Calls of a mean rank.")]
    time_s: Annotated[dict[str, float], key("Predicted time in them by environment, s.")]
    share: Annotated[float, key("Share of all differences between the two.")]


class ExplainedPart(Part, kw_only=True):
    """What the curves say of the profile's own environment, with what was measured there."""

    family: Annotated[str, key("messages or collectives.")]
    measured_s: Annotated[float, key("Time of a mean rank in those with a curve, without wait, s.")]
    curves_s: Annotated[float, key("What the curves of that environment give for them, s.")]


class ConfirmPart(Part, kw_only=True):
    """The cheapest run that would tell more."""

    campaign: Annotated[str, key("The campaign.")]
    environments: Annotated[list[str], key("Environments that it takes.")]
    checks: Annotated[list[str], key("Its checks.")]
    blocks: Annotated[int, key("Blocks.")]
    command: Annotated[str, key("The command that says what it does.")] = ""
    cases: Annotated[int, key("Its cases; 0: not known.")] = 0
    time_s: Annotated[float | None, key("How long it takes, s; null: not known.")] = None


class WithoutPart(Part, kw_only=True):
    """An environment of the run without a prediction."""

    environment: Annotated[str, key("The environment.")]
    why: Annotated[list[str], key("What was not measured of it.")]


class AdviceForm(Form, kw_only=True):
    """`assay advise`: which environment an application should use."""

    run_id: Annotated[str, key("The run that has the curves.")]
    campaign: Annotated[str, key("Its campaign.")]
    site: Annotated[str, key("The site.")]
    command: Annotated[list[str], key("The command that was profiled.")]
    profiled_in: Annotated[str, key("The environment of the profile; empty: not of this run.")]
    ranks: Annotated[int, key("Ranks that are predicted.")]
    nodes: Annotated[int, key("Nodes that are predicted.")]
    sizes: Annotated[float, key("Factor of the messages' lengths over those of the profile.")]
    compute_s: Annotated[float, key("Time of a mean rank outside MPI, s.")]
    wait_s: Annotated[float, key("Time of a mean rank in MPI while others were late, s.")]
    overlap_s: Annotated[float, key("Communication that passed behind computing, at most, s.")]
    mpi_s: Annotated[float, key("Time of a mean rank in MPI, s.")]
    explained: Annotated[list[ExplainedPart], key("The curves held against the profile.")]
    refused: Annotated[list[str], key("Why nothing is said; empty: something is.")]
    environments: Annotated[list[AdvisedPart], key("The predictions, the fastest first.")]
    left_out: Annotated[list[WithoutPart], key("Environments without one.")]
    deciding: Annotated[list[DecidingPart], key("What decides, the greatest first.")]
    beyond: Annotated[list[str], key("Lengths and rank counts that were not measured.")]
    notes: Annotated[list[str], key("What else to know.")]
    confirm: Annotated[ConfirmPart | None, key("The run that would confirm; null: none needed.")]
    answer: Annotated[AnswerPart | None, key("The answer.")] = None
