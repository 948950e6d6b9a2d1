# SPDX-License-Identifier: Apache-2.0
"""Metrics of the check streams."""

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
