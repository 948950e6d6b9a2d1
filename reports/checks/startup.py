# SPDX-License-Identifier: Apache-2.0
"""What a start takes, against the number of ranks."""

from __future__ import annotations

from reports.analysis import Analysis
from reports.show.lines import grouped, lines_picture
from reports.show.panel import Axis, Picture
from reports.show.section import Section

_METRICS = (
    "whole_start",
    "first_instruction",
    "init",
    "all_heard",
    "launch",
    "daemon_boot",
    "daemon_halt",
)


def against_ranks(analysis: Analysis) -> Picture | None:
    """Start-up times against ranks, one panel a metric; LAM's daemons apart."""
    curves = [
        item
        for metric in _METRICS
        for item in grouped(analysis, analysis.rows_of("startup", metric), without=("ranks",))
    ]
    return lines_picture(
        analysis,
        curves,
        lambda row: float(analysis.case(row).params.get("ranks", 0)),
        Axis("ranks", counts=True),
        anchor="picture-startup",
        title="Start-up against ranks",
        caption="Times from the start of the launcher (MPI_Init: its own time); daemon boot and"
        " halt are part of the whole start, not of the launch.",
        from_zero=True,
    )


SECTION = Section(pictures=(against_ranks,))
