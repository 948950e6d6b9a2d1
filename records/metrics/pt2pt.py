# SPDX-License-Identifier: Apache-2.0
"""Metrics: Point-to-point messages."""

from records.metrics.definition import CheckMetrics, MetricDefinition

CHECKS = (
    CheckMetrics("pt2pt", title="Point-to-point", deciding="half_round_trip", shown="bandwidth"),
)

DEFINITIONS = (
    MetricDefinition(
        "half_round_trip",
        "s",
        "lower",
        "half the time of a ping-pong round trip; the launch's value is the median",
    ),
    MetricDefinition("half_round_trip_best", "s", "lower", "least half round trip of a launch"),
    MetricDefinition("half_round_trip_mean", "s", "lower", "mean half round trip of a launch"),
    MetricDefinition("half_round_trip_worst", "s", "lower", "greatest half round trip of a launch"),
    MetricDefinition(
        "bandwidth", "bytes/s", "higher", "message length over the median half round trip"
    ),
    MetricDefinition(
        "bandwidth_best", "bytes/s", "higher", "message length over the least half round trip"
    ),
    MetricDefinition(
        "bandwidth_mean", "bytes/s", "higher", "message length over the mean half round trip"
    ),
    MetricDefinition(
        "bandwidth_worst", "bytes/s", "higher", "message length over the greatest half round trip"
    ),
)
