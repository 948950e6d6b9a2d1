# SPDX-License-Identifier: Apache-2.0
"""Metrics of the check su3_rmd."""

from checks.common.answer import Relation
from checks.common.metrics import LAUNCH, RATE
from records.metric import MetricDefinition

RANK_CPU_TIME = MetricDefinition(
    "rank_cpu_time", "s", "lower", "su3_rmd: CPU time of the rank that took most of it"
)

METRICS = (
    MetricDefinition(
        "program_time", "s", "lower", "su3_rmd: warm-ups, trajectories and measurements"
    ),
    MetricDefinition(
        "cpu_time",
        "s",
        "lower",
        "su3_rmd: CPU time of all ranks, the whole program",
        may_be_zero=True,
    ),
    RANK_CPU_TIME,
    MetricDefinition(
        "communication_share",
        "1",
        "lower",
        "su3_rmd: communication time over program time",
        may_be_zero=True,
    ),
    RATE,
    LAUNCH,
    MetricDefinition("total_time", "s", "lower", "su3_rmd: the program from MPI_Init to its end"),
    MetricDefinition(
        "warmup_time", "s", "lower", "su3_rmd: warm-up trajectories", may_be_zero=True
    ),
    MetricDefinition(
        "molecular_dynamics_time", "s", "lower", "su3_rmd: trajectories", may_be_zero=True
    ),
    MetricDefinition("measurement_time", "s", "lower", "su3_rmd: measurements", may_be_zero=True),
    MetricDefinition(
        "communication_time",
        "s",
        "lower",
        "su3_rmd: halos and global sums, mean over the ranks",
        may_be_zero=True,
    ),
    MetricDefinition(
        "global_sum_time",
        "s",
        "lower",
        "su3_rmd: global sums, mean over the ranks",
        may_be_zero=True,
    ),
    MetricDefinition("site_step_time", "s", "lower", "su3_rmd: program time a site and step"),
)

#: What our own program prints; the others are the harness's.
PRINTED = tuple(metric for metric in METRICS if metric not in (LAUNCH, RANK_CPU_TIME))

RELATIONS: dict[str, Relation] = {
    "communication_share": lambda here: here("communication_time") / here("program_time"),
    "site_step_time": lambda here: here("program_time") / here.params.site_steps,
    "rate": lambda here: here.params.operations / here("program_time"),
}
