# SPDX-License-Identifier: Apache-2.0
"""Figures of a study: its curves of then, thin and named, with those of a run; and machines as
points of a plane."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

from reports.analysis import Row
from reports.notation.palette import QUIET, Look
from reports.papers.beside import Beside, by_variant, library_of
from reports.papers.fields import Point
from reports.papers.labels import Label, label_beside, label_near, room_beside
from reports.show.canvas import (
    HEIGHT_IN,
    HOVER,
    WIDE_ANCHOR,
    Line,
    Panel,
    draw_line,
    finish,
    log_bytes_axis,
    log_value_axis,
    new_panel,
)
from reports.show.lines import LOG_BANDS, Picture, picture_of, row_band
from reports.show.rows import environments

#: Hollow markers of then, in the order of what is side by side in print.
_MARKERS = ("o", "s", "^", "D", "v")
#: Values that span more are drawn on a logarithmic axis.
WIDE = 10.0
#: More curves of then are drawn thin, in a higher panel.
MANY = 6
#: Panels of one figure.
MOST = 24


def figures_of(found: Sequence[Beside], number: int) -> list[Picture]:
    """The figures of a table: one a quantity, and one of its machines as points."""
    drawn = [_figure(one, f"figure-{number}-{place}") for place, one in enumerate(found)]
    drawn.append(_plane(found, f"plane-{number}"))
    return [picture for picture in drawn if picture is not None]


def _figure(one: Beside, anchor: str) -> Picture | None:
    """A panel for each combination of the keys beside the x axis; None where a table has none."""
    table = one.table
    if not table.x or (table.drawn and one.column.column not in table.drawn):
        return None
    x = [item.column for item in one.keys].index(table.x)
    panels: dict[Point, list[Point]] = {}
    for point in one.points:
        panels.setdefault((*point[:x], *point[x + 1 :]), []).append(point)
    drawn = "closed forms of then" if one.is_by_law else f"then, {one.column.were}"
    caption = f"Thin, named in the picture: {drawn}; thick: this run's means ± s{LOG_BANDS}."
    if table.libraries:
        caption += " A library of then has the colour of today's."
    return picture_of(
        one.analysis,
        [(rest, points) for rest, points in panels.items() if len(points) > 1],
        lambda shown: _panel(one, *shown, x),
        lambda _: (name for by in one.now.values() for name in by),
        anchor=f"{WIDE_ANCHOR}-{anchor}" if len(one.across) > MANY else anchor,
        title=f"{table.figures or table.number}: {one.column.title} against {one.keys[x].title}",
        caption=caption,
        most=MOST,
    )


def _panel(one: Beside, rest: Point, points: Sequence[Point], x: int) -> Panel:
    unit, year = one.unit, one.study.year
    keys = [item for number, item in enumerate(one.keys) if number != x]
    told = [
        f"{item.title} {text}" if text.isdecimal() else text
        for item, text in zip(keys, rest, strict=True)
        if text
    ]
    title = ", ".join(told).replace("_", " ") or one.column.title
    then, now = _then_lines(one, points, x), _now_lines(one, points, x)
    many, lines = len(then) > MANY, [*then, *now]
    footer = f"{one.study.authors} {year}, {one.table.number}"
    figure, axes = new_panel(title, footer, 1.7 * HEIGHT_IN if many else HEIGHT_IN, wide=many)
    for line in then:
        axes.plot(
            line.x,
            line.centre,
            color=line.look.colour,
            linewidth=0.8,
            marker=line.look.marker,
            markersize=3.4,
            markerfacecolor="white",
            markeredgewidth=0.8,
            label=line.name,
            gid=HOVER,
        )
    values = [value for line in lines for value in line.centre]
    is_wide = 0 < WIDE * min(values) < max(values)
    for line in now:
        draw_line(axes, line, with_points=False, log_y=is_wide)
    _scale_x(one, axes, lines, x)
    if is_wide:
        log_value_axis(axes)
    else:
        axes.set_ylim(bottom=min(0.0, *values))
    axes.set_ylabel(f"{one.column.title}, {unit.label}" if unit.label else one.column.title)
    own = "" if one.table.libraries else f" {year}"  # today's libraries have the same names
    ends = [
        Label(line.name.removesuffix(own), line.x[-1], line.centre[-1], line.look.colour)
        for line in then
    ]
    if ends:
        room_beside(axes, ends)
    told = [f"{e.name} {min(e.centre):.3g} to {max(e.centre):.3g}" for e in lines]
    alt = f"{title}: {'; '.join(told)} {unit.label}".strip()
    return finish(figure, alt, partial(label_beside, axes, ends) if ends else None)


def _scale_x(one: Beside, axes: Axes, lines: Sequence[Line], x: int) -> None:
    """Lengths and wide ranges are logarithmic."""
    places = sorted({place for line in lines for place in line.x})
    item = one.keys[x]
    if item.column.endswith("bytes"):
        log_bytes_axis(axes)
        return
    axes.set_xlabel(item.title)
    # Numbers of processes were doubled, then as now.
    if item.ours in ("ranks", "nodes") or places[-1] >= 16 * places[0] > 0:
        axes.set_xscale("log", base=2)
        powers = [2.0**k for k in range(20) if places[0] <= 2**k <= places[-1]]
        axes.xaxis.set_major_locator(FixedLocator(powers))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    else:
        axes.locator_params(axis="x", nbins=5)


def _then_lines(one: Beside, points: Sequence[Point], x: int) -> list[Line]:
    """A line for each that is side by side in the printed table and has values here."""
    colours = {library_of(name): look.colour for name, look in reversed(one.analysis.looks.items())}
    lines = []
    for number, name in enumerate(one.across):
        found = [(float(p[x]), v) for p in points if (v := one.si(p, name)) is not None]
        if found:
            colour = colours.get(name, QUIET) if one.table.libraries else QUIET
            marker = "" if one.is_by_law else _MARKERS[number % len(_MARKERS)]
            centre = [value / one.unit.factor for _, value in found]
            label = f"{name.replace('_', ' ')} {one.study.year}".strip()
            places = [place for place, _ in found]
            lines.append(Line(label, Look(colour, marker, ()), places, centre, [0.0] * len(found)))
    return lines


def _now_lines(one: Beside, points: Sequence[Point], x: int) -> list[Line]:
    """A line for each environment of the run that has values here."""
    lines = []
    for name in one.environments:
        rows = [(float(p[x]), one.now[p][name]) for p in points if name in one.now.get(p, {})]
        if rows:
            means = [row.summary.mean / one.unit.factor for _, row in rows]
            spread = [(row.summary.stddev or 0.0) / one.unit.factor for _, row in rows]
            bands = [row_band(row, one.unit) for _, row in rows]
            places, look = [place for place, _ in rows], one.analysis.looks[name]
            lines.append(Line(name, look, places, means, spread, log_band=bands))
    return lines


def _plane(found: Sequence[Beside], anchor: str) -> Picture | None:
    """The figure of a table's machines; None for a table without one."""
    plane = found[0].table.plane
    if plane is None:
        return None
    columns = {one.column.column: one for one in found}
    x, y = columns[plane.x], columns[plane.y]
    points = [
        (title, name, across.now[()][name], up.now[()][name])
        for title, (across, up) in by_variant([x, y])
        for name in environments(x.analysis, across.now.get((), {}))
        if name in up.now.get((), {})
    ]
    return picture_of(
        x.analysis,
        [points],
        lambda shown: _plane_panel(x, y, shown),
        lambda shown: (name for _, name, _, _ in shown),
        anchor=f"{WIDE_ANCHOR}-{anchor}",
        title=f"{plane.figures}: {y.column.title} against {x.column.title}",
        caption="Grey: the machines of then, each a point; coloured: this run's environments."
        " Both axes are logarithmic; the best are above, on the left.",
    )


