# SPDX-License-Identifier: Apache-2.0
"""The echo between two nodes."""

from reports.checks.common.curves import latency_and_bandwidth
from reports.show.section import Section

SECTION = Section(
    pictures=(latency_and_bandwidth("echo", "half_round_trip", "bandwidth"),),
)
