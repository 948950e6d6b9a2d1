# SPDX-License-Identifier: Apache-2.0
"""Echo between two ranks, or of a rank with itself, timed in two ways (echo.c).

Over TCP the same echo without MPI (tcp_echo/), started by tcp_pair on the hosts of two ranks.
"""

from __future__ import annotations

from pathlib import Path

from checks.common import json_lines
from checks.common.base import Reading
from checks.common.knobs import knobs_of
from checks.common.sizes import expand_sizes
from checks.common.two_ends import TCP_PAIR, two_ends
from checks.common.two_ranks_run import TwoRankCheck
from checks.echo import EchoParameters, message_bytes


class EchoCheck(TwoRankCheck, knobs_of(EchoParameters)):
    """Half round trips from 0 bytes on."""

    program = "echo"

    def ranks_placed(self) -> tuple[int, int]:
        """One rank alone, two on a node, or one on each node between the ends."""
        if self.placement == "between-nodes":
            return self.distance + 1, 1
        return {"self": (1, 1), "within-node": (2, 2)}[self.placement]

    def executable_path(self, built: Path) -> Path:
        """Our program; over TCP the one that starts it on both hosts."""
        return built / TCP_PAIR if self.transport == "tcp" else super().executable_path(built)

    @property
    def message_bytes(self) -> list[int]:
        """All sizes measured, ascending."""
        return message_bytes(self.transport, expand_sizes(self.sizes))

    def arguments(self) -> list[str]:
        """The program's options; over TCP both ends have the same."""
        options = [
            f"--sizes={','.join(str(size) for size in self.message_bytes)}",
            f"--iterations={self.iterations}",
            f"--warmup={self.warmup}",
            f"--seed={self.seed}",
        ]
        if self.transport == "library":
            return options
        program = str((self.built / "tcp_echo").resolve())
        return two_ends(program, options, ["--port=@port"], ["--port=@port", "--host=@host"])

    def read(self, output: json_lines.Output, text: str) -> Reading:  # noqa: ARG002
        """Every size by both methods, or the launch is wrong."""
        expected = len(self.message_bytes)
        for name in ("half_round_trip", "half_round_trip_loop"):
            found = sum(metric.name == name for metric in output.metrics)
            if found != expected:
                return Reading(wrong=f"{name}: {found} of {expected} sizes were measured")
        peer = str(output.notes.get("peer_address", ""))
        if self.placement == "between-nodes" and peer.startswith("127."):
            return Reading(wrong=f"the connection went to {peer}, not to another node")
        return Reading(metrics=output.metrics)
