# SPDX-License-Identifier: Apache-2.0
"""Metrics of the check interference."""

from checks.common.answer import Here, Relation
from records.metric import MetricDefinition

METRICS = (
    MetricDefinition(
        "counting_time",
        "s",
        "lower",
        "a counting loop of fixed turns, median over samples, while all other ranks rest"
        " or while messages pass; the most slowed rank of its kind (endpoint, neighbour on"
        " an endpoint's node, neighbour on another node)",
    ),
    MetricDefinition(
        "compute_slowdown",
        "1",
        "lower",
        "time of the counting loop while messages pass over its time while all other ranks rest",
    ),
    MetricDefinition(
        "exchange_time", "s", "lower", "one message each way at once between the endpoints"
    ),
    MetricDefinition(
        "overlap",
        "1",
        "higher",
        "1 − (t_both − t_compute) / t_exchange, cut to 0 … 1: what of a non-blocking"
        " exchange hides behind computing that takes as long alone",
        may_be_zero=True,
    ),
    MetricDefinition(
        "availability",
        "1",
        "higher",
        "t_compute / t_both, at most 1: what the exchange leaves of the processor to"
        " computing that takes as long alone",
    ),
    MetricDefinition(
        "stream_rate",
        "bytes/s",
        "higher",
        "bytes of a window of messages one way over its time until answered, neighbours"
        " resting or computing",
    ),
    MetricDefinition(
        "message_slowdown",
        "1",
        "lower",
        "time of a stream's window beside computing neighbours over its time beside resting ones",
    ),
)


def _message_slowdown(here: Here) -> float:
    return here("stream_rate", neighbours="resting") / here("stream_rate", neighbours="computing")


def _compute_slowdown(here: Here) -> float:
    return here("counting_time", messages="passing") / here("counting_time", messages="none")


RELATIONS: dict[str, Relation] = {
    "compute_slowdown": _compute_slowdown,
    "message_slowdown": _message_slowdown,
}
