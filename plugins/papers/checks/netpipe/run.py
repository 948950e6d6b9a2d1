# SPDX-License-Identifier: Apache-2.0
"""NetPIPE (the distribution's, or a site's own) between two ranks, to compare our own echo with.

For an MPI library the program is NetPIPE's MPI module, with our evidence library preloaded. Its
modules for TCP and PVM are two ends that our own programs (common/src: tcp_pair, pvm_pair) start on
both hosts; those give the evidence.
"""

from checks.common.answer import Reading, died, longer_than_launch, other_program
from checks.common.base import MpiCheck
from checks.common.json_lines import Output, measured
from plugins.papers.checks.netpipe import CHECK, NetpipeParameters
from plugins.papers.checks.netpipe import output as netpipe
from plugins.papers.checks.sockets import PVM_PAIR, TCP_PAIR, two_ends
from records.metric import Metric


class Run(MpiCheck):
    """NetPIPE's sizes, times and rates."""

    @property
    def starter(self) -> str | None:
        """Our program that starts NetPIPE's two ends; None where NetPIPE is the program."""
        if self.params.transport == "tcp":
            return TCP_PAIR
        return PVM_PAIR if "pvm" in self.setting.features else None

    @property
    def foreign(self) -> str | None:
        """NetPIPE's MPI module; else the program is ours."""
        return None if self.starter else "netpipe"

    def command(self) -> list[str]:
        """The site's NetPIPE, or our program that starts it and hands on its options."""
        asked = self.params
        options = [
            "-l", str(asked.least_bytes),
            "-u", str(asked.greatest_bytes),
            "-n", str(asked.repeats),
            "-p", str(asked.perturbation_bytes),
        ]  # fmt: skip
        programs, written = self.setting.programs, ["-o", "netpipe.out"]
        if self.starter == TCP_PAIR:
            ends = two_ends(
                programs["netpipe-tcp"],
                options,
                ["-P", "@port", "-o", "netpipe.listening.out"],
                ["-h", "@host", "-P", "@port", *written],
            )
            return [str(self.built / TCP_PAIR), *ends]
        if self.starter == PVM_PAIR:
            where = ["--within-node"] if asked.placement == "within-node" else []
            pair = str(self.built / PVM_PAIR)
            return [pair, *where, programs["netpipe"], *options, *written]
        return [str(self.foreign_path), *options, *written]

    def came_to_its_end(self, output: Output, text: str) -> bool:
        """NetPIPE prints no last line; its table must have the sizes asked for."""
        return bool(self.foreign) or super().came_to_its_end(output, text)

    def read(self, output: Output, text: str) -> Reading:
        """A time and a rate for every size."""
        printed = f"{text}\n{self.stderr_text()}"
        return read_table(self.params, output, printed, starter=self.starter)


def read_table(
    asked: NetpipeParameters, output: Output, text: str, *, starter: str | None = None
) -> Reading:
    """A time and a rate for every size; `text` is stdout and stderr. Raises OutputError.

    Without a `starter` NetPIPE is the MPI program itself, whose ranks say where they are.
    """
    wrong = died(text) or other_program(None, [starter] if starter else [], output)
    if wrong:
        return Reading(wrong=wrong)
    netpipe.check_start(text, asked.perturbation_bytes, [] if starter else output.hosts())
    sizes = netpipe.schedule(asked.least_bytes, asked.greatest_bytes, asked.perturbation_bytes)
    points = netpipe.parse(text, sizes, asked.repeats)
    metrics: list[Metric] = []
    for point in points:
        size, time_s = point.message_bytes, point.half_round_trip_s
        values = {"netpipe_half_round_trip": time_s, "netpipe_bandwidth": size / time_s}
        metrics += [
            measured(CHECK.metrics_by_name[name], value, {"message_bytes": size})
            for name, value in values.items()
        ]
    round_trips_s = [2 * point.repeats * point.half_round_trip_s for point in points]
    return Reading(metrics, longer_than_launch(netpipe.TRIALS * sum(round_trips_s), output))
