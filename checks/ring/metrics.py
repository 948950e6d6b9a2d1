# SPDX-License-Identifier: Apache-2.0
"""Metrics of the check ring."""

from checks.common.answer import Here, Relation
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


def _rate(here: Here) -> float:
    moved: int = here.params.ranks * here.params.turns * here.at["message_bytes"]
    return moved / here("ring_time")


RELATIONS: dict[str, Relation] = {
    "ring_time": lambda here: sum(here.samples("ring_turn")),
    "ring_rate": _rate,
}
