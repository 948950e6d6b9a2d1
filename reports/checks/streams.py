# SPDX-License-Identifier: Apache-2.0
"""Streams of messages, one way and both ways."""

from __future__ import annotations

from reports.analysis import Analysis
from reports.show.lines import size_picture
from reports.show.panel import Picture
from reports.show.section import Section


def rates(analysis: Analysis) -> Picture | None:
    """Rate of windows of messages against their length, one way and both ways."""
    return size_picture(
        analysis,
        analysis.rows_of("streams", "window_rate"),
        "picture-streams",
        "Rate of streams",
        "One panel for each direction; both ways: the bytes of both directions together, while the"
        " line rate is that of one.",
    )


SECTION = Section(pictures=(rates,))
