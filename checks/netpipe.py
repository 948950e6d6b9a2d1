# SPDX-License-Identifier: Apache-2.0
"""NetPIPE (the distribution's, or a site's own) between two ranks: the witness of our own echo.

For the library the program is NetPIPE's MPI module, with our evidence laid before it. For TCP our
own program (src/tcp_pair) starts NetPIPE's TCP module on both hosts and gives the evidence.
"""

from __future__ import annotations

from pathlib import Path

from campaigns.records import Metric
from checks.adapters import json_lines, netpipe
from checks.base import Reading
from checks.catalogue.netpipe import NetpipeParameters
from checks.knobs import knobs_of
from checks.two_ends import TCP_PAIR, two_ends
from checks.two_ranks import TwoRankCheck


class NetpipeCheck(TwoRankCheck, knobs_of(NetpipeParameters)):
    """NetPIPE's sizes, times and rates."""

    program = TCP_PAIR

    @property
    def foreign(self) -> str | None:
        """NetPIPE's MPI module; over TCP the program is ours."""
        return "netpipe" if self.transport == "library" else None

    def executable_path(self, built: Path) -> Path:
        """The site's NetPIPE, or our program that starts it."""
        if self.foreign:
            return super().executable_path(built)
        return built / self.program

    def arguments(self) -> list[str]:
        """NetPIPE's own options; our program hands them on."""
        options = [
            "-l", str(self.least_bytes),
            "-u", str(self.greatest_bytes),
            "-n", str(self.repeats),
            "-p", str(self.perturbation_bytes),
        ]  # fmt: skip
        if self.foreign:
            return [*options, "-o", "netpipe.out"]
        return two_ends(
            self.current_environ.extras["programs"]["netpipe-tcp"],
            options,
            ["-P", "@port", "-o", "netpipe.listening.out"],
            ["-h", "@host", "-P", "@port", "-o", "netpipe.out"],
        )

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
