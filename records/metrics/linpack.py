# SPDX-License-Identifier: Apache-2.0
"""Metrics: HPL, and the rate that all programs counting operations share."""

from records.metrics.definition import CheckMetrics, MetricDefinition

CHECKS = (CheckMetrics("hpl", title="HPL", deciding="rate", shown="rate"),)

DEFINITIONS = (
    MetricDefinition(
        "rate",
        "flop/s",
        "higher",
        "operations over time; HPL: 2N³/3 + 3N²/2 over the solution time; su3_rmd: over the"
        " program time, as the original counts: a site 17112 a step, 5616 a trajectory, 2592 a"
        " measurement",
    ),
    MetricDefinition(
        "time", "s", "lower", "time to factor and solve the linear system", title="solution time"
    ),
)
