# SPDX-License-Identifier: Apache-2.0
"""Figures of a study: its curves of then, thin and named, with those of a run."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator

from plugins.papers.beside import Beside, library_of
from plugins.papers.fields import Point
from reports.analysis.run import Row
from reports.notation.labels import QUIET, Look
from reports.notation.units import as_stated
from reports.show.lines import MESSAGE_LENGTH, joined, line_of, picture_of, ranges_text
from reports.show.panel import HEIGHT_IN, WIDE_ANCHOR, Axis, Panel, Picture, Series, thin_ticks

#: Small markers of then, in the order of what is side by side in print.
_MARKERS = ("o", "s", "^", "D", "v")
#: Values that span more are drawn on a logarithmic axis.
WIDE = 10.0
#: More curves of then are drawn thin, in a higher panel.
MANY = 6
#: Panels of one figure, and ticks of an axis of lengths.
MOST, MOST_TICKS = 24, 5
#: Size of the letters of names, in points.
_SIZE = 7.4


@dataclass(frozen=True, slots=True)
class Label:
    """A name and the place it belongs to, in data coordinates."""

    name: str
    x: float
    y: float
    colour: str


def figures_of(found: Sequence[Beside], number: int) -> list[Picture]:
    """The figures of a table, one a quantity."""
    drawn = [_figure(one, f"figure-{number}-{index}") for index, one in enumerate(found)]
    return [picture for picture in drawn if picture is not None]


def _figure(one: Beside, anchor: str) -> Picture | None:
    """A panel for each combination of the keys beside the x axis; None where a table has none."""
    table = one.table
    drawn = one.column.column in table.drawn or not table.drawn
    if not one.keys or not drawn or (table.printed and not table.figures):
        return None
    x = len(one.keys) - 1
    panels: dict[Point, list[Point]] = {}
    for point in one.points:
        panels.setdefault((*point[:x], *point[x + 1 :]), []).append(point)
    curves = "closed forms of then" if one.is_by_law else f"then, {one.column.were}"
    caption = f"Thin, named in the picture: {curves}; thick: this run's means ± s."
    if table.libraries:
        caption += " A library of then has the colour of today's."
    return picture_of(
        one.analysis,
        [(rest, points) for rest, points in panels.items() if len(points) > 1],
        lambda shown: _panel(one, *shown, x),
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
    if one.keys[x].column.endswith("bytes") and _octaves([float(point[x]) for point in points]):
        points = [point for point in points if float(point[x])]  # 0 has no logarithm
    then, now = _then_lines(one, points, x), _now_rows(one, points, x)
    many = len(then) > MANY
    values = [value for line in then for value in line.y]
    values += [row.summary.mean / unit.factor for _, rows in now for _, row in rows]
    is_wide = 0 < WIDE * min(values) < max(values)
    looks = one.analysis.looks
    now_lines = (line_of(looks[n], one.label(n), rows, unit, log=is_wide) for n, rows in now)
    lines = [*then, *now_lines]
    own = "" if one.table.libraries else f" {year}"  # today's libraries have the same names
    ends = [
        Label(line.name.removesuffix(own), line.x[-1], line.y[-1], line.look.colour)
        for line in then
    ]

    return Panel(
        title,
        lines,
        f"{title}: {ranges_text(lines, unit.label)}",
        _across(one, [place for line in lines for place in line.x], x),
        Axis(
            joined(one.column.title, unit.label),
            scale="log" if is_wide else "linear",
            low=None if is_wide else min(0.0, *values),
        ),
        f"{one.study.authors} {year}, {one.table.number}",
        1.7 * HEIGHT_IN if many else HEIGHT_IN,
        wide=many,
        label=partial(label_beside, ends=ends) if ends else None,
    )


def _octaves(lengths: Sequence[float]) -> range:
    """Powers of 2 among lengths that are wide apart, the empty message aside; else none."""
    least, most = min(filter(None, lengths), default=0.0), max(lengths)
    if not 0 < WIDE * least < most:
        return range(0)
    return range(math.ceil(math.log2(least)), math.floor(math.log2(most)) + 1)


def _across(one: Beside, places: Sequence[float], x: int) -> Axis:
    """The x axis: wide ranges are logarithmic."""
    item, least, most = one.keys[x], min(places), max(places)
    if item.column.endswith("bytes"):
        if not (octaves := _octaves(places)):
            return Axis(f"{MESSAGE_LENGTH}, bytes")
        lengths = [2.0**k for k in octaves[:: -(-len(octaves) // MOST_TICKS)]]
        return Axis(MESSAGE_LENGTH, scale="bytes", ticks=lengths)
    # Numbers of processes were doubled, then as now.
    if item.ours in ("ranks", "nodes") or most >= 16 * least > 0:
        powers = [2.0**k for k in range(20) if least <= 2**k <= most]
        return Axis(item.title, scale="log2", ticks={p: as_stated(p) for p in powers})
    return Axis(item.title)


def _then_lines(one: Beside, points: Sequence[Point], x: int) -> list[Series]:
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
            places, look = [place for place, _ in found], Look(colour, marker, ())
            lines.append(Series(places, centre, look, label, width=0.8, size=3.4))
    return lines


def _now_rows(
    one: Beside, points: Sequence[Point], x: int
) -> list[tuple[str, list[tuple[float, Row]]]]:
    """The rows of each environment of the run that has values here, with their places."""
    found = [
        (name, [(float(p[x]), one.now[p][name]) for p in points if name in one.now.get(p, {})])
        for name in one.environments
    ]
    return [(name, rows) for name, rows in found if rows]


def label_beside(axes: Axes, ends: Sequence[Label]) -> None:
    """Names of lines in a column on the right, each joined to the end of its line; the x axis is
    made longer for them, without further ticks.

    The axes must have their final place.
    """
    height, letter = _letter(axes)
    width = letter * max(len(end.name) for end in ends)
    low, high = (float(limit) for limit in axes.get_xlim())
    ticks = [float(tick) for tick in axes.get_xticks() if low <= tick <= high]
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    share, is_log = 1 / (1 - min(width + 0.05, 0.6)), axes.get_xscale() == "log"
    axes.set_xlim(low, low * (high / low) ** share if is_log else low + (high - low) * share)
    for label in axes.get_xticklabels():
        label.set_visible(True)
    thin_ticks(axes)
    to_axes = axes.transData + axes.transAxes.inverted()
    heights = [(float(to_axes.transform((end.x, end.y))[1]), end) for end in ends]
    # From the top down, with as much room below each as those that are left need.
    step, top = 1.05 * height, 1.0
    heights.sort(key=lambda item: -item[0])
    for index, (y, end) in enumerate(heights):
        middle = max(min(y, top - step / 2), (len(heights) - index - 0.5) * step)
        top = middle - step / 2
        line = {"arrowstyle": "-", "color": end.colour, "lw": 0.5, "ls": ":", "relpos": (0.0, 0.5)}
        axes.annotate(
            end.name,
            (end.x, end.y),
            (1 - width, middle),
            textcoords="axes fraction",
            fontsize=_SIZE,
            color=end.colour,
            va="center",
            arrowprops={**line, "shrinkA": 1, "shrinkB": 2},
        )


def _letter(axes: Axes) -> tuple[float, float]:
    """Height of a line and width of a letter, as shares of the axes."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    size = figure.dpi * _SIZE / 72
    return 1.15 * size / axes.bbox.height, 0.58 * size / axes.bbox.width
