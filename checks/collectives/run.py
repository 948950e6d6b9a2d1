# SPDX-License-Identifier: Apache-2.0
"""Collective operations over all ranks (collectives.c).

The program compares every result with what it must be, before and after the timed calls of each
operation and size; a wrong element ends the launch as `wrong`.
"""

from __future__ import annotations

from checks.collectives import CollectivesParameters
from checks.common import json_lines
from checks.common.base import MpiCheck, Reading
from checks.common.knobs import knobs_of
from checks.common.sizes import expand_sizes


class CollectivesCheck(MpiCheck, knobs_of(CollectivesParameters)):
    """Times of collective operations over message sizes."""

    program = "collectives"

    def arguments(self) -> list[str]:
        """The program's options."""
        sizes = ",".join(str(size) for size in expand_sizes(self.sizes))
        return [
            f"--operations={','.join(self.operations)}",
            f"--sizes={sizes}",
            f"--procedure={self.procedure}",
            f"--repetitions={self.repetitions}",
            f"--runs={self.runs}",
            f"--warmup={self.warmup}",
            f"--seed={self.seed}",
        ]

    def read(self, output: json_lines.Output, text: str) -> Reading:  # noqa: ARG002
        """All metrics of the program, complete or not at all."""
        sizes = expand_sizes(self.sizes)
        expected = sum(1 if name == "barrier" else len(sizes) for name in self.operations)
        return read_points(output, "collective_time", expected)


def read_points(output: json_lines.Output, metric: str, expected: int) -> Reading:
    """The metrics if `metric` came at so many points, else a wrong answer."""
    found = sum(one.name == metric for one in output.metrics)
    if found != expected:
        return Reading(wrong=f"{found} of {expected} points were measured")
    return Reading(metrics=output.metrics)
