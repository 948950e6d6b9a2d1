# SPDX-License-Identifier: Apache-2.0
"""Metrics: Collective operations."""

from records.metrics.definition import CheckMetrics, MetricDefinition

CHECKS = (
    CheckMetrics(
        "collectives",
        title="Collective operations",
        deciding="collective_time",
        shown="collective_time",
    ),
)

DEFINITIONS = (
    MetricDefinition(
        "collective_time",
        "s",
        "lower",
        "time of a collective operation: the longest over the ranks of each repetition, the median"
        " over repetitions; procedure loop: the longest over the ranks of a loop's mean, the median"
        " over runs; message length per pair of ranks",
    ),
    MetricDefinition(
        "collective_time_best",
        "s",
        "lower",
        "the least repetition (loop: run) of a launch, the longest over the ranks",
    ),
)
