# SPDX-License-Identifier: Apache-2.0
"""The echo between two nodes: its laws, and its times against the hops between them."""

from __future__ import annotations

from reports.checks.common.fits import (
    fits_picture,
    fits_table,
    latency_and_bandwidth,
    switches_table,
)
from reports.checks.common.hops import hops_picture, hops_table
from reports.show.section import Section

SECTION = Section(
    pictures=(
        latency_and_bandwidth("echo", "half_round_trip", "bandwidth"),
        fits_picture("echo"),
        hops_picture("echo"),
    ),
    tables=(hops_table("echo"), fits_table("echo"), switches_table("echo")),
)
