# SPDX-License-Identifier: Apache-2.0
"""Pictures of lines: one panel a group of cases, one line an environment, launches as dots."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from reports.analysis import Analysis, Row
from reports.notation.labels import point_text, value_text
from reports.notation.palette import QUIET
from reports.notation.units import ReadableUnit, fixed, readable_unit
from reports.show.canvas import (
    MOST_POINTS,
    Line,
    Panel,
    draw_line,
    finish,
    log_bytes_axis,
    log_value_axis,
    new_panel,
)
from reports.show.rows import environments, message_bytes

T = TypeVar("T")

#: Panels of one picture; what is beyond is in the tables, and the caption says how many.
MOST_PANELS = 8
#: A line of more points is thinned to every k-th; the caption says so.
MOST_LINE_POINTS = 250


@dataclass(frozen=True, slots=True)
class Picture:
    """Panels that belong together, with a caption and the environments to name in the legend."""

    anchor: str
    title: str
    caption: str
    panels: list[Panel]
    environments: list[str]


@dataclass(frozen=True, slots=True)
class XAxis:
    """The horizontal axis: where a row stands, and what is written there.

    A `size` axis is logarithmic in bytes, of message lengths without a title; `ticks` are texts
    for the places 0, 1, …
    """

    title: str | None
    place: Callable[[Row], float]
    ticks: Sequence[str] = ()
    log: bool = False
    size: bool = False

    def draw(self, axes: Axes, lines: Iterable[Line]) -> None:
        """Scale, ticks and title of the axis below these lines."""
        if self.size:
            log_bytes_axis(axes)
        if self.title is not None:
            axes.set_xlabel(self.title)
        if self.size:
            return
        if self.log:
            axes.set_xscale("log")
            axes.xaxis.set_minor_locator(NullLocator())
        places = sorted({place for line in lines for place in line.x})
        if self.ticks:
            axes.set_xticks(range(len(self.ticks)), list(self.ticks))
        elif len(places) <= (10 if self.log else 6):
            axes.set_xticks(places, [fixed(place, 0) for place in places])


@dataclass(frozen=True, slots=True)
class Curves:
    """What one panel shows."""

    title: str
    rows: list[Row]


def picture_of(
    analysis: Analysis,
    groups: Iterable[T],
    draw: Callable[[T], Panel],
    names: Callable[[T], Iterable[str]],
    *,
    anchor: str,
    title: str,
    caption: str,
    most: int = MOST_PANELS,
) -> Picture | None:
    """One panel for each group, at most `most`; None without any.

    `names` gives the environments that a group shows.
    """
    found = list(groups)
    shown = found[:most]
    if not shown:
        return None
    if len(found) > most:
        caption += f" The first {most} of {len(found)} panels; the tables have the others."
    legend = environments(analysis, (name for item in shown for name in names(item)))
    return Picture(anchor, title, caption, [draw(item) for item in shown], legend)


def size_picture(
    analysis: Analysis,
    rows: Sequence[Row],
    anchor: str,
    title: str,
    caption: str = "One panel for each pair of send and receive.",
) -> Picture | None:
    """A metric against message length, log-x; times log–log, rates beside the line rate."""
    is_time = any(row.unit == "s" for row in rows)
    return lines_picture(
        analysis,
        grouped(analysis, rows, without=("message_bytes",)),
        XAxis(None, lambda row: float(message_bytes(row)), size=True),
        anchor=anchor,
        title=f"{title} against message length",
        caption=caption,
        log_y=is_time,
        line_rate=None if is_time else line_rate(analysis),
        from_zero=not is_time,
    )


def lines_picture(
    analysis: Analysis,
    curves: Sequence[Curves],
    axis: XAxis,
    *,
    anchor: str,
    title: str,
    caption: str,
    log_y: bool = False,
    from_zero: bool = False,
    line_rate: float | None = None,
) -> Picture | None:
    """One panel for each of `curves`; `line_rate` in SI units is drawn across. None without any."""
    if not curves:
        return None
    unit = readable_unit(
        curves[0].rows[0].unit, (row.summary.mean for item in curves for row in item.rows)
    )
    shown = curves[:MOST_PANELS]
    hidden = any(sum(row.summary.n for row in item.rows) > MOST_POINTS for item in shown)
    thin = any(len(item.rows) > MOST_LINE_POINTS * len(analysis.looks) for item in curves)

    def panel(item: Curves) -> Panel:
        lines = lines_of(analysis, item.rows, axis.place, unit)
        figure, axes = new_panel(item.title, footer(analysis, item.rows))
        few = sum(len(line.points) for line in lines) <= MOST_POINTS
        for line in lines:
            draw_line(axes, line, with_points=few)
        axis.draw(axes, lines)
        if log_y:
            log_value_axis(axes)
        elif from_zero:
            axes.set_ylim(bottom=0)
        first = item.rows[0]
        axes.set_ylabel(f"{analysis.register.metric_title(first.series.metric)} / {unit.label}")
        if line_rate and analysis.case(first).params.get("placement") != "within-node":
            rate = line_rate / unit.factor
            axes.axhline(rate, color=QUIET, linewidth=1.1, linestyle=(0, (4, 3)))
            axes.annotate(
                f"line rate {rate:g} {unit.label}",
                (0.02, rate),
                xycoords=("axes fraction", "data"),
                xytext=(0, 3),
                textcoords="offset points",
                fontsize=8.5,
                color=QUIET,
            )
        return finish(figure, f"{title}, {item.title}: {ranges_text(lines, unit.label)}")

    dots = (
        f"panels of over {MOST_POINTS} launches show no dots" if hidden else "dots: single launches"
    )
    caption += f" Lines: means; bands: ± s; {dots}."
    if thin:
        caption += f" Long lines are thinned to about {MOST_LINE_POINTS} points, evenly spaced."
    return picture_of(
        analysis,
        curves,
        panel,
        lambda item: (analysis.case(row).environment for row in item.rows),
        anchor=anchor,
        title=title,
        caption=caption,
    )


def grouped(analysis: Analysis, rows: Iterable[Row], without: Sequence[str] = ()) -> list[Curves]:
    """Rows by all varying parameters and points but `without`; by ranks and N, smallest first."""
    titles: dict[tuple[int, str], str] = {}
    groups: dict[str, list[Row]] = {}
    for row in rows:
        case = analysis.case(row)
        point = ", ".join(
            point_text(name, value)
            for name, value in row.series.at
            if name not in without and case.params.get(name) != value
        )
        title = titles.get((row.series.case, point))
        if title is None:
            parts = analysis.labels[case.check].parts(case, without)
            title = titles[row.series.case, point] = joined(point, *parts)
        groups.setdefault(title, []).append(row)

    def size(item: Curves) -> tuple[float, float]:
        params = analysis.case(item.rows[0]).params
        n = params.get("n", 0)
        ranks = 0 if "p" in without else math.prod(grid_of(params))
        return ranks, n if isinstance(n, int | float) and "n" not in without else 0

    curves = [Curves(title or "all cases", found) for title, found in groups.items()]
    return sorted(curves, key=size)


def lines_of(
    analysis: Analysis, rows: Iterable[Row], x: Callable[[Row], float], unit: ReadableUnit
) -> list[Line]:
    """A line for each environment: means, s as the half band, launches as points; x ascending."""
    by_environment: dict[str, list[Row]] = {}
    for row in rows:
        by_environment.setdefault(analysis.case(row).environment, []).append(row)
    result = []
    for name in environments(analysis, by_environment):
        found = sorted(by_environment[name], key=x)
        found = found[:: -(-len(found) // MOST_LINE_POINTS)]
        result.append(
            Line(
                name,
                analysis.looks[name],
                [x(row) for row in found],
                [row.summary.mean / unit.factor for row in found],
                [(row.summary.stddev or 0.0) / unit.factor for row in found],
                [(x(row), v / unit.factor) for row in found for v in row.series.values.tolist()],
            )
        )
    return result


def ranges_text(lines: Iterable[Line], unit: str) -> str:
    """Each line's least and greatest value, for those who cannot see the picture."""
    return "; ".join(
        f"{line.name} {min(line.centre):.3g} to {max(line.centre):.3g} {unit}".rstrip()
        for line in lines
    )


