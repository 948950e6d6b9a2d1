# SPDX-License-Identifier: Apache-2.0
"""HPL: the rate against the matrix order and against the process grid."""

from __future__ import annotations

from reports.analysis.run import Analysis
from reports.checks.common.curves import over
from reports.show.lines import grid_of, grouped, lines_picture
from reports.show.panel import Axis, Picture
from reports.show.section import Section


def rate_against_grid(analysis: Analysis) -> Picture | None:
    """Rate against the process grid, one panel an N."""
    rows = analysis.rows_of("hpl", "rate")
    grids = {grid_of(analysis.case(row).params) for row in rows}
    order = sorted(grids, key=lambda grid: (grid[0] * grid[1], grid))
    if len(order) < 2:
        return None
    return lines_picture(
        analysis,
        grouped(analysis, rows, without=("p", "q")),
        lambda row: float(order.index(grid_of(analysis.case(row).params))),
        Axis(
            "process grid P × Q",
            ticks={float(place): f"{p} × {q}" for place, (p, q) in enumerate(order)},
        ),
        anchor="picture-hpl-grid",
        title="HPL rate against process grid",
        caption="One panel for each N; grids by number of ranks.",
    )


SECTION = Section(
    pictures=(
        over(
            "hpl",
            ["rate"],
            "n",
            "matrix order N",
            anchor="picture-hpl-n",
            title="HPL rate against N",
            caption="One panel for each process grid.",
            least=2,
            from_zero=False,
        ),
        rate_against_grid,
    )
)
