# SPDX-License-Identifier: Apache-2.0
"""The register of metrics: name, unit, better-direction and definition, each stated once.

Units are SI base units; a rendering converts. A value whose name is not registered here never
enters a record.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Better = Literal["higher", "lower"]


@dataclass(frozen=True)
class MetricDefinition:
    """A named quantity: `unit` in SI base units, `better` says which direction is good."""

    name: str
    unit: str
    better: Better
    definition: str
    may_be_zero: bool = False


def _register(*definitions: MetricDefinition) -> dict[str, MetricDefinition]:
    by_name = {definition.name: definition for definition in definitions}
    assert len(by_name) == len(definitions), "a metric is registered twice"
    return by_name


REGISTER = _register(
    MetricDefinition(
        "rate",
        "flop/s",
        "higher",
        "operations over time; HPL: 2N³/3 + 3N²/2 over the solution time; su3_rmd: over the"
        " program time, as the original counts: a site 17112 a step, 5616 a trajectory, 2592 a"
        " measurement",
    ),
    MetricDefinition("time", "s", "lower", "time to factor and solve the linear system"),
    MetricDefinition(
        "half_round_trip",
        "s",
        "lower",
        "half the time of a ping-pong round trip; the launch's value is the median",
    ),
    MetricDefinition("half_round_trip_best", "s", "lower", "least half round trip of a launch"),
    MetricDefinition("half_round_trip_mean", "s", "lower", "mean half round trip of a launch"),
    MetricDefinition("half_round_trip_worst", "s", "lower", "greatest half round trip of a launch"),
    MetricDefinition(
        "bandwidth", "bytes/s", "higher", "message length over the median half round trip"
    ),
    MetricDefinition(
        "bandwidth_best", "bytes/s", "higher", "message length over the least half round trip"
    ),
    MetricDefinition(
        "bandwidth_mean", "bytes/s", "higher", "message length over the mean half round trip"
    ),
    MetricDefinition(
        "bandwidth_worst", "bytes/s", "higher", "message length over the greatest half round trip"
    ),
    MetricDefinition(
        "first_instruction",
        "s",
        "lower",
        "from the start of the launcher to the first instruction of rank 0, same host's clock",
    ),
    MetricDefinition("init", "s", "lower", "MPI_Init, the longest over the ranks"),
    MetricDefinition(
        "all_heard",
        "s",
        "lower",
        "from the start of the launcher until rank 0 has one 4-byte message of every rank",
    ),
    MetricDefinition("launch", "s", "lower", "the launcher's whole run, without daemon boot/halt"),
    MetricDefinition(
        "program_time", "s", "lower", "su3_rmd: warm-ups, trajectories and measurements"
    ),
    MetricDefinition("total_time", "s", "lower", "su3_rmd: the program from MPI_Init to its end"),
    MetricDefinition("warmup_time", "s", "lower", "su3_rmd: warm-up trajectories", True),
    MetricDefinition("molecular_dynamics_time", "s", "lower", "su3_rmd: trajectories", True),
    MetricDefinition("measurement_time", "s", "lower", "su3_rmd: measurements", True),
    MetricDefinition(
        "communication_time",
        "s",
        "lower",
        "su3_rmd: halos and global sums, mean over the ranks",
        True,
    ),
    MetricDefinition(
        "global_sum_time", "s", "lower", "su3_rmd: global sums, mean over the ranks", True
    ),
    MetricDefinition(
        "cpu_time", "s", "lower", "su3_rmd: CPU time of all ranks, the whole program", True
    ),
    MetricDefinition(
        "rank_cpu_time", "s", "lower", "su3_rmd: CPU time of the rank that took most of it"
    ),
    MetricDefinition(
        "communication_share", "1", "lower", "su3_rmd: communication time over program time", True
    ),
    MetricDefinition("site_step_time", "s", "lower", "su3_rmd: program time a site and step"),
    MetricDefinition("daemon_boot", "s", "lower", "booting the library's daemons on the nodes"),
    MetricDefinition("daemon_halt", "s", "lower", "halting the library's daemons"),
)
