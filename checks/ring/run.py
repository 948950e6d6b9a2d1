# SPDX-License-Identifier: Apache-2.0
"""A message round a ring of all ranks (ring.c)."""

from __future__ import annotations

from checks.common import json_lines
from checks.common.base import MpiCheck, Reading
from checks.common.knobs import knobs_of
from checks.common.sizes import expand_sizes
from checks.ring import RingParameters


class RingCheck(MpiCheck, knobs_of(RingParameters)):
    """Time and rate of the ring over message sizes."""

    program = "ring"

    def arguments(self) -> list[str]:
        """The program's options."""
        return [
            f"--orders={self.order}",
            f"--sizes={','.join(str(size) for size in expand_sizes(self.sizes))}",
            f"--turns={self.turns}",
            f"--warmup={self.warmup}",
            f"--seed={self.seed}",
        ]

    def read(self, output: json_lines.Output, text: str) -> Reading:  # noqa: ARG002
        """Every size, or the launch is wrong."""
        expected = len(expand_sizes(self.sizes))
        found = sum(metric.name == "ring_rate" for metric in output.metrics)
        if found != expected:
            return Reading(wrong=f"{found} of {expected} sizes were measured")
        return Reading(metrics=output.metrics)
