# SPDX-License-Identifier: Apache-2.0
"""Point-to-point messages: ping-pong between two ranks over sends, receives and sizes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal, get_args

from checks.common import messages
from checks.common.answer import Reading
from checks.common.definition import OrdinaryMachine
from checks.common.json_lines import Output
from checks.common.metrics import BANDWIDTHS, ECHO_RELATIONS, HALF_ROUND_TRIPS
from checks.common.parameters import EachOnce, Repeats, Seed, quantity
from records.flags import INVALID_ON_PURPOSE

Construct = Literal[
    "Send/Recv",
    "Isend/Recv",
    "Ssend/Recv",
    "Issend/Recv",
    "Send/Irecv",
    "Isend/Irecv",
    "Ssend/Irecv",
    "Issend/Irecv",
]

#: Short, medium and long messages of B. P. Kearns' study of 2003.
DEFAULT_SIZES = [
    *range(300, 4801, 300),
    *range(5_000, 100_001, 5_000),
    *range(200_000, 2_000_001, 100_000),
]

#: Every pair of a send and a receive, in the order in which reports show them.
CONSTRUCTS: tuple[Construct, ...] = get_args(Construct)


class Pt2ptParameters(messages.TwoRankParameters):
    """Parameters of a launch of the ping-pong program; validation sorts sizes and constructs."""

    placement: messages.Placement = quantity("Where the two ranks are.", "none", "between-nodes")
    constructs: Annotated[list[Construct], EachOnce(CONSTRUCTS, "construct")] = quantity(
        "Kinds of send and receive.", "none", list(CONSTRUCTS)
    )
    sizes: messages.Sizes = messages.sizes_field(DEFAULT_SIZES)
    iterations: Repeats = quantity(
        "Measured round trips for each construct and size.", "round trips", 100
    )
    warmup: Repeats = quantity("Round trips before them that are left out.", "round trips", 10)
    reply_before_wait: bool = quantity(
        "Answer before the message has arrived: the fault of 2003, its records count as wrong.",
        "none",
        False,
    )
    seed: Seed = quantity("Seed of the order of sizes inside a launch.", "none", 1)

    def model_post_init(self, context: Any) -> None:
        """Refuse more samples than a launch may keep."""
        messages.refuse_many_samples(len(self.constructs), len(self.sizes), self.iterations)


class Pt2ptDefinition(
    messages.TwoRankDefinition[Pt2ptParameters], messages.EchoesDefinition[Pt2ptParameters]
):
    """Layout and cost of the ping-pong between two ranks."""

    name = "pt2pt"
    title = "Point-to-point"
    deciding = "half_round_trip"
    shown = "bandwidth"
    parameters = Pt2ptParameters
    example = {"constructs": ["Send/Recv"], "sizes": [1, 1024, 65536]}
    metrics = (*HALF_ROUND_TRIPS, *BANDWIDTHS)
    relations = ECHO_RELATIONS
    points = ("construct", "message_bytes")
    swept = {"construct": "constructs", "message_bytes": "sizes"}
    samples = {"half_round_trip": "iterations"}

    def notes(self, params: Pt2ptParameters, hosts: Sequence[str]) -> Mapping[str, Any]:
        """Round trips left out, the order, and that the payload was checked."""
        notes = {"warmup": params.warmup, "order_seed": params.seed, "buffers": "reused"}
        return notes if params.reply_before_wait else {**notes, "payload_verified": str}

    def check_values(self, params: Pt2ptParameters, output: Output) -> Reading:
        """A launch that made the fault of 2003 is wrong by construction; its numbers are shown."""
        reading = super().check_values(params, output)
        if not params.reply_before_wait:
            return reading
        stale = output.notes.get("stale_replies", "?")
        wrong = f"invalid on purpose: reply before the message was in ({stale} stale replies)"
        return replace(reading, wrong=wrong, flags=[INVALID_ON_PURPOSE])

    def measuring_s(self, params: Pt2ptParameters, machine: OrdinaryMachine) -> Iterable[float]:
        """The round trips of each size, by each construct."""
        return [*super().measuring_s(params, machine)] * len(params.constructs)


CHECK = Pt2ptDefinition()
