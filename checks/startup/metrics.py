# SPDX-License-Identifier: Apache-2.0
"""Metrics of the check startup."""

from checks.common.metrics import LAUNCH
from records.metric import MetricDefinition

METRICS = (
    MetricDefinition(
        "first_instruction",
        "s",
        "lower",
        "from the start of the launcher to the first instruction of rank 0, same host's clock",
    ),
    MetricDefinition(
        "init", "s", "lower", "MPI_Init, the longest over the ranks", title="MPI_Init"
    ),
    MetricDefinition(
        "all_heard",
        "s",
        "lower",
        "from the start of the launcher until rank 0 has one 4-byte message of every rank",
        title="all ranks heard",
    ),
    LAUNCH,
    MetricDefinition("daemon_boot", "s", "lower", "booting the library's daemons on the nodes"),
    MetricDefinition("daemon_halt", "s", "lower", "halting the library's daemons"),
)
