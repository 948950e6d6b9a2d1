# SPDX-License-Identifier: Apache-2.0
"""Metrics: messages between two nodes, between all pairs of them, and round all of them."""

from records.metrics.definition import CheckMetrics, MetricDefinition

CHECKS = (
    CheckMetrics(
        "alltoall_pairs",
        title="All pairs of nodes",
        deciding="pair_bandwidth",
        shown="pair_bandwidth",
    ),
    CheckMetrics("bisection", title="Bisection", deciding="bisection_rate", shown="bisection_rate"),
    CheckMetrics("echo", title="Echo", deciding="half_round_trip", shown="echo_latency"),
    CheckMetrics("ring", title="Ring", deciding="ring_time", shown="ring_rate"),
    CheckMetrics("streams", title="Streams", deciding="window_rate", shown="window_rate"),
)

DEFINITIONS = (
    MetricDefinition(
        "hops",
        "1",
        "lower",
        "between the two nodes, by the topology that the site declares: switches passed in a tree,"
        " links in a torus",
        measured=False,
    ),
    MetricDefinition(
        "echo_latency",
        "s",
        "lower",
        "half round trip of 0 bytes, the median of a launch",
        title="latency (median of 0 bytes)",
    ),
    MetricDefinition(
        "echo_latency_least",
        "s",
        "lower",
        "half round trip of 0 bytes, the least of a launch: the latency of Dongarra and Dunigan"
        " (1996)",
        title="latency (least of 0 bytes)",
    ),
    MetricDefinition(
        "half_round_trip_loop",
        "s",
        "lower",
        "half a round trip from one interval round the whole loop: a mean, with no samples",
        title="half round trip, loop timed",
    ),
    MetricDefinition(
        "bandwidth_loop",
        "bytes/s",
        "higher",
        "message length over the half round trip of the whole loop",
        title="bandwidth, loop timed",
    ),
    MetricDefinition(
        "window_rate",
        "bytes/s",
        "higher",
        "bytes of a window of non-blocking messages over the median time until the receiver has"
        " said that it has them; both ways: the bytes of both directions together",
    ),
    MetricDefinition(
        "ring_time", "s", "lower", "time of all turns of a message round a ring of all ranks"
    ),
    MetricDefinition(
        "ring_rate",
        "bytes/s",
        "higher",
        "from node to node: ranks × turns × message length over the time of all turns",
    ),
    MetricDefinition(
        "ring_turn", "s", "lower", "time of one turn; the launch's value is the median"
    ),
    MetricDefinition(
        "bisection_rate",
        "bytes/s",
        "higher",
        "bytes of all pairs and both directions together, while all send at once, over the time of"
        " the slowest rank; median over random matchings of one half of the nodes with the other",
    ),
    MetricDefinition(
        "bisection_rate_least",
        "bytes/s",
        "higher",
        "the same of the slowest matching",
    ),
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
