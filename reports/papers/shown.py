# SPDX-License-Identifier: Apache-2.0
"""What a run shows beside a figure or a statement that the paper prints without numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from reports.analysis import Analysis
from reports.checks.common.fits import fits_picture, switches_table
from reports.checks.common.hops import hops_picture, hops_table
from reports.checks.sections import own_section
from reports.papers.definition import Shown
from reports.show.lines import Picture
from reports.show.mpi_profile import profile_pictures, profile_tables
from reports.show.section import Section
from reports.show.tables import Table

_Pictures = Callable[[Analysis, str], Sequence[Picture | None]]
_Tables = Callable[[Analysis, str], Sequence[Table | None]]


def _section(analysis: Analysis, check: str) -> Section:
    """The section of a measured check; an empty one of a check that the run has not."""
    return (analysis.rows_of(check) and own_section(check)) or Section()


_MAKERS: dict[str, tuple[_Pictures, _Tables]] = {
    "section": (
        lambda analysis, check: [make(analysis) for make in _section(analysis, check).pictures],
        lambda analysis, check: [make(analysis) for make in _section(analysis, check).tables],
    ),
    "mpi_profile": (profile_pictures, profile_tables),
    "protocol_switches": (
        lambda analysis, check: [fits_picture(check)(analysis)],
        lambda analysis, check: [switches_table(check)(analysis)],
    ),
    "hops": (
        lambda analysis, check: [hops_picture(check)(analysis)],
        lambda analysis, check: [hops_table(check)(analysis)],
    ),
}


def shown_parts(shown: Shown, analysis: Analysis) -> tuple[list[Picture], list[Table]]:
    """The pictures and tables of a run; none where it did not measure them."""
    pictures, tables = _MAKERS[shown.shows]
    only = shown.only
    return (
        [o for o in pictures(analysis, shown.check) if o and (not only or o.anchor in only)],
        [o for o in tables(analysis, shown.check) if o and (not only or o.anchor in only)],
    )
