# SPDX-License-Identifier: Apache-2.0
"""Metrics of the check bisection."""

from checks.common.answer import Relation, least_of
from records.metric import MetricDefinition

METRICS = (
    MetricDefinition(
        "bisection_rate",
        "bytes/s",
        "higher",
        "bytes of all pairs and both directions together, while all send at once, over the"
        " time of the slowest rank; median over random matchings of one half of the nodes"
        " with the other",
    ),
    MetricDefinition(
        "bisection_rate_least", "bytes/s", "higher", "the same of the slowest matching"
    ),
)

RELATIONS: dict[str, Relation] = {"bisection_rate_least": least_of("bisection_rate")}
