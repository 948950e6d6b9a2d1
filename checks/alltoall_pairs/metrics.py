# SPDX-License-Identifier: Apache-2.0
"""Metrics of the check alltoall_pairs."""

from records.metric import MetricDefinition

METRICS = (
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
