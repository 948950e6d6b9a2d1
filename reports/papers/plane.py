# SPDX-License-Identifier: Apache-2.0
"""Machines as points of a plane: one printed quantity against another, and a run's beside them."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from reports.analysis import Row
from reports.notation.palette import QUIET
from reports.papers.beside import Beside, of_variant
from reports.papers.labels import End, label_near
from reports.show.canvas import HEIGHT_IN, WIDE_ANCHOR, Panel, finish, log_value_axis, new_panel
from reports.show.lines import Picture, picture_of
from reports.show.rows import environments


def plane_of(found: Sequence[Beside], anchor: str) -> Picture | None:
    """The figure of a table's machines; None for a table without one."""
    table = found[0].table
    if table.plane is None:
        return None
    plane = table.plane
    plain = {one.column.column: one for one in found if not one.column.over}
    x, y = plain[plane.x], plain[plane.y]
    kinds = [(kind.title, of_variant([x, y], kind)) for kind in table.variants]
    points = [
        (title, name, across.now[()][name], up.now[()][name])
        for title, (across, up) in kinds or [("", [x, y])]
        for name in environments(x.analysis, across.now.get((), {}))
        if name in up.now.get((), {})
    ]
    return picture_of(
        x.analysis,
        [points],
        lambda shown: _panel(x, y, shown),
        lambda shown: (name for _, name, _, _ in shown),
        anchor=f"{WIDE_ANCHOR}-{anchor}",
        title=f"{plane.figures}: {y.column.title} against {x.column.title}",
        caption="Grey: the machines of then, each a point; coloured: this run's environments."
        " Both axes are logarithmic; the best lie above, on the left.",
    )


def _panel(x: Beside, y: Beside, points: Sequence[tuple[str, str, Row, Row]]) -> Panel:
    """x and y of every machine, and means of a run."""
    footer = f"{x.study.authors} {x.study.year}, {x.table.number}"
    figure, axes = new_panel("machines then and now", footer, 1.8 * HEIGHT_IN, wide=True)
    then = [
        (name, a / x.unit.factor, b / y.unit.factor)
        for name in x.across
        if (a := x.si((), name)) is not None and (b := y.si((), name)) is not None
    ]
    axes.plot([a for _, a, _ in then], [b for _, _, b in then], "o", color=QUIET, markersize=4)
    ends = [End(name, a, b, QUIET) for name, a, b in then]
    for title, name, across, up in points:
        look = x.analysis.looks[name]
        place = across.summary.mean / x.unit.factor, up.summary.mean / y.unit.factor
        axes.plot(*place, look.marker, color=look.colour, markersize=7, label=name)
        ends.append(End(f"{name}{f', {title}' if title else ''}", *place, look.colour))
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
