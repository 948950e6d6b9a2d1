# SPDX-License-Identifier: Apache-2.0
"""A message round a ring: its rate from node to node."""

from __future__ import annotations

from functools import partial

from reports.analysis import Analysis
from reports.show.generic import side_by_side_table
from reports.show.lines import size_picture
from reports.show.panel import Picture
from reports.show.section import Section


def rates(analysis: Analysis) -> Picture | None:
    """Rate from node to node round the ring against message length, one panel an order."""
    rows = analysis.rows_of("ring", "ring_rate")
    caption = "One panel for each order and number of ranks."
    return size_picture(analysis, rows, "picture-ring", "Rate from node to node", caption)


SECTION = Section(
    pictures=(rates,), tables=(partial(side_by_side_table, check="ring", metric="ring_rate"),)
)
