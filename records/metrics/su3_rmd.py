# SPDX-License-Identifier: Apache-2.0
"""Metrics: The lattice gauge application."""

from records.metrics.definition import CheckMetrics, MetricDefinition

CHECKS = (CheckMetrics("su3_rmd", title="su3_rmd", deciding="program_time", shown="rate"),)

DEFINITIONS = (
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
)
