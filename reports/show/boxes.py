# SPDX-License-Identifier: Apache-2.0
"""Every launch of what stands for a check: dots, and a box from five launches on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from records.axes import along_curve
from reports.analysis import Analysis, Row
from reports.notation.palette import INK
from reports.notation.units import readable_unit
from reports.show.arrange import LABEL_PT, wrapped
from reports.show.canvas import Panel, finish, new_panel
from reports.show.lines import Curves, Picture, footer, grouped, picture_of
from reports.show.rows import measured_in

#: From so many launches on a box is drawn: below, its quarters would rest on single launches.
LEAST_BOXED = 5
MOST_PANELS = 4


def launches_picture(analysis: Analysis, check: str) -> Picture | None:
    """A panel a case; of a curve its ends. None where no case was launched twice."""
    described = analysis.register.checks.get(check)
    rows = analysis.rows_of(check, described.shown) if described and described.shown else []
    if max((row.summary.n for row in rows), default=0) < 2:
        return None
    places = [along_curve(row.series.at) for row in rows]
    known = [place[1] for place in places if place is not None]
    ends = {min(known), max(known)} if known else set()
    kept = [
        row for row, place in zip(rows, places, strict=True) if place is None or place[1] in ends
    ]
    return picture_of(
        analysis,
        grouped(analysis, kept),
        lambda item: _panel(analysis, item),
        lambda _: [],
        anchor=f"picture-{check}-launches",
        title=f"Every launch: {analysis.register.metric_title(rows[0].series.metric)}",
        caption=f"Dots: launches; from {LEAST_BOXED} on a box over the middle half, a line at the"
        " median, whiskers to the last launch within 1.5 boxes."
        + (" Of each curve its ends." if ends else ""),
        most=MOST_PANELS,
    )


def _panel(analysis: Analysis, item: Curves) -> Panel:
    first = item.rows[0]
    unit = readable_unit(first.unit, [row.summary.median for row in item.rows])
    names = measured_in(analysis, item.rows)
    by_name = {analysis.case(row).environment: row for row in item.rows}
    figure, axes = new_panel(item.title, footer(analysis, item.rows), 0.95 + 0.4 * len(names))
    for place, name in enumerate(names):
        values, look = by_name[name].series.values / unit.factor, analysis.looks[name]
        offsets = np.resize([0.0, 0.13, -0.13, 0.06, -0.06], len(values))
        axes.plot(values, place + offsets, look.marker, color=look.colour, alpha=0.55, markersize=4)
        if len(values) >= LEAST_BOXED:
            axes.boxplot(
                values,
                positions=[place],
                orientation="horizontal",
                widths=0.55,
                showfliers=False,
                boxprops={"color": look.colour},
                whiskerprops={"color": look.colour},
                capprops={"color": look.colour},
                medianprops={"color": INK, "linewidth": 1.6},
                manage_ticks=False,
            )
    shown = ["\n".join(wrapped(name, LABEL_PT, 1.75)) for name in names]
    axes.set_yticks(range(len(names)), shown)
    axes.tick_params(axis="y", length=0, labelcolor=INK)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")
    metric = analysis.register.metrics[first.series.metric]
    axes.set_xlabel(
        f"{analysis.register.metric_title(metric.name)}, {unit.label}, {metric.better} is better"
    )
    return finish(figure, f"{item.title}: {_ranges(by_name, names, unit.factor)} {unit.label}")


def _ranges(by_name: dict[str, Row], names: Sequence[str], factor: float) -> str:
    summaries = ((name, by_name[name].summary) for name in names)
    return "; ".join(
        f"{name} {one.least / factor:.4g} to {one.greatest / factor:.4g},"
        f" median {one.median / factor:.4g}"
        for name, one in summaries
    )
