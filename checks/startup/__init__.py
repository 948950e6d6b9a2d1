# SPDX-License-Identifier: Apache-2.0
"""Start-up: what starting and ending a job takes, with the daemons that its library needs."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from checks.common.answer import Asked, Reading, mean_is_possible
from checks.common.definition import Layout, SiteCapacity
from checks.common.json_lines import Output, check_number, measured
from checks.common.messages import ManyRanksDefinition
from checks.common.metrics import LAUNCH, time_metric
from checks.common.parameters import ProfiledParameters, Ranks, RanksPerNode, quantity

#: Metrics that the program prints.
PROGRAM_METRICS = ("init", "first_instruction", "all_heard")
#: Begin and end of each phase that session.sh stamps around the program.
PHASES = {
    "launch": ("launch_begin", "launch_end"),
    "daemon_boot": ("boot_begin", "boot_end"),
    "daemon_halt": ("halt_begin", "halt_end"),
}
#: Rounding of the stamps and of the program's times.
ROUNDING_S = 2e-6


class StartupParameters(ProfiledParameters):
    """Parameters of a launch of the start-up program."""

    ranks: Ranks = quantity("Ranks to start.", "ranks")
    ranks_per_node: RanksPerNode = "fill"


class StartupDefinition(ManyRanksDefinition[StartupParameters]):
    """Layout and cost of a launch that only starts, sends one message a rank, and ends."""

    name = "startup"
    title = "Start-up"
    deciding = "whole_start"
    shown = "whole_start"
    history_metrics = ("all_heard",)
    parameters = StartupParameters
    example = {"ranks": 4}
    noted = {"ranks": lambda asked: asked.ranks}
    metrics = (
        time_metric(
            "whole_start",
            "what a job pays to start and end: booting the daemons that the library needs, the"
            " launcher's whole run without our probe of the links, halting the daemons; stamps of"
            " one host",
            "whole start, daemons included",
        ),
        time_metric(
            "first_instruction",
            "from the start of the launcher to the first instruction of rank 0, same host's clock",
        ),
        time_metric("init", "MPI_Init, the longest over the ranks", "MPI_Init"),
        time_metric(
            "all_heard",
            "from the start of the launcher until rank 0 has one 4-byte message of every rank",
            "all ranks heard",
        ),
        LAUNCH,
        time_metric("daemon_boot", "booting the library's daemons on the nodes"),
        time_metric("daemon_halt", "halting the library's daemons"),
    )

    def expected(self, params: StartupParameters, hosts: Sequence[str]) -> Iterator[Asked]:
        """Three times of one launch."""
        yield from (Asked(name) for name in PROGRAM_METRICS)

    def check_values(self, params: StartupParameters, output: Output) -> Reading:
        """The program's times, which are within each other, and the phases of the session.

        The phases are stamped on the host of rank 0, so that no clocks of two hosts are subtracted.
        A library with daemons also gives the times of booting and halting them.
        """
        # Sessions of older runs do not say whether they have daemons.
        said = (output.allocation or {}).get("daemons")
        daemons = "boot_begin" in output.stamps if said is None else said != "none"
        phases = PHASES if daemons else {"launch": PHASES["launch"]}
        metrics = [
            *output.metrics,
            *(
                measured(self.metrics_by_name[name], output.phase_s(*edges))
                for name, edges in phases.items()
            ),
        ]
        times = {metric.name: metric.value for metric in metrics}
        if wrong := next(_faults(output, times, params.ranks), None):
            return Reading(wrong=wrong)
        whole_s = sum(times[name] for name in phases) - _probe_s(output)
        return Reading([measured(self.metrics_by_name["whole_start"], whole_s), *metrics])

    def bytes_per_rank(self, params: StartupParameters) -> int:
        """The allowance of each rank; the program keeps no data."""
        return 0

    def estimate_s(self, params: StartupParameters, layout: Layout, site: SiteCapacity) -> float:
        """Launch overhead + 0.2 s a rank: one remote shell a rank, one after the other (2003)."""
        return site.launch_overhead_s + 0.2 * layout.ranks


def _probe_s(output: Output) -> float:
    """Seconds of our probe of the links."""
    return (output.evidence and output.evidence.probe_s) or 0.0


def _faults(output: Output, times: Mapping[str, float], ranks: int) -> Iterator[str]:
    """Faults of the begin that the program counts from, and of its times.

    Its clock begins when session.sh is about to stamp the launch's begin.
    """
    settings: Mapping[str, Any] = (output.program or {})["settings"]
    host, begun = map(settings.get, ("launch-host", "launched-at"))
    if host not in output.hosts()[:1]:
        yield f"the launch began on {host!r:.80}, not rank 0's host"
    if not isinstance(begun, float) or not output.stamps["launch_begin"] - begun >= 0:
        yield f"the program counts from {begun!r}, not from the launch's begin"
        return
    least_s, mean_s = (
        check_number(output.notes.get(f"init_{which}_s"), "s", "init")
        for which in ("least", "mean")
    )
    init_s, first_s, heard_s = (times[name] for name in PROGRAM_METRICS)
    if not mean_is_possible(least_s, mean_s, init_s, ranks):
        yield (
            f"init took {init_s:.9g} s, over {ranks} ranks at least {least_s:.9g} s and in the mean"
            f" {mean_s:.9g} s"
        )
    start = output.evidence.ranks[0].start if output.evidence else None
    if start is not None and abs(start - begun - first_s) > ROUNDING_S:
        after_s = start - begun
        yield f"first_instruction is {first_s:.9g} s; rank 0 began {after_s:.6f} s after that"
    for part, part_s in (("first_instruction", first_s), ("init", init_s)):
        if part_s > heard_s + ROUNDING_S:
            yield f"{part} took {part_s:.9g} s, all_heard {heard_s:.9g} s"
    # The links are probed once all ranks are heard.
    launch_s, probe_s = output.stamps["launch_end"] - begun, _probe_s(output)
    if heard_s > launch_s + ROUNDING_S:
        yield f"all_heard took {heard_s:.9g} s, the launch {launch_s:.9g} s"
    if heard_s + probe_s > launch_s + ROUNDING_S:
        probed = f"all_heard took {heard_s:.9g} s and the probe {probe_s:.9g} s"
        yield f"{probed}, the launch {launch_s:.9g} s"


CHECK = StartupDefinition()