def grid_of(params: Mapping[str, Any]) -> tuple[int, int]:
    """The process grid of a case; 0 × 0 for a check without one."""
    return int(params.get("p", 0)), int(params.get("q", 0))


def footer(analysis: Analysis, rows: Iterable[Row]) -> str:
    """n, nodes, date, seed and run, in two lines."""
    return counted_footer(analysis, [row.summary.n for row in rows])


def counted_footer(analysis: Analysis, launches: Sequence[int]) -> str:
    """The same for counts of launches."""
    run = analysis.run
    least, most = min(launches, default=0), max(launches, default=0)
    n = f"{least}" if least == most else f"{least}–{most}"
    nodes = value_text(", ".join(run.nodes[:4]) + (" …" if len(run.nodes) > 4 else ""))
    date = (run.provenance.started_at or "")[:10] or "date not recorded"
    first = f"n = {n} launches a point · nodes {nodes} · {date}"
    return f"{first}\nseed {run.plan.seed} · run {run.run_id[:48]}"


def line_rate(analysis: Analysis) -> float | None:
    """The network's rate in bytes/s when the provenance tells it (`bits_per_second`)."""
    bits = analysis.run.provenance.site.network.bits_per_second
    return bits / 8 if bits and bits > 0 else None


def joined(*texts: str) -> str:
    """The texts with commas, without what says nothing."""
    return ", ".join(part for part in texts if part and part != "all cases")
