# SPDX-License-Identifier: Apache-2.0
"""Pictures of the lattice program: program time and share of communication against ranks."""

from __future__ import annotations

from collections.abc import Callable

from matplotlib.axes import Axes

from reports.analysis import Analysis, Row
from reports.checks.su3_rmd.cases import CHECK, LAYOUT, LatticeCase, strong_series
from reports.notation.palette import QUIET
from reports.notation.units import ReadableUnit, readable_unit
from reports.show.canvas import Panel, draw_line, finish, log_value_axis, new_panel
from reports.show.lines import Picture, XAxis, footer, joined, lines_of, picture_of, ranges_text

_Series = list[list[LatticeCase]]


def time_picture(analysis: Analysis) -> Picture | None:
    """Program time against ranks, both logarithmic; grey: what perfect scaling would give."""

    def finish_axes(axes: Axes, series: _Series, unit: ReadableUnit) -> None:
        least = min((one[0] for one in series), key=lambda item: item.time_s)
        ideal = least.time_s * least.case.ranks / unit.factor
        ranks = [item.case.ranks for one in series for item in one]
        ends = [min(ranks), max(ranks)]
        axes.plot(ends, [ideal / end for end in ends], color=QUIET, lw=1)
        log_value_axis(axes)
        axes.set_ylabel(f"program time / {unit.label}")

    return _picture(
        analysis,
        "program_time",
        finish_axes,
        anchor="picture-su3-time",
        title="Program time against ranks",
        caption="Grey: half the time on twice the ranks.",
    )


def share_picture(analysis: Analysis) -> Picture | None:
    """Share of communication in the program time against ranks."""

    def finish_axes(axes: Axes, _: _Series, __: ReadableUnit) -> None:
        axes.set_ylim(0, 100)
        axes.set_ylabel("communication / %")

    return _picture(
        analysis,
        "communication_share",
        finish_axes,
        anchor="picture-su3-share",
        title="Communication share against ranks",
        caption="Halos and global sums over program time.",
    )


def _picture(
    analysis: Analysis,
    metric: str,
    finish_axes: Callable[[Axes, _Series, ReadableUnit], None],
    *,
    anchor: str,
    title: str,
    caption: str,
) -> Picture | None:
    """One panel for each lattice with what was measured of `metric`."""
    groups: dict[str, _Series] = {}
    for series in strong_series(analysis):
        told = [item for item in series if metric in item.rows]
        if told:
            parts = analysis.labels[CHECK].parts(told[0].case, LAYOUT)
            groups.setdefault(joined(told[0].lattice, *parts), []).append(told)

    def panel(group: tuple[str, _Series]) -> Panel:
        name, series = group
        rows: list[Row] = [item.rows[metric] for one in series for item in one]
        unit = ReadableUnit("%", 0.01)
        if metric == "program_time":
            unit = readable_unit("s", [row.summary.mean for row in rows])
        figure, axes = new_panel(name, footer(analysis, rows))
        axis = XAxis("ranks", lambda row: float(analysis.case(row).ranks), log=True)
        lines = lines_of(analysis, rows, axis.place, unit)
        for line in lines:
            draw_line(axes, line, with_points=True)
        axis.draw(axes, lines)
        finish_axes(axes, series, unit)
        return finish(figure, f"{name}: {ranges_text(lines, unit.label)}")

    return picture_of(
        analysis,
        groups.items(),
        panel,
        lambda group: (one[0].case.environment for one in group[1]),
        anchor=anchor,
        title=title,
        caption=f"One panel for each lattice. {caption} Lines: means; bands: ± s; dots: launches.",
    )