def _plane_panel(x: Beside, y: Beside, points: Sequence[tuple[str, str, Row, Row]]) -> Panel:
    """x and y of every machine, and means of a run."""
    footer = f"{x.study.authors} {x.study.year}, {x.table.number}"
    figure, axes = new_panel("machines then and now", footer, 1.8 * HEIGHT_IN, wide=True)
    both = [(name, x.si((), name), y.si((), name)) for name in x.across]
    ends = [
        Label(name, a / x.unit.factor, b / y.unit.factor, QUIET)
        for name, a, b in both
        if a is not None and b is not None
    ]
    axes.plot([e.x for e in ends], [e.y for e in ends], "o", color=QUIET, markersize=4)
    for title, name, across, up in points:
        look = x.analysis.looks[name]
        place = across.summary.mean / x.unit.factor, up.summary.mean / y.unit.factor
        axes.plot(*place, look.marker, color=look.colour, markersize=7, label=name)
        ends.append(Label(f"{name}{f', {title}' if title else ''}", *place, look.colour))
    axes.set_xscale("log")
    axes.margins(0.12)
    axes.xaxis.set_major_locator(LogLocator(10, numticks=8))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    log_value_axis(axes)
    axes.set_xlabel(f"{x.column.title}, {x.unit.label}")
    axes.set_ylabel(f"{y.column.title}, {y.unit.label}")
    told = "; ".join(f"{end.name} {end.x:.3g}, {end.y:.3g}" for end in ends)
    alt = f"{x.column.title} and {y.column.title}: {told}"
    return finish(figure, alt, lambda: label_near(axes, ends))
