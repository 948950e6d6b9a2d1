# SPDX-License-Identifier: Apache-2.0
"""Collective operations against message length; their laws are of the plugin predict."""

from __future__ import annotations

from reports.analysis.run import Analysis
from reports.notation.units import count_text
from reports.show.lines import EFFORT, MESSAGE_LENGTH, grouped, length, lines_picture
from reports.show.panel import Axis, Picture
from reports.show.section import Section

#: Panels of a picture: the operations of a campaign with a variant or two.
MOST_OPERATIONS = 16


def against_length(analysis: Analysis) -> Picture | None:
    """Time against message length at the greatest process count, one panel an operation."""
    every = analysis.rows_of("collectives", "collective_time")
    rows = [row for row in every if row.series.at_value("operation") != "barrier"]
    greatest = max((analysis.case(row).ranks for row in rows), default=0)
    rows = [row for row in rows if analysis.case(row).ranks == greatest]
    return lines_picture(
        analysis,
        grouped(analysis, rows, ("message_bytes", "ranks", *EFFORT), length),
        length,
        Axis(MESSAGE_LENGTH, scale="bytes"),
        anchor="picture-collective-length",
        title="Time of collective operations against message length,"
        f" {count_text(greatest, 'process')}",
        caption="Message length per pair of processes.",
        log_y=True,
        most=MOST_OPERATIONS,
    )


SECTION = Section(pictures=(against_length,))
