# SPDX-License-Identifier: Apache-2.0
"""Latency and bandwidth of every pair of nodes (alltoall_pairs.c)."""

from __future__ import annotations

from typing import Any

from checks.alltoall_pairs import AlltoallPairsParameters
from checks.common import json_lines
from checks.common.base import MpiCheck, Reading
from checks.common.knobs import knobs_of
from records.topology import Pair


class AlltoallPairsCheck(MpiCheck, knobs_of(AlltoallPairsParameters)):
    """Ping-pong of every pair, in rounds of disjoint pairs."""

    program = "alltoall_pairs"

    def arguments(self) -> list[str]:
        """The program's options."""
        words = [
            f"--latency-bytes={self.latency_bytes}",
            f"--latency-iterations={self.latency_iterations}",
            f"--bandwidth-bytes={self.bandwidth_bytes}",
            f"--bandwidth-iterations={self.bandwidth_iterations}",
            f"--warmup={self.warmup}",
            f"--seed={self.seed}",
        ]
        return [*words, "--turns"] if self.turns else words

    def nodes_joined(self, output: json_lines.Output) -> list[tuple[Pair, dict[str, Any] | None]]:
        """Every pair, at its own position."""
        places = [m.at or {} for m in output.metrics if m.name == "pair_latency"]
        return [((str(at.get("node")), str(at.get("peer"))), at) for at in places]

    def read(self, output: json_lines.Output, text: str) -> Reading:  # noqa: ARG002
        """Both metrics of every pair, or the launch is wrong."""
        expected = self.ranks * (self.ranks - 1) // 2
        for name in ("pair_latency", "pair_bandwidth"):
            pairs = {
                frozenset((metric.at or {}).values())
                for metric in output.metrics
                if metric.name == name
            }
            if len(pairs) != expected:
                return Reading(wrong=f"{name}: {len(pairs)} of {expected} pairs were measured")
        return Reading(metrics=output.metrics)
