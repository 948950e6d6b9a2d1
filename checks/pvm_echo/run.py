# SPDX-License-Identifier: Apache-2.0
"""Echo between two PVM tasks (pvm_echo.c), as Casanova, Dongarra and Jiang measured it in 1995.

The task that the session starts spawns its partner on another host of the virtual machine that the
daemons make of the allocation. Its evidence is that of an MPI program: two ranks, one library, and
what of a probe crossed the network.
"""

from __future__ import annotations

from checks.common import json_lines
from checks.common.base import Reading
from checks.common.knobs import knobs_of
from checks.common.sizes import expand_sizes
from checks.common.two_ranks_run import TwoRankCheck
from checks.pvm_echo import PvmEchoParameters


class PvmEchoCheck(TwoRankCheck, knobs_of(PvmEchoParameters)):
    """Half round trips and bandwidths of PVM's protocols over message sizes."""

    program = "pvm_echo"
    valid_prog_environs = ["+pvm"]

    def arguments(self) -> list[str]:
        """The program's options."""
        words = [
            f"--constructs={','.join(self.constructs)}",
            f"--element={self.element}",
            f"--sizes={','.join(str(size) for size in expand_sizes(self.sizes))}",
            f"--iterations={self.iterations}",
            f"--warmup={self.warmup}",
            f"--seed={self.seed}",
        ]
        words += ["--daemon-route"] if self.route == "daemon" else []
        return [*words, "--within-node"] if self.placement == "within-node" else words

    def read(self, output: json_lines.Output, text: str) -> Reading:  # noqa: ARG002
        """All metrics of the program, complete or not at all, by the route that was asked for."""
        expected = len(self.constructs) * len(expand_sizes(self.sizes))
        found = sum(metric.name == "half_round_trip" for metric in output.metrics)
        if found != expected:
            return Reading(wrong=f"{found} of {expected} construct and size pairs were measured")
        route = output.notes.get("route")
        if route != self.route:
            return Reading(wrong=f"messages went by {route!r}; asked for was {self.route!r}")
        return Reading(metrics=output.metrics)
