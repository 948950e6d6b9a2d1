# SPDX-License-Identifier: Apache-2.0
"""Figures of a study: its curves of then, thin and named, under those of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from reports.notation.palette import QUIET, Look
from reports.papers.beside import Beside
from reports.papers.labels import End, label_beside, label_ends, room_beside
from reports.papers.matching import Point, library_of
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

#: Hollow markers of then, in the order of what stands across.
_MARKERS = ("o", "s", "^", "D", "v")

#: Values that span more are drawn on a logarithmic axis.
WIDE = 10.0
#: More curves of then are drawn thin, in a higher panel.
MANY = 6
#: Panels of one figure.
MOST = 24


def figure_of(one: Beside, anchor: str) -> Picture | None:
    """A panel for each combination of the keys beside the x axis; None where a table has none."""
    table = one.table
    if not table.x or (table.drawn and one.column.column not in table.drawn):
        return None
    names = [item.column for item in table.keys]
    x = names.index(table.x)
    panels: dict[Point, list[Point]] = {}
    for point in one.points:
        panels.setdefault((*point[:x], *point[x + 1 :]), []).append(point)
    titles = [item.title for item in table.keys]
    drawn = "closed forms of then" if table.law else f"then, {one.column.were}"
    caption = f"Thin, named in the picture: {drawn}; thick: this run's means ± s{LOG_BANDS}."
    if table.libraries:
        caption += " A library of then has the colour of today's."
    return picture_of(
        one.analysis,
        [(rest, points) for rest, points in panels.items() if len(points) > 1],
        lambda shown: _panel(one, *shown, x),
        lambda _: (name for by in one.now.values() for name in by),
        anchor=f"{WIDE_ANCHOR}-{anchor}" if len(one.across) > MANY else anchor,
        title=f"{table.figures or table.number}: {one.column.title} against {titles[x]}",
        caption=caption,
        most=MOST,
    )


def _panel(one: Beside, rest: Point, points: Sequence[Point], x: int) -> Panel:
    unit = one.unit
    keys = [item for number, item in enumerate(one.table.keys) if number != x]
    told = [
        f"{item.title} {text}" if text.isdecimal() else text
        for item, text in zip(keys, rest, strict=True)
        if text
    ]
    title = ", ".join(told).replace("_", " ") or one.column.title
    then = _then_lines(one, points, x)
    many = len(then) > MANY
    footer = f"{one.study.authors} {one.study.year}, {one.table.number}"
    figure, axes = new_panel(title, footer, 1.7 * HEIGHT_IN if many else HEIGHT_IN, wide=many)
    lines = []
    for name in one.environments:
        rows = [(float(p[x]), one.now[p][name]) for p in points if name in one.now.get(p, {})]
        if rows:
            means = [row.summary.mean / unit.factor for _, row in rows]
            spread = [(row.summary.stddev or 0.0) / unit.factor for _, row in rows]
            look = one.analysis.looks[name]
            bands = [row_band(row, unit) for _, row in rows]
            places = [place for place, _ in rows]
            lines.append(Line(name, look, places, means, spread, log_band=bands))
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
    for line in lines:
        draw_line(axes, line, with_points=False, log_y=_is_wide([*then, *lines]))
    _scale(one, axes, [*then, *lines], x)
    ends, write_names = _ends(one, axes, then)
    axes.set_ylabel(f"{one.column.title}, {unit.label}" if unit.label else one.column.title)
    told_ends = [
        f"{line.name} {min(line.centre):.3g} to {max(line.centre):.3g}" for line in [*then, *lines]
    ]
    alt = f"{title}: {'; '.join(told_ends)} {unit.label}".strip()
    return finish(figure, alt, lambda: write_names(axes, ends))


def _ends(
    one: Beside, axes: Axes, then: Sequence[Line]
) -> tuple[list[End], Callable[[Axes, Sequence[End]], None]]:
    """The names of curves of then, and what writes them.

    Curves of one colour are told apart by what joins each to its name, which takes room beside.
    """
    ends = [End(line.name, line.x[-1], line.centre[-1], line.look.colour) for line in then]
    if not then or one.table.libraries or axes.get_xscale() != "log":
        return ends, label_ends
    year = f" {one.study.year}"
    ends = [replace(end, name=end.name.removesuffix(year)) for end in ends]
    room_beside(axes, ends)
    return ends, label_beside


def _scale(one: Beside, axes: Axes, lines: Sequence[Line], x: int) -> None:
    """Both axes: lengths and wide ranges are logarithmic."""
    places = sorted({place for line in lines for place in line.x})
    item = one.table.keys[x]
    if item.column.endswith("bytes"):
        log_bytes_axis(axes)
    else:
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
    if _is_wide(lines):
        log_value_axis(axes)
    else:
        axes.set_ylim(bottom=min(0.0, *(value for line in lines for value in line.centre)))


def _is_wide(lines: Sequence[Line]) -> bool:
    values = [value for line in lines for value in line.centre]
    return 0 < WIDE * min(values) < max(values)


def _then_lines(one: Beside, points: Sequence[Point], x: int) -> list[Line]:
    """A line for each that stands across in the printed table and has values here."""
    colours = {library_of(name): look.colour for name, look in reversed(one.analysis.looks.items())}
    lines = []
    for number, name in enumerate(one.across):
        found = [(float(p[x]), v) for p in points if (v := one.si(p, name)) is not None]
        if found:
            colour = colours.get(name, QUIET) if one.table.libraries else QUIET
            marker = "" if one.table.law else _MARKERS[number % len(_MARKERS)]
            look = Look(colour, marker, ())
            places = [place for place, _ in found]
            centre = [value / one.unit.factor for _, value in found]
            label = f"{name.replace('_', ' ')} {one.study.year}".strip()
            lines.append(Line(label, look, places, centre, [0.0] * len(found)))
    return lines
