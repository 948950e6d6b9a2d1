# SPDX-License-Identifier: Apache-2.0
"""Streams between two ranks: windows of non-blocking messages, one way and both ways at once."""

from __future__ import annotations

from typing import Annotated, Literal, cast, get_args

from pydantic import Field

from checks.common.definition import (
    Layout,
    SiteCapacity,
    quantity,
    seed_field,
)
from checks.common.sizes import Sizes, expand_sizes, sizes_field
from checks.common.two_ranks import TwoRankDefinition, TwoRankParameters
from checks.pt2pt import MAX_ITERATIONS, Placement
from checks.streams.metrics import METRICS

Direction = Literal["one-way", "both-ways"]

DEFAULT_SIZES = expand_sizes([{"from": 1, "to": 2**20, "per_octave": 1}])


class StreamsParameters(TwoRankParameters):
    """One launch of the stream program."""

    placement: Placement = quantity("Where the two ranks lie.", "none", "between-nodes")
    directions: Annotated[list[Direction], Field(min_length=1, max_length=2)] = quantity(
        "From one rank to the other, or both ways at the same time.",
        "none",
        list(get_args(Direction)),
    )
    sizes: Sizes = sizes_field(DEFAULT_SIZES)
    window: int = quantity("Messages in flight each way.", "messages", 32, ge=1, le=4096)
    iterations: int = quantity(
        "Windows for each direction and size.", "windows", 20, ge=1, le=MAX_ITERATIONS
    )
    warmup: int = quantity(
        "Windows before them that are left out.", "windows", 2, ge=1, le=MAX_ITERATIONS
    )
    seed: int = seed_field("the order of points")

    @property
    def message_bytes(self) -> list[int]:
        """The explicit sizes, ascending."""
        return cast(list[int], self.sizes)


class StreamsDefinition(TwoRankDefinition[StreamsParameters]):
    """Layout and cost of the streams."""

    name = "streams"
    title = "Streams"
    deciding = "window_rate"
    shown = "window_rate"
    parameters = StreamsParameters
    metrics = METRICS
    points = ("direction", "message_bytes")

    def messages_held(self, params: StreamsParameters) -> int:
        """A window each way."""
        return 2 * params.window

    def estimate_s(self, params: StreamsParameters, layout: Layout, site: SiteCapacity) -> float:
        """Launch overhead + every window at 10 µs a message and the link's speed.

        Assumes 1 GB/s within a node; both ways at once take as long as two windows.
        """
        window_s = params.window * self.one_way_s(params, layout, site, start_s=1e-5)
        ways = sum(2 if way == "both-ways" else 1 for way in params.directions)
        return site.launch_overhead_s + ways * (params.iterations + params.warmup) * window_s


CHECK = StreamsDefinition()
