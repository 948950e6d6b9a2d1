# SPDX-License-Identifier: Apache-2.0
"""Figures of a study: its curves of then, grey, under those of a run."""

from __future__ import annotations

from collections.abc import Sequence

from reports.notation.palette import QUIET, Look
from reports.papers.beside import Beside
from reports.papers.matching import Point
from reports.show.canvas import (
    Line,
    Panel,
    draw_line,
    finish,
    log_bytes_axis,
    log_value_axis,
    new_panel,
)
from reports.show.lines import Picture, picture_of

#: Dashes and markers of then, in the order of what stands across.
_THEN = (
    Look(QUIET, "o", (4, 2)),
    Look(QUIET, "s", (1, 1.5)),
    Look(QUIET, "^", (6, 2, 1, 2)),
    Look(QUIET, "D", (2, 2)),
    Look(QUIET, "v", (8, 2)),
)

#: Values that span more are drawn on a logarithmic axis.
WIDE = 10.0


def figure_of(one: Beside, anchor: str) -> Picture | None:
    """A panel for each combination of the keys beside the x axis; None where a table has none."""
    if not one.table.x:
        return None
    names = [item.column for item in one.table.keys]
    x = names.index(one.table.x)
    panels: dict[Point, list[Point]] = {}
    for point in one.points:
        panels.setdefault((*point[:x], *point[x + 1 :]), []).append(point)
    titles = [item.title for item in one.table.keys]
    return picture_of(
        one.analysis,
        [(rest, points) for rest, points in panels.items() if len(points) > 1],
        lambda shown: _panel(one, *shown, x),
        lambda _: one.environments,
        anchor=anchor,
        title=f"{one.table.figures or one.table.number}: {one.column.title} against {titles[x]}",
        caption=f"Grey: {one.column.were} then ({', '.join(one.across)}); coloured: this run's"
        " means ± s.",
    )


def _panel(one: Beside, rest: Point, points: Sequence[Point], x: int) -> Panel:
    unit = one.unit
    titles = [item.title for number, item in enumerate(one.table.keys) if number != x]
    title = ", ".join(f"{name} {text}" for name, text in zip(titles, rest, strict=True))
    title = title or one.column.title
    figure, axes = new_panel(title, f"{one.study.authors} {one.study.year}, {one.table.number}")
    lines = _then_lines(one, points, x)
    for name in one.environments:
        rows = [(float(p[x]), one.now[p][name]) for p in points if name in one.now.get(p, {})]
        if rows:
            means = [row.summary.mean / unit.factor for _, row in rows]
            spread = [(row.summary.stddev or 0.0) / unit.factor for _, row in rows]
            look = one.analysis.looks[name]
            lines.append(Line(name, look, [place for place, _ in rows], means, spread))
    for line in lines:
        draw_line(axes, line, with_points=False)
    if one.table.x.endswith("bytes"):
        log_bytes_axis(axes)
    else:
        axes.set_xlabel(one.table.keys[x].title)
        axes.locator_params(axis="x", nbins=5)
    values = [value for line in lines for value in line.centre]
    if 0 < WIDE * min(values) < max(values):
        log_value_axis(axes)
    else:
        axes.set_ylim(bottom=0)
    axes.set_ylabel(f"{one.column.title} / {unit.label}")
    ends = [f"{line.name} {min(line.centre):.3g} to {max(line.centre):.3g}" for line in lines]
    return finish(figure, f"{title}: {'; '.join(ends)} {unit.label}")


def _then_lines(one: Beside, points: Sequence[Point], x: int) -> list[Line]:
    """A line for each that stands across in the printed table and has values here."""
    lines = []
    for number, name in enumerate(one.across):
        found = [(float(p[x]), v) for p in points if (v := one.si(p, name)) is not None]
        if found:
            look = _THEN[number % len(_THEN)]
            places = [place for place, _ in found]
            centre = [value / one.unit.factor for _, value in found]
            label = f"{name} {one.study.year}".strip()
            lines.append(Line(label, look, places, centre, [0.0] * len(found)))
    return lines
