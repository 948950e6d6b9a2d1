# SPDX-License-Identifier: Apache-2.0
"""A message round a ring: its rate from node to node."""

from functools import partial

from reports.checks.common.curves import over_lengths
from reports.show.section import Section, side_by_side_table

rates = over_lengths(
    "ring",
    "ring_rate",
    anchor="picture-ring",
    title="Rate from node to node",
    caption="One panel for each order and number of ranks.",
)

SECTION = Section(
    pictures=(rates,), tables=(partial(side_by_side_table, check="ring", metric="ring_rate"),)
)
