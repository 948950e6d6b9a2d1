# SPDX-License-Identifier: Apache-2.0
"""Metrics that more than one check reports."""

from checks.common.answer import Relation, greatest_of, least_of, length_over, mean_of
from records.metric import MetricDefinition

RATE = MetricDefinition(
    "rate",
    "flop/s",
    "higher",
    "operations over time; HPL: 2N³/3 + 3N²/2 over the solution time; su3_rmd: over"
    " the program time, as the original counts: a site 17112 a step, 5616 a"
    " trajectory, 2592 a measurement",
)
HOPS = MetricDefinition(
    "hops",
    "1",
    "lower",
    "between the two nodes, by the topology that the site declares: switches passed in"
    " a tree, links in a torus",
    measured=False,
)
HALF_ROUND_TRIP = MetricDefinition(
    "half_round_trip",
    "s",
    "lower",
    "half the time of a ping-pong round trip; the launch's value is the median",
)
HALF_ROUND_TRIP_BEST = MetricDefinition(
    "half_round_trip_best", "s", "lower", "least half round trip of a launch"
)
HALF_ROUND_TRIP_MEAN = MetricDefinition(
    "half_round_trip_mean", "s", "lower", "mean half round trip of a launch"
)
HALF_ROUND_TRIP_WORST = MetricDefinition(
    "half_round_trip_worst", "s", "lower", "greatest half round trip of a launch"
)
BANDWIDTH = MetricDefinition(
    "bandwidth", "bytes/s", "higher", "message length over the median half round trip"
)
BANDWIDTH_BEST = MetricDefinition(
    "bandwidth_best", "bytes/s", "higher", "message length over the least half round trip"
)
BANDWIDTH_MEAN = MetricDefinition(
    "bandwidth_mean", "bytes/s", "higher", "message length over the mean half round trip"
)
BANDWIDTH_WORST = MetricDefinition(
    "bandwidth_worst", "bytes/s", "higher", "message length over the greatest half round trip"
)
LAUNCH = MetricDefinition(
    "launch",
    "s",
    "lower",
    "the launcher's whole run, without daemon boot/halt",
    title="whole launch",
)

#: The median first: it comes with its samples.
HALF_ROUND_TRIPS = (
    HALF_ROUND_TRIP,
    HALF_ROUND_TRIP_BEST,
    HALF_ROUND_TRIP_MEAN,
    HALF_ROUND_TRIP_WORST,
)
BANDWIDTHS = (BANDWIDTH, BANDWIDTH_BEST, BANDWIDTH_MEAN, BANDWIDTH_WORST)

#: How they depend on the samples and on each other.
ECHO_RELATIONS: dict[str, Relation] = {
    "half_round_trip_best": least_of("half_round_trip"),
    "half_round_trip_mean": mean_of("half_round_trip"),
    "half_round_trip_worst": greatest_of("half_round_trip"),
    "bandwidth": length_over("half_round_trip"),
    "bandwidth_best": length_over("half_round_trip_best"),
    "bandwidth_mean": length_over("half_round_trip_mean"),
    "bandwidth_worst": length_over("half_round_trip_worst"),
}
