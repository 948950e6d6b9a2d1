# SPDX-License-Identifier: Apache-2.0
"""Echo between two ranks, or of a rank with itself, timed in two ways (src/echo)."""

from __future__ import annotations

from checks.adapters import json_lines
from checks.base import Reading
from checks.catalogue.echo import EchoParameters
from checks.catalogue.sizes import expand_sizes
from checks.knobs import knobs_of
from checks.two_ranks import TwoRankCheck


class EchoCheck(TwoRankCheck, knobs_of(EchoParameters)):
    """Half round trips from 0 bytes on."""

    program = "echo"

    def ranks_placed(self) -> tuple[int, int]:
        """One rank alone, two on a node, or one on each node between the ends."""
        if self.placement == "between-nodes":
            return self.distance + 1, 1
        return {"self": (1, 1), "within-node": (2, 2)}[self.placement]

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
