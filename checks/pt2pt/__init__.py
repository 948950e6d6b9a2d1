# SPDX-License-Identifier: Apache-2.0
"""Point-to-point messages: ping-pong between two ranks over sends, receives and sizes."""

from __future__ import annotations

from typing import Annotated, Literal, cast, get_args

from pydantic import AfterValidator, Field, model_validator

from checks.common.definition import (
    Layout,
    SiteCapacity,
    in_order_and_once,
    quantity,
    seed_field,
)
from checks.common.sizes import Sizes, sizes_field
from checks.common.two_ranks import TwoRankDefinition, TwoRankParameters
from checks.pt2pt.metrics import METRICS

MAX_ITERATIONS = 1_000_000

#: Samples one launch may take (each is kept and printed): constructs × sizes × iterations.
MAX_SAMPLES = 10_000_000

Placement = Literal["between-nodes", "within-node"]
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


def refuse_many_samples(constructs: int, sizes: int, iterations: int) -> None:
    """Raise ValueError where a launch would keep and print more than MAX_SAMPLES."""
    samples = constructs * sizes * iterations
    if samples > MAX_SAMPLES:
        raise ValueError(
            f"{constructs} constructs × {sizes} sizes × {iterations} iterations = {samples} samples"
            f" a launch; allowed are at most {MAX_SAMPLES}"
        )


class Pt2ptParameters(TwoRankParameters):
    """One launch of the ping-pong program; sizes and constructs come out in their own order."""

    placement: Placement = quantity("Where the two ranks lie.", "none", "between-nodes")
    constructs: Annotated[
        list[Construct],
        Field(min_length=1, max_length=len(CONSTRUCTS)),
        AfterValidator(in_order_and_once(CONSTRUCTS, "construct")),
    ] = quantity("Kinds of send and receive.", "none", list(CONSTRUCTS))
    sizes: Sizes = sizes_field(DEFAULT_SIZES)
    iterations: int = quantity(
        "Measured round trips for each construct and size.",
        "round trips",
        100,
        ge=1,
        le=MAX_ITERATIONS,
    )
    warmup: int = quantity(
        "Round trips before them that are left out.", "round trips", 10, ge=0, le=MAX_ITERATIONS
    )
    reply_before_wait: bool = quantity(
        "Answer before the message has arrived: the fault of 2003, its records count as wrong.",
        "none",
        False,
    )
    seed: int = seed_field("the order of sizes inside a launch")

    @property
    def message_bytes(self) -> list[int]:
        """The explicit sizes, ascending."""
        return cast(list[int], self.sizes)

    @model_validator(mode="after")
    def _few_enough_samples(self) -> Pt2ptParameters:
        refuse_many_samples(len(self.constructs), len(self.sizes), self.iterations)
        return self


class Pt2ptDefinition(TwoRankDefinition[Pt2ptParameters]):
    """Layout and cost of the ping-pong between two ranks."""

    name = "pt2pt"
    title = "Point-to-point"
    deciding = "half_round_trip"
    shown = "bandwidth"
    parameters = Pt2ptParameters
    metrics = METRICS
    points = ("construct", "message_bytes")

    def estimate_s(self, params: Pt2ptParameters, layout: Layout, site: SiteCapacity) -> float:
        """Launch overhead + every round trip at 100 µs each way and the link's speed.

        Assumes 1 GB/s within a node and that each construct takes as long as the next.
        """
        one_way_s = self.one_way_s(params, layout, site)
        trips = 2 * len(params.constructs) * (params.iterations + params.warmup)
        return site.launch_overhead_s + trips * one_way_s


CHECK = Pt2ptDefinition()
