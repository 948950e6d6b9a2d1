# SPDX-License-Identifier: Apache-2.0
"""Interference: what messages cost a computing node, and computing a stream of messages."""

from __future__ import annotations

from typing import cast

from checks.common.definition import (
    Layout,
    Parameters,
    RanksPerNode,
    SiteCapacity,
    quantity,
    ranks_per_node_field,
)
from checks.common.many_ranks import ManyRanksDefinition
from checks.common.messages import MessagesDefinition
from checks.common.sizes import Sizes, sizes_field
from checks.interference.metrics import METRICS

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
    sizes: Sizes = sizes_field([1, 64, 1024, 16384, 65536, 262144])
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


class InterferenceDefinition(
    ManyRanksDefinition[InterferenceParameters], MessagesDefinition[InterferenceParameters]
):
    """Layout and cost of a launch of the interference program."""

    name = "interference"
    title = "Interference"
    deciding = "compute_slowdown"
    shown = "overlap"
    parameters = InterferenceParameters
    metrics = METRICS
    points = ("counting", "messages", "neighbours", "message_bytes")

    def messages_held(self, params: InterferenceParameters) -> int:
        """A window each way."""
        return 2 * params.window

    def estimate_s(
        self, params: InterferenceParameters, layout: Layout, site: SiteCapacity
    ) -> float:
        """Launch overhead + counting loops in turn and during messages + four phases of windows.

        Assumes 100 µs a message and the link's speed, 1 GB/s within a node.
        """
        calls = params.samples + params.warmup + 1
        loops_s = (params.ranks + 3) * params.work_s * len(params.sizes)
        one_way_s = self.one_way_s(params, layout, site)
        return site.launch_overhead_s + calls * (loops_s + 4 * params.window * one_way_s)


CHECK = InterferenceDefinition()
