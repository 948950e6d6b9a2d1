# SPDX-License-Identifier: Apache-2.0
"""Metrics of the check pvm_echo."""

from checks.common.metrics import (
    BANDWIDTH,
    BANDWIDTH_BEST,
    BANDWIDTH_MEAN,
    BANDWIDTH_WORST,
    HALF_ROUND_TRIP,
    HALF_ROUND_TRIP_BEST,
    HALF_ROUND_TRIP_MEAN,
    HALF_ROUND_TRIP_WORST,
)
from records.metric import MetricDefinition

METRICS = (
    HALF_ROUND_TRIP,
    HALF_ROUND_TRIP_BEST,
    HALF_ROUND_TRIP_MEAN,
    HALF_ROUND_TRIP_WORST,
    BANDWIDTH,
    BANDWIDTH_BEST,
    BANDWIDTH_MEAN,
    BANDWIDTH_WORST,
    MetricDefinition(
        "pack_time",
        "s",
        "lower",
        "pvm_initsend and packing of one message, median",
        may_be_zero=True,
    ),
    MetricDefinition(
        "send_time",
        "s",
        "lower",
        "pvm_send or pvm_psend until it returns, median",
        may_be_zero=True,
    ),
    MetricDefinition(
        "wait_time",
        "s",
        "lower",
        "pvm_recv or pvm_precv from the message's leaving to the answer's coming in, median",
        may_be_zero=True,
    ),
    MetricDefinition(
        "unpack_time",
        "s",
        "lower",
        "unpacking of one message into the buffer, median",
        may_be_zero=True,
    ),
    MetricDefinition(
        "copy_time",
        "s",
        "lower",
        "memcpy of a message from buffer to buffer, median",
        may_be_zero=True,
    ),
)
