# SPDX-License-Identifier: Apache-2.0
"""The pictures of HPL, point-to-point messages and start-up; one function a picture."""

from __future__ import annotations

from reports.analysis import Analysis
from reports.show.lines import (
    Curves,
    Picture,
    grid_of,
    grouped,
    joined,
    lines_picture,
    size_picture,
)

_STARTUP = ("first_instruction", "init", "all_heard", "launch")
_DAEMONS = ("daemon_boot", "daemon_halt")


def hpl_rate_against_n(analysis: Analysis) -> Picture | None:
    """Rate against N, one panel a grid."""
    return lines_picture(
        analysis,
        grouped(analysis, analysis.rows_of("hpl", "rate"), without=("n",)),
        anchor="picture-hpl-n",
        title="HPL rate against N",
        caption="One panel for each process grid.",
        x=lambda row: float(analysis.case(row).params.get("n", 0)),
        x_label="matrix order N",
    )


def hpl_rate_against_grid(analysis: Analysis) -> Picture | None:
    """Rate against the process grid, one panel an N."""
    rows = list(analysis.rows_of("hpl", "rate"))
    grids = sorted({grid_of(analysis, row) for row in rows}, key=lambda g: (g[0] * g[1], g))
    if len(grids) < 2:
        return None
    place = {grid: float(index) for index, grid in enumerate(grids)}
    return lines_picture(
        analysis,
        grouped(analysis, rows, without=("p", "q")),
        anchor="picture-hpl-grid",
        title="HPL rate against process grid",
        caption="One panel for each N; grids by number of ranks.",
        x=lambda row: place[grid_of(analysis, row)],
        x_label="process grid P × Q",
        ticks=[f"{p} × {q}" for p, q in grids],
    )


def latency(analysis: Analysis) -> Picture | None:
    """Half round trip against message length, log–log, one panel a construct."""
    return _pt2pt_picture(analysis, "half_round_trip", "picture-latency", "Half round trip")


def bandwidth(analysis: Analysis) -> Picture | None:
    """Bandwidth against message length, log-x, one panel a construct."""
    return _pt2pt_picture(analysis, "bandwidth", "picture-bandwidth", "Bandwidth")


def startup(analysis: Analysis) -> Picture | None:
    """Start-up times against ranks, one panel a metric; LAM's daemons apart."""
    curves = []
    for metric in (*_STARTUP, *_DAEMONS):
        rows = list(analysis.rows_of("startup", metric))
        curves += [
            Curves(joined(analysis.register.metric_title(metric), item.title), item.rows)
            for item in grouped(analysis, rows, without=("ranks",))
        ]
    return lines_picture(
        analysis,
        curves,
        anchor="picture-startup",
        title="Start-up against ranks",
        caption="Times from the start of the launcher (MPI_Init: its own time); daemon boot and"
        " halt are not part of the launch.",
        x=lambda row: float(analysis.case(row).params.get("ranks", 0)),
        x_label="ranks",
        from_zero=True,
    )


def invalid_bandwidth(analysis: Analysis) -> Picture | None:
    """What a reply before the wait would claim, next to the link's rate."""
    rows = [row for row in analysis.invalid if row.series.metric == "bandwidth"]
    return size_picture(
        analysis, rows, "picture-invalid", "Apparent bandwidth of replies sent before the wait"
    )


def _pt2pt_picture(analysis: Analysis, metric: str, anchor: str, title: str) -> Picture | None:
    rows = list(analysis.rows_of("pt2pt", metric))
    return size_picture(analysis, rows, anchor, title)
