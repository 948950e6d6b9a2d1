# SPDX-License-Identifier: Apache-2.0
"""What the checks between two ranks share: where the ranks lie, and how many hops apart."""

from __future__ import annotations

from typing import Any

from reframe.core.builtins import run_before

from checks.common import json_lines
from checks.common.base import MpiCheck
from checks.common.evidence import short_host
from records.metric import Metric
from records.topology import Pair


class TwoRankCheck(MpiCheck):
    """Two ranks: on one node, on two nodes, or on two nodes that lie `hops` apart."""

    @run_before("setup")
    def place(self) -> None:
        """Two ranks, on two nodes or on one."""
        self.ranks, self.ranks_per_node = self.ranks_placed()

    def ranks_placed(self) -> tuple[int, int]:
        """Ranks of the launch, and on each node."""
        return 2, 2 if self.placement == "within-node" else 1

    def nodes_asked(self) -> Pair | None:
        """The pair that lies so many hops apart, where that was asked for."""
        hops = getattr(self, "hops", 0)
        topology = self.declared_topology()
        if not hops or topology is None:
            return None
        return topology.pair_at(hops, self.current_partition.extras["shared_cores"])

    def nodes_joined(self, output: json_lines.Output) -> list[tuple[Pair, dict[str, Any] | None]]:
        """The nodes of the first and the last rank."""
        ranks = {rank["rank"]: short_host(rank["host"]) for rank in output.evidence["ranks"]}
        return [((ranks[0], ranks[max(ranks)]), None)]

    def contradicts(self, joined: list[Metric]) -> str | None:
        """The nodes must lie as far apart as was asked for."""
        hops = getattr(self, "hops", 0)
        if not hops or [metric.value for metric in joined] == [hops]:
            return None
        found = ", ".join(f"{metric.value:g}" for metric in joined) or "unknown"
        return f"hops = {hops} were asked for; between the launch's nodes are {found}"
