# SPDX-License-Identifier: Apache-2.0
"""Echo between two ranks, or of a rank with itself, timed in two ways (src/echo)."""

from __future__ import annotations

from reframe.core.builtins import run_before

from checks.adapters import json_lines
from checks.base import MpiCheck, Reading
from checks.catalogue.echo import EchoParameters
from checks.catalogue.sizes import expand_sizes
from checks.knobs import knobs_of


class EchoCheck(MpiCheck, knobs_of(EchoParameters)):
    """Half round trips from 0 bytes on."""

    program = "echo"

    @run_before("setup")
    def place(self) -> None:
        """One rank alone, two on a node, or one on each node between the ends."""
        self.ranks = {"self": 1, "within-node": 2}.get(self.placement, self.distance + 1)
        self.ranks_per_node = 2 if self.placement == "within-node" else 1

    def arguments(self) -> list[str]:
        """The program's options."""
        sizes = ",".join(str(size) for size in [0, *expand_sizes(self.sizes)])
        return [
            f"--sizes={sizes}",
            f"--iterations={self.iterations}",
            f"--warmup={self.warmup}",
            f"--seed={self.seed}",
        ]

    def read(self, output: json_lines.Output, text: str) -> Reading:  # noqa: ARG002
        """Every size by both methods, or the launch is wrong."""
        expected = len(expand_sizes(self.sizes)) + 1
        for name in ("half_round_trip", "half_round_trip_loop"):
            found = sum(metric.name == name for metric in output.metrics)
            if found != expected:
                return Reading(wrong=f"{name}: {found} of {expected} sizes were measured")
        return Reading(metrics=output.metrics)
