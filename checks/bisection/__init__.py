# SPDX-License-Identifier: Apache-2.0
"""All nodes in random pairs that send to each other at once: what the whole network carries."""

from __future__ import annotations

from checks.alltoall_pairs import MAX_NODES
from checks.bisection.metrics import METRICS
from checks.common.definition import (
    RANK_ALLOWANCE_BYTES,
    Layout,
    ProfiledParameters,
    SiteCapacity,
    quantity,
    seed_field,
)
from checks.common.many_ranks import RankANodeDefinition
from checks.common.sizes import MAX_MESSAGE_BYTES
from checks.pt2pt import MAX_ITERATIONS


class BisectionParameters(ProfiledParameters):
    """One launch over `ranks` nodes, one rank on each; of an odd number one sits out each time."""

    ranks: int = quantity("Nodes, with one rank on each.", "ranks", ge=2, le=MAX_NODES)
    message_bytes: int = quantity("Message length.", "bytes", 262144, ge=1, le=MAX_MESSAGE_BYTES)
    window: int = quantity("Messages in flight each way.", "messages", 8, ge=1, le=4096)
    matchings: int = quantity(
        "Random matchings of one half of the nodes with the other.", "matchings", 10, ge=1, le=10**5
    )
    iterations: int = quantity("Windows a matching.", "windows", 10, ge=1, le=MAX_ITERATIONS)
    warmup: int = quantity(
        "Windows before them that are left out.", "windows", 2, ge=1, le=MAX_ITERATIONS
    )
    seed: int = seed_field("the matchings")


class BisectionDefinition(RankANodeDefinition[BisectionParameters]):
    """Layout and cost of the matchings."""

    name = "bisection"
    title = "Bisection"
    deciding = "bisection_rate"
    shown = "bisection_rate"
    parameters = BisectionParameters
    metrics = METRICS

    def memory_bytes_per_node(self, params: BisectionParameters, cores_per_node: int) -> int:
        """A window each way, and the allowance."""
        del cores_per_node
        return 2 * params.window * params.message_bytes + RANK_ALLOWANCE_BYTES

    def estimate_s(self, params: BisectionParameters, layout: Layout, site: SiteCapacity) -> float:
        """Launch overhead + every window at 10 µs a message and the link's speed.

        Both ways at once take as long as two windows; pairs do not disturb each other.
        """
        del layout
        window_s = params.window * (1e-5 + params.message_bytes / site.network_bytes_per_s)
        windows = params.matchings * (params.iterations + params.warmup + 1)
        return site.launch_overhead_s + 2 * windows * window_s


CHECK = BisectionDefinition()
