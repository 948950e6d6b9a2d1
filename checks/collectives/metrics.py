# SPDX-License-Identifier: Apache-2.0
"""Metrics of the check collectives."""

from checks.common.answer import Relation, least_of
from records.metric import MetricDefinition

METRICS = (
    MetricDefinition(
        "collective_time",
        "s",
        "lower",
        "time of a collective operation: the longest over the ranks of each repetition,"
        " the median over repetitions; procedure loop: the longest over the ranks of a"
        " loop's mean, the median over runs; message length per pair of ranks",
    ),
    MetricDefinition(
        "collective_time_best",
        "s",
        "lower",
        "the least repetition (loop: run) of a launch, the longest over the ranks",
    ),
)

RELATIONS: dict[str, Relation] = {"collective_time_best": least_of("collective_time")}
