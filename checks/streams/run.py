# SPDX-License-Identifier: Apache-2.0
"""Windows of non-blocking messages between two ranks, one way and both ways (streams.c)."""

from __future__ import annotations

from checks.common import json_lines
from checks.common.base import Reading
from checks.common.knobs import knobs_of
from checks.common.sizes import expand_sizes
from checks.common.two_ranks_run import TwoRankCheck
from checks.streams import StreamsParameters


class StreamsCheck(TwoRankCheck, knobs_of(StreamsParameters)):
    """Rates of streams over directions and message sizes."""

    program = "streams"

    def arguments(self) -> list[str]:
        """The program's options."""
        return [
            f"--directions={','.join(self.directions)}",
            f"--sizes={','.join(str(size) for size in expand_sizes(self.sizes))}",
            f"--window={self.window}",
            f"--iterations={self.iterations}",
            f"--warmup={self.warmup}",
            f"--seed={self.seed}",
        ]

    def read(self, output: json_lines.Output, text: str) -> Reading:  # noqa: ARG002
        """Every direction and size, or the launch is wrong."""
        expected, found = len(self.directions) * len(expand_sizes(self.sizes)), len(output.metrics)
        if found != expected:
            return Reading(wrong=f"{found} of {expected} direction and size pairs were measured")
        return Reading(metrics=output.metrics)
