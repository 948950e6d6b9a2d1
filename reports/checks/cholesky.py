# SPDX-License-Identifier: Apache-2.0
"""Cholesky factorisation by columns: rates against the order and against the number of ranks."""

from __future__ import annotations

from reports.analysis import Analysis
from reports.show.lines import grouped, lines_picture
from reports.show.panel import Axis, Picture
from reports.show.section import Section

_CAPTION = (
    "Operations of a factorisation over its time. Each column is one message to all ranks, so small"
    " matrices show what a message costs, large ones the processors (ORNL/TM-10881, figure 8)."
)


def rate_against_n(analysis: Analysis) -> Picture | None:
    """Rate against the order of the matrix, one panel a number of ranks."""
    return lines_picture(
        analysis,
        grouped(analysis, analysis.rows_of("cholesky", "factor_rate"), without=("n",)),
        lambda row: float(analysis.case(row).params.get("n", 0)),
        Axis("order n", counts=True),
        anchor="picture-cholesky-n",
        title="Cholesky by columns, rate against the order",
        caption=_CAPTION,
        from_zero=True,
    )


def rate_against_ranks(analysis: Analysis) -> Picture | None:
    """Rate against ranks, one panel an order; None where all cases have as many."""
    rows = analysis.rows_of("cholesky", "factor_rate")
    if len({analysis.case(row).ranks for row in rows}) < 2:
        return None
    return lines_picture(
        analysis,
        grouped(analysis, rows, without=("ranks",)),
        lambda row: float(analysis.case(row).ranks),
        Axis("ranks", counts=True),
        anchor="picture-cholesky-ranks",
        title="Cholesky by columns, rate against ranks",
        caption=_CAPTION,
        from_zero=True,
    )


SECTION = Section(pictures=(rate_against_n, rate_against_ranks))
