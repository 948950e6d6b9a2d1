# SPDX-License-Identifier: Apache-2.0
"""One-sided copies: times and rates of put and get, by what completes them."""

from __future__ import annotations

from reports.analysis import Analysis
from reports.show.lines import size_picture
from reports.show.panel import Picture
from reports.show.section import Section

_CAPTION = (
    "One panel for each operation and what completes it. By fences a copy is half of a copy there"
    " and its answer back; under a lock it is one copy, in which the other rank takes no part."
)


def times(analysis: Analysis) -> Picture | None:
    """Time of a copy against its length."""
    rows = analysis.rows_of("one_sided", "one_sided_time")
    return size_picture(analysis, rows, "picture-one-sided-times", "Time of a copy", _CAPTION)


def rates(analysis: Analysis) -> Picture | None:
    """Rate of copies against their length."""
    rows = analysis.rows_of("one_sided", "one_sided_rate")
    return size_picture(analysis, rows, "picture-one-sided-rates", "Rate of copies", _CAPTION)


SECTION = Section(pictures=(times, rates))
