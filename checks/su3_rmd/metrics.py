# SPDX-License-Identifier: Apache-2.0
"""Metrics of the check su3_rmd."""

from checks.common.metrics import LAUNCH, RATE
from records.metric import MetricDefinition

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
    MetricDefinition(
        "rank_cpu_time", "s", "lower", "su3_rmd: CPU time of the rank that took most of it"
    ),
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
