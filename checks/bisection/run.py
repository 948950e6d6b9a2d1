# SPDX-License-Identifier: Apache-2.0
"""All nodes in random pairs that send at once (bisection.c)."""

from __future__ import annotations

from checks.bisection import BisectionParameters
from checks.common import json_lines
from checks.common.base import MpiCheck, Reading
from checks.common.knobs import knobs_of


class BisectionCheck(MpiCheck, knobs_of(BisectionParameters)):
    """Total rate over random matchings."""

    program = "bisection"

    def arguments(self) -> list[str]:
        """The program's options."""
        return [
            f"--message-bytes={self.message_bytes}",
            f"--window={self.window}",
            f"--matchings={self.matchings}",
            f"--iterations={self.iterations}",
            f"--warmup={self.warmup}",
            f"--seed={self.seed}",
        ]

    def read(self, output: json_lines.Output, text: str) -> Reading:  # noqa: ARG002
        """Both metrics, and a sample of each matching, or the launch is wrong."""
        rates = [len(m.samples or []) for m in output.metrics if m.name == "bisection_rate"]
        if rates != [self.matchings] or len(output.metrics) != 2:
            return Reading(wrong=f"{sum(rates)} of {self.matchings} matchings were measured")
        return Reading(metrics=output.metrics)
