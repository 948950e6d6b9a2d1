# SPDX-License-Identifier: Apache-2.0
"""Interference: what messages cost a computing node, and computing a stream of messages."""

from __future__ import annotations

from typing import Annotated, cast

from pydantic import AfterValidator, Field

from checks.catalogue.definition import (
    RANK_ALLOWANCE_BYTES,
    CheckDefinition,
    Layout,
    Parameters,
    RanksPerNode,
    SiteCapacity,
    quantity,
    ranks_per_node_field,
)
from checks.catalogue.sizes import Size, expand_sizes

#: Ranks count alone one after the other, so that their number costs time.
MAX_INTERFERENCE_RANKS = 256


class InterferenceParameters(Parameters):
    """One launch: two endpoints exchange messages, every further rank is a neighbour."""

    ranks: int = quantity(
        "Two endpoints, on two nodes where there are two, and neighbours that count beside them.",
        "ranks",
        2,
        ge=2,
        le=MAX_INTERFERENCE_RANKS,
    )
    ranks_per_node: RanksPerNode = ranks_per_node_field()
    sizes: Annotated[list[Size], Field(min_length=1), AfterValidator(expand_sizes)] = quantity(
        "Message sizes: numbers, or ranges with step or per_octave.",
        "bytes",
        [1, 64, 1024, 16384, 65536, 262144],
    )
    samples: int = quantity("Samples of each quantity and size.", "samples", 20, ge=3, le=100_000)
    warmup: int = quantity(
        "Calls before the first sample that are left out.", "calls", 3, ge=1, le=100_000
    )
    window: int = quantity("Messages under way at once.", "messages", 8, ge=1, le=1024)
    work_s: float = quantity("Time of one counting loop.", "s", 1e-3, ge=1e-5, le=10)

    @property
    def message_bytes(self) -> list[int]:
        """The explicit sizes, ascending."""
        return cast(list[int], self.sizes)


class InterferenceDefinition(CheckDefinition[InterferenceParameters]):
    """Layout and cost of a launch of the interference program."""

    name = "interference"
    title = "Interference of messages and computing"
    parameters = InterferenceParameters
    metrics = (
        "counting_time",
        "compute_slowdown",
        "exchange_time",
        "overlap",
        "availability",
        "stream_rate",
        "message_slowdown",
    )
    points = ("counting", "messages", "neighbours", "message_bytes")

    def ranks(self, params: InterferenceParameters) -> int:
        """As asked."""
        return params.ranks

    def ranks_asked_per_node(self, params: InterferenceParameters) -> RanksPerNode:
        """As the parameter says."""
        return params.ranks_per_node

    def memory_bytes_per_node(self, params: InterferenceParameters, cores_per_node: int) -> int:
        """Two windows of the greatest size for each rank, and the allowance."""
        ranks = self.ranks_per_node(params, cores_per_node)
        buffers = 2 * params.window * params.message_bytes[-1]
        return ranks * (buffers + RANK_ALLOWANCE_BYTES)

    def estimate_s(
        self, params: InterferenceParameters, layout: Layout, site: SiteCapacity
    ) -> float:
        """Launch overhead + counting loops in turn and during messages + four phases of windows.

        Assumes 100 µs a message and the link's speed, 1 GB/s within a node.
        """
        bytes_per_s = site.network_bytes_per_s if layout.nodes > 1 else 1e9
        calls = params.samples + params.warmup + 1
        loops_s = (params.ranks + 3) * params.work_s * len(params.sizes)
        one_way_s = sum(params.message_bytes) / bytes_per_s + 1e-4 * len(params.sizes)
        return site.launch_overhead_s + calls * (loops_s + 4 * params.window * one_way_s)


INTERFERENCE = InterferenceDefinition()
