# SPDX-License-Identifier: Apache-2.0
"""Figures of a study: its curves of then, thin and named, with those of a run; and machines as
points of a plane."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from plugins.papers.beside import Beside, by_variant, library_of
from plugins.papers.fields import Point
from plugins.papers.labels import Label, label_beside, label_near
from records.flags import shares_cores
from reports.analysis.run import Row, flags_of
from reports.notation.palette import QUIET, Look
from reports.notation.units import as_stated, significant
from reports.show.lines import LOG_BANDS, MESSAGE_LENGTH, joined, line_of, picture_of, ranges_text
from reports.show.panel import HEIGHT_IN, WIDE_ANCHOR, Axis, Panel, Picture, Series
from reports.show.rows import environments

#: Small markers of then, in the order of what is side by side in print.
_MARKERS = ("o", "s", "^", "D", "v")
#: Values that span more are drawn on a logarithmic axis.
WIDE = 10.0
#: More curves of then are drawn thin, in a higher panel.
MANY = 6
#: Panels of one figure, and ticks of an axis of lengths.
MOST, MOST_TICKS = 24, 5


def figures_of(found: Sequence[Beside], number: int) -> list[Picture]:
    """The figures of a table: one a quantity, and one of its machines as points."""
    drawn = [_figure(one, f"figure-{number}-{place}") for place, one in enumerate(found)]
    drawn.append(_plane(found, f"plane-{number}"))
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
    caption = f"Thin, named in the picture: {curves}; thick: this run's means ± s{LOG_BANDS}."
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
    then, now = _then_lines(one, points, x), _now_rows(one, points, x)
    many = len(then) > MANY
    values = [value for line in then for value in line.y]
    values += [row.summary.mean / unit.factor for _, rows in now for _, row in rows]
    is_wide = 0 < WIDE * min(values) < max(values)
    looks = one.analysis.looks
    lines = [*then, *(line_of(looks[name], name, rows, unit, log=is_wide) for name, rows in now)]
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


def _across(one: Beside, places: Sequence[float], x: int) -> Axis:
    """The x axis: wide ranges are logarithmic."""
    item, least, most = one.keys[x], min(places), max(places)
    if item.column.endswith("bytes"):
        if not 0 < WIDE * least < most:
            return Axis(f"{MESSAGE_LENGTH}, bytes")
        octaves = range(math.ceil(math.log2(least)), math.floor(math.log2(most)) + 1)
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


def _plane(found: Sequence[Beside], anchor: str) -> Picture | None:
    """The figure of a table's machines: x and y of each, and means of a run; None for a table
    without one."""
    plane = found[0].table.plane
    if plane is None:
        return None
    columns = {one.column.column: one for one in found}
    x, y = (columns[name] for name in plane)
    ends = [
        Label(name, a / x.unit.factor, b / y.unit.factor, QUIET)
        for name in x.across
        if (a := x.si((), name)) is not None and (b := y.si((), name)) is not None
    ]
    grey = Look(QUIET, "o", ())
    marks = [Series([e.x for e in ends], [e.y for e in ends], grey, width=0, size=4)]
    for title, (own_x, own_y) in by_variant([x, y]):
        across, up = own_x.now.get((), {}), own_y.now.get((), {})
        for name in environments(x.analysis, across.keys() & up.keys()):
            look = x.analysis.looks[name]
            a, b = across[name].summary.mean / x.unit.factor, up[name].summary.mean / y.unit.factor
            hollow = [shares_cores(flags_of([across[name], up[name]]))]
            marks.append(Series([a], [b], look, name, width=0, size=7, hollow=hollow))
            ends.append(Label(f"{name}{f', {title}' if title else ''}", a, b, look.colour))
    told = "; ".join(f"{end.name} {significant(end.x)}, {significant(end.y)}" for end in ends)
    panel = Panel(
        "machines then and now",
        marks,
        f"{x.column.title} and {y.column.title}: {told}",
        Axis(joined(x.column.title, x.unit.label), scale="log", margin=0.12),
        Axis(joined(y.column.title, y.unit.label), scale="log", margin=0.12),
        f"{x.study.authors} {x.study.year}, {x.table.number}",
        1.8 * HEIGHT_IN,
        wide=True,
        label=lambda axes: label_near(axes, ends),
    )
    return picture_of(
        x.analysis,
        [panel],
        lambda shown: shown,
        anchor=f"{WIDE_ANCHOR}-{anchor}",
        title=f"{x.table.figures}: {y.column.title} against {x.column.title}",
        caption="Grey: the machines of then, each a point; coloured: this run's environments."
        " Both axes are logarithmic; the best are above, on the left.",
    )
