# SPDX-License-Identifier: Apache-2.0
"""Metrics: PVM's echo, beside those it shares with point-to-point messages."""

from records.metrics.definition import CheckMetrics, MetricDefinition

CHECKS = (
    CheckMetrics("pvm_echo", title="PVM echo", deciding="half_round_trip", shown="bandwidth"),
)

DEFINITIONS = (
    MetricDefinition(
        "pack_time", "s", "lower", "pvm_initsend and packing of one message, median", True
    ),
    MetricDefinition(
        "send_time", "s", "lower", "pvm_send or pvm_psend until it returns, median", True
    ),
    MetricDefinition(
        "wait_time",
        "s",
        "lower",
        "pvm_recv or pvm_precv from the message's leaving to the answer's coming in, median",
        True,
    ),
    MetricDefinition(
        "unpack_time", "s", "lower", "unpacking of one message into the buffer, median", True
    ),
    MetricDefinition(
        "copy_time", "s", "lower", "memcpy of a message from buffer to buffer, median", True
    ),
)
