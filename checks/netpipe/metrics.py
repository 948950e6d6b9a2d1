# SPDX-License-Identifier: Apache-2.0
"""Metrics of the check netpipe."""

from records.metric import MetricDefinition

METRICS = (
    MetricDefinition(
        "netpipe_half_round_trip",
        "s",
        "lower",
        "half a round trip as NetPIPE gives it: the least of its trials' means",
        title="NetPIPE half round trip",
    ),
    MetricDefinition(
        "netpipe_bandwidth",
        "bytes/s",
        "higher",
        "message length over NetPIPE's half round trip",
        title="NetPIPE bandwidth",
    ),
)
