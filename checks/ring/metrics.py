# SPDX-License-Identifier: Apache-2.0
"""Metrics of the check ring."""

from records.metric import MetricDefinition

METRICS = (
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
)
