# SPDX-License-Identifier: Apache-2.0
"""Metrics: messages between two nodes, between all pairs of them, and round all of them."""

from campaigns.metrics.definition import CheckMetrics, MetricDefinition

CHECKS = (
    CheckMetrics(
        "alltoall_pairs",
        title="All pairs of nodes",
        deciding="pair_bandwidth",
        shown="pair_bandwidth",
    ),
)

DEFINITIONS = (
    MetricDefinition(
        "pair_latency",
        "s",
        "lower",
        "half round trip of a short message between two nodes; the launch's value is the median",
        title="latency of the pair",
    ),
    MetricDefinition(
        "pair_bandwidth",
        "bytes/s",
        "higher",
        "length of a long message over its median half round trip between two nodes",
        title="bandwidth of the pair",
    ),
)
