# SPDX-License-Identifier: Apache-2.0
"""NetPIPE (the distribution's, or a site's own) between two ranks: the witness of our own echo.

For an MPI library the program is NetPIPE's MPI module, with our evidence laid before it. Its
modules for TCP and PVM are two ends that our own programs (common/src: tcp_pair, pvm_pair) start on
both hosts; those give the evidence.
"""

from __future__ import annotations

from pathlib import Path

from checks.common import json_lines
from checks.common.base import Reading
from checks.common.knobs import knobs_of
from checks.common.two_ends import PVM_PAIR, TCP_PAIR, two_ends
from checks.common.two_ranks_run import TwoRankCheck
from checks.netpipe import NetpipeParameters
from checks.netpipe import output as netpipe
from records.metric import Metric


class NetpipeCheck(TwoRankCheck, knobs_of(NetpipeParameters)):
    """NetPIPE's sizes, times and rates."""

    valid_prog_environs = ["+mpi", "+pvm"]

    @property
    def starter(self) -> str | None:
        """Our program that starts NetPIPE's two ends; None where NetPIPE is the program."""
        if self.transport == "tcp":
            return TCP_PAIR
        return PVM_PAIR if "pvm" in self.current_environ.features else None

    @property
    def foreign(self) -> str | None:
        """NetPIPE's MPI module; else the program is ours."""
        return None if self.starter else "netpipe"

    def executable_path(self, built: Path) -> Path:
        """The site's NetPIPE, or our program that starts it."""
        return built / self.starter if self.starter else super().executable_path(built)

    def arguments(self) -> list[str]:
        """NetPIPE's own options; our programs hand them on."""
        options = [
            "-l", str(self.least_bytes),
            "-u", str(self.greatest_bytes),
            "-n", str(self.repeats),
            "-p", str(self.perturbation_bytes),
        ]  # fmt: skip
        programs, written = self.current_environ.extras["programs"], ["-o", "netpipe.out"]
        if self.starter == TCP_PAIR:
            return two_ends(
                programs["netpipe-tcp"],
                options,
                ["-P", "@port", "-o", "netpipe.listening.out"],
                ["-h", "@host", "-P", "@port", *written],
            )
        if self.starter == PVM_PAIR:
            where = ["--within-node"] if self.placement == "within-node" else []
            return [*where, programs["netpipe"], *options, *written]
        return [*options, *written]

    def came_to_its_end(self, output: json_lines.Output, text: str) -> bool:
        """NetPIPE says nothing at its end; its table is held against the sizes asked for."""
        return bool(self.foreign) or super().came_to_its_end(output, text)

    def read(self, output: json_lines.Output, text: str) -> Reading:  # noqa: ARG002
        """A time and a rate for every size."""
        sizes = netpipe.schedule(self.least_bytes, self.greatest_bytes, self.perturbation_bytes)
        points = netpipe.parse(f"{text}\n{self.stderr_text()}", sizes, self.repeats)
        return Reading(metrics=[metric for point in points for metric in _metrics(point)])


def _metrics(point: netpipe.Point) -> list[Metric]:
    at = {"message_bytes": point.message_bytes}
    time_s = point.half_round_trip_s
    return [
        json_lines.registered_metric("netpipe_half_round_trip", time_s, at),
        json_lines.registered_metric("netpipe_bandwidth", point.message_bytes / time_s, at),
    ]
