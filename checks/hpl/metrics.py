# SPDX-License-Identifier: Apache-2.0
"""Metrics of the check hpl."""

from checks.common.metrics import RATE
from records.metric import MetricDefinition

METRICS = (
    RATE,
    MetricDefinition(
        "time", "s", "lower", "time to factor and solve the linear system", title="solution time"
    ),
)
