# SPDX-License-Identifier: Apache-2.0
"""Metrics of the check streams."""

from statistics import median

from checks.common.answer import Here, Relation
from records.metric import MetricDefinition

METRICS = (
    MetricDefinition(
        "window_rate",
        "bytes/s",
        "higher",
        "bytes of a window of non-blocking messages over the median time until the"
        " receiver has said that it has them; both ways: the bytes of both directions"
        " together",
    ),
)


def _of_median_time(here: Here) -> float:
    """Samples are rates; the value is that of the median time."""
    return 1 / median(1 / rate for rate in here.samples("window_rate"))


RELATIONS: dict[str, Relation] = {"window_rate": _of_median_time}
