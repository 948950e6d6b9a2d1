# SPDX-License-Identifier: Apache-2.0
"""The echo between two nodes: its laws, and its times against the hops between them."""

from reports.checks.common.curves import latency_and_bandwidth, of_check
from reports.checks.common.fits import fits_table, switches_table
from reports.checks.common.hops import hops_table
from reports.show.section import Section

SECTION = Section(
    pictures=(latency_and_bandwidth("echo", "half_round_trip", "bandwidth"),),
    tables=of_check("echo", hops_table, fits_table, switches_table),
)
