# SPDX-License-Identifier: Apache-2.0
"""Ping-pong between two ranks for eight pairs of send and receive calls (pt2pt.c).

The payload carries a counter from which the answer is computed, so an answer that was sent before
the message was in ends the launch. `reply_before_wait` does just that on purpose, as the program of
the 2003 study did: its record is `wrong` by construction and keeps its numbers for show.
"""

from __future__ import annotations

from checks.common import json_lines
from checks.common.base import Reading
from checks.common.knobs import knobs_of
from checks.common.sizes import expand_sizes
from checks.common.two_ranks_run import TwoRankCheck
from checks.pt2pt import Pt2ptParameters

#: Flag of a launch that made the 2003 program's fault on purpose.
INVALID = "invalid-reply-before-wait"


class Pt2ptCheck(TwoRankCheck, knobs_of(Pt2ptParameters)):
    """Half round trips and bandwidths over constructs and message sizes."""

    program = "pt2pt"

    def arguments(self) -> list[str]:
        """The program's options."""
        sizes = ",".join(str(size) for size in expand_sizes(self.sizes))
        words = [
            f"--constructs={','.join(self.constructs)}",
            f"--sizes={sizes}",
            f"--iterations={self.iterations}",
            f"--warmup={self.warmup}",
            f"--seed={self.seed}",
        ]
        return [*words, "--reply-before-wait"] if self.reply_before_wait else words

    def read(self, output: json_lines.Output, text: str) -> Reading:  # noqa: ARG002
        """All metrics of the program, complete or not at all."""
        expected = len(self.constructs) * len(expand_sizes(self.sizes))
        found = sum(metric.name == "half_round_trip" for metric in output.metrics)
        if found != expected:
            return Reading(wrong=f"{found} of {expected} construct and size pairs were measured")
        if not self.reply_before_wait:
            return Reading(metrics=output.metrics)
        stale = output.notes.get("stale_replies", "?")
        return Reading(
            metrics=output.metrics,
            wrong=f"invalid on purpose: reply before the message was in ({stale} stale replies)",
            flags=[INVALID],
        )
