# SPDX-License-Identifier: Apache-2.0
"""Pictures of the lattice program: program time, speed-up and efficiency against ranks."""

from __future__ import annotations

from reports.analysis.run import Analysis
from reports.checks.su3_rmd.cases import (
    CHECK,
    LAYOUT,
    LatticeCase,
    efficiency,
    speed_up,
    strong_series,
)
from reports.notation.units import count_text, significant
from reports.show.lines import footer, grouped, joined, lines_picture, picture_of
from reports.show.panel import Axis, Panel, Picture, Series

_Series = list[list[LatticeCase]]


def time_picture(analysis: Analysis) -> Picture | None:
    """Program time against ranks, both logarithmic, a panel for each lattice that was run on
    several numbers of ranks."""
    rows = [item.rows["program_time"] for series in strong_series(analysis) for item in series]
    return lines_picture(
        analysis,
        grouped(analysis, rows, without=LAYOUT[4:]),
        lambda row: float(analysis.case(row).ranks),
        Axis("ranks", scale="log", counts=True),
        anchor="picture-su3-time",
        title="Program time against ranks",
        caption="One panel for each lattice.",
        log_y=True,
    )


def scaling_picture(analysis: Analysis) -> Picture | None:
    """Speed-up and efficiency over the fewest ranks, with the ideal, of each lattice."""
    groups: dict[str, _Series] = {}
    for series in strong_series(analysis):
        parts = analysis.labels[CHECK].parts(series[0].case, LAYOUT)
        groups.setdefault(joined(series[0].lattice, *parts), []).append(series)
    return picture_of(
        analysis,
        [(name, series, share) for name, series in groups.items() for share in (False, True)],
        lambda panel: _scaling_panel(analysis, *panel),
        anchor="picture-su3-scaling",
        title="Speed-up and efficiency",
        caption="Over the fewest ranks; grey: the ideal. Lines: ratios of means.",
    )


def _scaling_panel(analysis: Analysis, name: str, series: _Series, is_share: bool) -> Panel:
    what = "Efficiency" if is_share else "Speed-up"
    counts = [float(item.case.ranks) for cases in series for item in cases]
    fewest, most = min(counts), max(counts)
    ideal = [100.0, 100.0] if is_share else [1.0, most / fewest]
    lines = [Series([fewest, most], ideal, width=1)]
    alt = []
    for cases in series:
        first, last = cases[0], cases[-1]
        environment, ranks = first.case.environment, [float(item.case.ranks) for item in cases]
        values = [
            100 * efficiency(first, item) if is_share else speed_up(first, item) for item in cases
        ]
        lines.append(Series(ranks, values, analysis.looks[environment], environment))
        alt.append(
            f"{environment} {significant(values[-1])} on {count_text(last.case.ranks, 'rank')}"
        )
    over = f"speed-up over {count_text(int(fewest), 'rank')}"
    return Panel(
        joined(what, name),
        lines,
        f"{what}, {name}: {'; '.join(alt)}",
        Axis("ranks", counts=True),
        Axis("efficiency / %" if is_share else over, low=0),
        footer(analysis, [item.rows["program_time"] for cases in series for item in cases]),
    )
