# SPDX-License-Identifier: Apache-2.0
"""Pictures of the lattice program: program time and share of communication against ranks."""

from __future__ import annotations

from collections.abc import Callable

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, NullLocator

from reports.analysis import Analysis, Row
from reports.checks.su3_rmd.cases import CHECK, EXTENTS, LatticeCase, strong_series
from reports.notation.palette import QUIET
from reports.notation.units import ReadableUnit, readable_unit
from reports.show.canvas import Line, Panel, draw_line, finish, log_value_axis, new_panel
from reports.show.lines import MOST_PANELS, Picture, footer

_Series = list[list[LatticeCase]]


def time_picture(analysis: Analysis) -> Picture | None:
    """Program time against ranks, both logarithmic; grey: what perfect scaling would give."""
    return _picture(
        analysis,
        "picture-su3-time",
        "Program time against ranks",
        "Grey: half the time on twice the ranks.",
        lambda title, series: _time_panel(analysis, title, series),
    )


def share_picture(analysis: Analysis) -> Picture | None:
    """Share of communication in the program time against ranks."""
    return _picture(
        analysis,
        "picture-su3-share",
        "Communication share against ranks",
        "Halos and global sums over program time.",
        lambda title, series: _share_panel(analysis, title, series),
    )


def _picture(
    analysis: Analysis,
    anchor: str,
    title: str,
    caption: str,
    draw: Callable[[str, _Series], Panel | None],
) -> Picture | None:
    groups: dict[str, _Series] = {}
    for series in strong_series(analysis):
        first = series[0]
        parts = analysis.labels[CHECK].parts(first.case, (*EXTENTS, "ranks", "ranks_per_node"))
        groups.setdefault(", ".join([first.lattice, *parts]), []).append(series)
    shown = list(groups.items())[:MOST_PANELS]
    panels = [panel for name, series in shown if (panel := draw(name, series)) is not None]
    names = {item[0].case.environment for _, series in shown for item in series}
    text = f"One panel for each lattice. {caption} Lines: means; bands: ± s; dots: launches."
    if len(groups) > len(shown):
        text += f" The first {len(shown)} of {len(groups)} panels."
    legend = [name for name in analysis.looks if name in names]
    return Picture(anchor, title, text, panels, legend) if panels else None


def _time_panel(analysis: Analysis, title: str, series: _Series) -> Panel:
    rows = [item.rows["program_time"] for one in series for item in one]
    unit = readable_unit("s", [row.summary.mean for row in rows])
    figure, axes = new_panel(title, footer(analysis, *_launches(rows)))
    least = min((one[0] for one in series), key=_mean)
    ranks = [item.case.ranks for one in series for item in one]
    ideal = _mean(least) * least.case.ranks / unit.factor
    axes.plot([min(ranks), max(ranks)], [ideal / min(ranks), ideal / max(ranks)], color=QUIET, lw=1)
    lines = [_line(analysis, one, "program_time", unit) for one in series]
    for line in lines:
        draw_line(axes, line, with_points=True)
    axes.set_xscale("log", base=2)
    log_value_axis(axes)
    _rank_axis(axes, ranks)
    axes.set_ylabel(f"program time / {unit.label}")
    return finish(figure, _alt(title, lines, unit.label))


def _share_panel(analysis: Analysis, title: str, series: _Series) -> Panel | None:
    told = [[item for item in one if "communication_share" in item.rows] for one in series]
    told = [one for one in told if one]
    if not told:
        return None
    rows = [item.rows["communication_share"] for one in told for item in one]
    figure, axes = new_panel(title, footer(analysis, *_launches(rows)))
    unit = ReadableUnit("%", 0.01)
    lines = [_line(analysis, one, "communication_share", unit) for one in told]
    for line in lines:
        draw_line(axes, line, with_points=True)
    axes.set_xscale("log", base=2)
    axes.set_ylim(0, 100)
    _rank_axis(axes, [item.case.ranks for one in told for item in one])
    axes.set_ylabel("communication / %")
    return finish(figure, _alt(title, lines, unit.label))


def _rank_axis(axes: Axes, ranks: list[int]) -> None:
    places = sorted(set(ranks))
    axes.xaxis.set_major_locator(FixedLocator(places))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticks(places, [str(place) for place in places])
    axes.set_xlabel("ranks")


def _line(analysis: Analysis, series: list[LatticeCase], metric: str, unit: ReadableUnit) -> Line:
    name = series[0].case.environment
    rows = [item.rows[metric] for item in series]
    x = [float(item.case.ranks) for item in series]
    return Line(
        name,
        analysis.looks[name],
        x,
        [row.summary.mean / unit.factor for row in rows],
        [(row.summary.stddev or 0.0) / unit.factor for row in rows],
        [
            (place, value / unit.factor)
            for place, row in zip(x, rows, strict=True)
            for value in row.series.values.tolist()
        ],
    )


def _mean(item: LatticeCase) -> float:
    return item.rows["program_time"].summary.mean


def _launches(rows: list[Row]) -> tuple[int, int]:
    counts = [row.summary.n for row in rows]
    return min(counts), max(counts)


def _alt(title: str, lines: list[Line], unit: str) -> str:
    ranges = (
        f"{line.name} {min(line.centre):.3g} to {max(line.centre):.3g} {unit}" for line in lines
    )
    return f"{title}: {'; '.join(ranges)}"
