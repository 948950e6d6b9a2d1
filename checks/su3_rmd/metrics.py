# SPDX-License-Identifier: Apache-2.0
"""Metrics of the check su3_rmd."""

from checks.common.answer import Relation
from checks.common.metrics import LAUNCH, RATE, time_metric
from records.metric import MetricDefinition

RANK_CPU_TIME = time_metric("rank_cpu_time", "su3_rmd: CPU time of the rank that took most of it")

#: The numbers of a line of measurements, kept where a case asks for them.
PRINTED_DIGITS = tuple(
    MetricDefinition(
        name,
        "1",
        "higher",
        f"su3_rmd: {definition}, as a measurement printed it",
        may_be_zero=True,
        measured=False,
    )
    for name, definition in (
        ("polyakov_re", "real part of the Polyakov loop"),
        ("polyakov_im", "imaginary part of the Polyakov loop"),
        ("plaquette_space", "mean plaquette of the planes in space, 3 of a unit field"),
        ("plaquette_time", "mean plaquette of the planes with time, 3 of a unit field"),
    )
)

METRICS = (
    time_metric("program_time", "su3_rmd: warm-ups, trajectories and measurements"),
    time_metric(
        "cpu_time",
        "su3_rmd: CPU time of all ranks, the whole program",
        may_be_zero=True,
        kind="sum",
    ),
    RANK_CPU_TIME,
    MetricDefinition(
        "communication_share",
        "1",
        "lower",
        "su3_rmd: communication time over program time",
        may_be_zero=True,
        kind="share",
    ),
    RATE,
    LAUNCH,
    time_metric("total_time", "su3_rmd: the program from MPI_Init to its end"),
    *(
        time_metric(name, f"su3_rmd: {definition}", may_be_zero=True)
        for name, definition in (
            ("warmup_time", "warm-up trajectories"),
            ("molecular_dynamics_time", "trajectories"),
            ("measurement_time", "measurements"),
            ("communication_time", "halos and global sums, mean over the ranks"),
            ("global_sum_time", "global sums, mean over the ranks"),
        )
    ),
    time_metric("site_step_time", "su3_rmd: program time a site and step", kind="quotient"),
    *PRINTED_DIGITS,
)

#: What our own program prints as JSON; the others are the harness's.
PRINTED = tuple(
    metric for metric in METRICS if metric not in (LAUNCH, RANK_CPU_TIME, *PRINTED_DIGITS)
)

RELATIONS: dict[str, Relation] = {
    "communication_share": lambda here: here("communication_time") / here("program_time"),
    "site_step_time": lambda here: here("program_time") / here.params.site_steps,
    "rate": lambda here: here.params.operations / here("program_time"),
}
