# SPDX-License-Identifier: Apache-2.0
"""Metrics of the check echo."""

from checks.common.answer import Relation, length_over
from checks.common.metrics import (
    BANDWIDTH,
    BANDWIDTH_BEST,
    ECHO_RELATIONS,
    HALF_ROUND_TRIP,
    HALF_ROUND_TRIP_BEST,
    HALF_ROUND_TRIP_MEAN,
    HALF_ROUND_TRIP_WORST,
)
from records.metric import MetricDefinition

METRICS = (
    HALF_ROUND_TRIP,
    HALF_ROUND_TRIP_BEST,
    HALF_ROUND_TRIP_MEAN,
    HALF_ROUND_TRIP_WORST,
    MetricDefinition(
        "half_round_trip_loop",
        "s",
        "lower",
        "half a round trip from one interval round the whole loop: a mean, with no samples",
        title="half round trip, loop timed",
    ),
    BANDWIDTH,
    BANDWIDTH_BEST,
    MetricDefinition(
        "bandwidth_loop",
        "bytes/s",
        "higher",
        "message length over the half round trip of the whole loop",
        title="bandwidth, loop timed",
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
        "half round trip of 0 bytes, the least of a launch: the latency of Dongarra and"
        " Dunigan (1996)",
        title="latency (least of 0 bytes)",
    ),
)

RELATIONS: dict[str, Relation] = {
    **ECHO_RELATIONS,
    "bandwidth_loop": length_over("half_round_trip_loop"),
    "echo_latency": lambda here: here("half_round_trip", message_bytes=0),
    "echo_latency_least": lambda here: here("half_round_trip_best", message_bytes=0),
}
