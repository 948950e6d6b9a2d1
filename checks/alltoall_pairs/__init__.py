# SPDX-License-Identifier: Apache-2.0
"""Every pair of nodes: latency and bandwidth, in rounds of disjoint pairs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Annotated, Any, ClassVar

from pydantic import Field

from checks.common.answer import Asked
from checks.common.definition import (
    RANK_ALLOWANCE_BYTES,
    Layout,
    SiteCapacity,
    fast_start_s,
    link_bytes_per_s,
)
from checks.common.durations import LEAST_REPEATED_S, Timed
from checks.common.layouts import RankANodeDefinition
from checks.common.messages import MAX_MESSAGE_BYTES
from checks.common.metrics import rate_metric, time_metric
from checks.common.parameters import (
    MAX_NODES,
    ProfiledParameters,
    iterations_field,
    quantity,
    seed_field,
    warmup_field,
)
from records.metric import Metric
from records.topology import Pair

#: Short names of two hosts.
PairOfHosts = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+:[A-Za-z0-9_-]+$", max_length=128)]
#: A command line takes so many pairs.
MOST_ONLY = 4000


class AlltoallPairsParameters(ProfiledParameters):
    """One launch over `ranks` nodes, one rank on each."""

    ranks: int = quantity("Nodes, with one rank on each.", "ranks", ge=2, le=MAX_NODES)
    latency_bytes: int = quantity(
        "Message length for the latency.", "bytes", 8, ge=0, le=MAX_MESSAGE_BYTES
    )
    latency_iterations: int = iterations_field(
        "Round trips a pair for the latency.", "round trips", 100
    )
    bandwidth_bytes: int = quantity(
        "Message length for the bandwidth.", "bytes", 2**20, ge=1, le=MAX_MESSAGE_BYTES
    )
    bandwidth_iterations: int = iterations_field(
        "Round trips a pair for the bandwidth.", "round trips", 10
    )
    warmup: int = warmup_field("round trips", 2)
    turns: bool = quantity(
        "One pair after the other while the other nodes sleep; else all pairs of a round at once.",
        "none",
        False,
    )
    seed: int = seed_field("the order of pairs")
    only: Annotated[list[PairOfHosts], Field(max_length=MOST_ONLY)] = quantity(
        "Pairs of hosts that are measured, as n1:n2; none: every pair.", "none", []
    )

    younger: ClassVar[frozenset[str]] = ProfiledParameters.younger | {"only"}

    @property
    def pairs(self) -> int:
        """How many pairs are measured."""
        return len(self.only) or self.ranks * (self.ranks - 1) // 2


class AlltoallPairsDefinition(RankANodeDefinition[AlltoallPairsParameters]):
    """Layout and cost of the tournament of pairs."""

    name = "alltoall_pairs"
    title = "All pairs of nodes"
    deciding = "pair_bandwidth"
    shown = "pair_bandwidth"
    parameters = AlltoallPairsParameters
    example = {"ranks": 4, "turns": True}
    metrics = (
        time_metric(
            "pair_latency",
            "half round trip of a short message between two nodes; the launch's value is the"
            " median",
            "latency of the pair",
        ),
        rate_metric(
            "pair_bandwidth",
            "length of a long message over its median half round trip between two nodes",
            "bandwidth of the pair",
            limit="link",
        ),
    )
    points = ("node", "peer")

    def options(self, params: AlltoallPairsParameters) -> dict[str, object]:
        """Without a list every pair is measured."""
        options = super().options(params)
        return {k: v for k, v in options.items() if k != "only" or v}

    def measured(
        self, params: AlltoallPairsParameters, hosts: Sequence[str]
    ) -> Iterator[tuple[str, str]]:
        """The pairs of nodes that are measured, the lower rank's node first."""
        only = {frozenset(pair.split(":")) for pair in params.only}
        for pair in combinations(hosts, 2):
            if not only or frozenset(pair) in only:
                yield pair

    def expected(self, params: AlltoallPairsParameters, hosts: Sequence[str]) -> Iterator[Asked]:
        """Latency and bandwidth of every pair, the lower rank's node first."""
        for node, peer in self.measured(params, hosts):
            at = {"node": node, "peer": peer}
            yield Asked("pair_latency", at)
            yield Asked("pair_bandwidth", at)

    def notes(self, params: AlltoallPairsParameters, hosts: Sequence[str]) -> Mapping[str, Any]:
        """The rounds of the tournament, and that the payload was checked."""
        return {"rounds": params.ranks - 1 + params.ranks % 2, "payload_verified": str}

    def least_duration_s(self, params: AlltoallPairsParameters, metrics: Sequence[Metric]) -> float:
        """Half of the round trips, as values are medians; of pairs that take no turns, a share."""
        spent_s = sum(
            params.latency_iterations * metric.value
            if metric.name == "pair_latency"
            else params.bandwidth_iterations * params.bandwidth_bytes / metric.value
            for metric in metrics
        )
        return spent_s if params.turns else spent_s / (params.ranks // 2)

    def timed(self, params: AlltoallPairsParameters, metrics: Sequence[Metric]) -> Iterable[Timed]:
        """The round trips of each pair, of the length for which they took less."""
        spent_s: dict[str, float] = {}
        for metric in metrics:
            once_s, trips = metric.value, params.latency_iterations
            if metric.name == "pair_bandwidth":
                once_s, trips = params.bandwidth_bytes / metric.value, params.bandwidth_iterations
            elif metric.name != "pair_latency":
                continue
            pair = str(metric.at)
            spent_s[pair] = min(spent_s.get(pair, math.inf), 2 * trips * once_s)
        return [Timed(time_s, LEAST_REPEATED_S) for time_s in spent_s.values()]

    def soonest(
        self, params: AlltoallPairsParameters, layout: Layout, site: SiteCapacity
    ) -> Iterable[Timed]:
        """The same by a fast start and the link's speed."""
        start_s, bytes_per_s = fast_start_s(layout, site), link_bytes_per_s(layout, site)
        latency_s = params.latency_iterations * (start_s + params.latency_bytes / bytes_per_s)
        bandwidth_s = params.bandwidth_iterations * (start_s + params.bandwidth_bytes / bytes_per_s)
        return [Timed(2 * min(latency_s, bandwidth_s), LEAST_REPEATED_S)]

    def longer(self, params: AlltoallPairsParameters, factor: float) -> dict[str, int]:
        """Round trips of both lengths."""
        return {
            "latency_iterations": math.ceil(params.latency_iterations * factor),
            "bandwidth_iterations": math.ceil(params.bandwidth_iterations * factor),
        }

    def joined(self, hosts: Sequence[str]) -> list[tuple[Pair, dict[str, Any] | None]]:
        """Every pair, at its own point."""
        pairs = combinations(hosts, 2)
        return [((node, peer), {"node": node, "peer": peer}) for node, peer in pairs]

    def memory_bytes_per_node(self, params: AlltoallPairsParameters, cores_per_node: int) -> int:
        """Two buffers of the greater length, and the allowance."""
        return 2 * max(params.latency_bytes, params.bandwidth_bytes) + RANK_ALLOWANCE_BYTES

    def estimate_s(
        self, params: AlltoallPairsParameters, layout: Layout, site: SiteCapacity
    ) -> float:
        """Launch overhead + every round trip at 100 µs each way and the link's speed.

        Pairs of a round count once when they run at once, and each when they take turns.
        """
        rounds = params.ranks - 1 + params.ranks % 2
        if params.turns:
            rounds = params.pairs
        small_s = 1e-4 + params.latency_bytes / site.network_bytes_per_s
        great_s = 1e-4 + params.bandwidth_bytes / site.network_bytes_per_s
        trips_s = (params.latency_iterations + params.warmup) * small_s
        trips_s += (params.bandwidth_iterations + params.warmup) * great_s
        return site.launch_overhead_s + 2 * rounds * trips_s


CHECK = AlltoallPairsDefinition()
