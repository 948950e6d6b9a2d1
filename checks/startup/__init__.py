# SPDX-License-Identifier: Apache-2.0
"""Start-up: from the launcher's start until every rank has been heard of."""

from __future__ import annotations

from checks.common.definition import (
    MAX_RANKS,
    RANK_ALLOWANCE_BYTES,
    Layout,
    ProfiledParameters,
    RanksPerNode,
    SiteCapacity,
    quantity,
    ranks_per_node_field,
)
from checks.common.many_ranks import ManyRanksDefinition
from checks.startup.metrics import METRICS


class StartupParameters(ProfiledParameters):
    """One launch of the start-up program."""

    ranks: int = quantity("Ranks to start.", "ranks", ge=1, le=MAX_RANKS)
    ranks_per_node: RanksPerNode = ranks_per_node_field()


class StartupDefinition(ManyRanksDefinition[StartupParameters]):
    """Layout and cost of a launch that only starts, sends one message a rank, and ends."""

    name = "startup"
    title = "Start-up"
    deciding = "all_heard"
    shown = "all_heard"
    parameters = StartupParameters
    metrics = METRICS

    def memory_bytes_per_node(self, params: StartupParameters, cores_per_node: int) -> int:
        """The allowance of each rank; the program keeps no data."""
        return RANK_ALLOWANCE_BYTES * self.ranks_per_node(params, cores_per_node)

    def estimate_s(self, params: StartupParameters, layout: Layout, site: SiteCapacity) -> float:
        """Launch overhead + 0.2 s a rank: one remote shell a rank, one after the other (2003)."""
        del params
        return site.launch_overhead_s + 0.2 * layout.ranks


CHECK = StartupDefinition()
