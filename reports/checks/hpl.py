# SPDX-License-Identifier: Apache-2.0
"""HPL: the rate against the matrix order and against the process grid."""

from __future__ import annotations

from reports.analysis import Analysis
from reports.checks.common.roofline import roofline_picture
from reports.show.lines import grid_of, grouped, lines_picture
from reports.show.panel import Axis, Picture
from reports.show.section import Section


def rate_against_n(analysis: Analysis) -> Picture | None:
    """Rate against N, one panel a grid; None for a single N."""
    rows = analysis.rows_of("hpl", "rate")
    if len({analysis.case(row).params.get("n") for row in rows}) < 2:
        return None
    return lines_picture(
        analysis,
        grouped(analysis, rows, without=("n",)),
        lambda row: float(analysis.case(row).params.get("n", 0)),
        Axis("matrix order N", counts=True),
        anchor="picture-hpl-n",
        title="HPL rate against N",
        caption="One panel for each process grid.",
    )


def rate_against_grid(analysis: Analysis) -> Picture | None:
    """Rate against the process grid, one panel an N."""
    rows = analysis.rows_of("hpl", "rate")
    grids = {grid_of(analysis.case(row).params) for row in rows}
    if len(grids) < 2:
        return None
    order = sorted(grids, key=lambda grid: (grid[0] * grid[1], grid))
    place = {grid: float(index) for index, grid in enumerate(order)}
    return lines_picture(
        analysis,
        grouped(analysis, rows, without=("p", "q")),
        lambda row: place[grid_of(analysis.case(row).params)],
        Axis(
            "process grid P × Q",
            ticks={place[p, q]: f"{p} × {q}" for p, q in order},
        ),
        anchor="picture-hpl-grid",
        title="HPL rate against process grid",
        caption="One panel for each N; grids by number of ranks.",
    )


SECTION = Section(pictures=(rate_against_n, rate_against_grid, roofline_picture("hpl")))
