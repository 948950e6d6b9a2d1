# SPDX-License-Identifier: Apache-2.0
"""Every launch of a check that has no other picture: dots, and a box from five launches on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from records.flags import shares_cores
from reports.analysis.run import Analysis
from reports.notation.units import readable_unit, significant
from reports.show.lines import Curves, footer, grouped, joined, picture_of
from reports.show.panel import Axis, Box, Mark, Panel, Picture, Series, rows_axis
from reports.show.rows import measured_in

#: From so many launches on a box is drawn: below, its quarters would rest on single launches.
LEAST_BOXED = 5
MOST_PANELS = 4


def launches_picture(analysis: Analysis, check: str) -> Picture | None:
    """A panel a case. None where no case was launched twice."""
    described = analysis.register.checks.get(check)
    rows = analysis.rows_of(check, described.shown) if described and described.shown else []
    if max((row.summary.n for row in rows), default=0) < 2:
        return None
    return picture_of(
        analysis,
        grouped(analysis, rows),
        lambda item: _panel(analysis, item),
        anchor=f"picture-{check}-launches",
        title=f"Every launch: {analysis.register.metric_title(rows[0].series.metric)}",
        caption=f"Dots: launches; from {LEAST_BOXED} on a box over the middle half, a line at the"
        " median, whiskers to the last launch within 1.5 boxes.",
        most=MOST_PANELS,
    )


def _panel(analysis: Analysis, item: Curves) -> Panel:
    unit = readable_unit(item.rows[0].unit, [row.summary.median for row in item.rows])
    by_name = {analysis.case(row).environment: row for row in item.rows}
    names = measured_in(analysis, item.rows)
    marks: list[Mark] = []
    alt = []
    for place, name in enumerate(names):
        row, look = by_name[name], analysis.looks[name]
        values, hollow = row.series.values / unit.factor, [shares_cores(row.flags)] * row.summary.n
        heights = place + np.resize([0.0, 0.13, -0.13, 0.06, -0.06], len(values))
        dots = Series(values.tolist(), heights.tolist(), look, width=0, size=4, alpha=0.55)
        marks.append(replace(dots, hollow=hollow))
        if len(values) >= LEAST_BOXED:
            marks.append(Box(values.tolist(), place, look.colour))
        ends = f"{significant(values.min())} to {significant(values.max())}"
        alt.append(f"{name} {ends}, median {significant(float(np.median(values)))}")
    metric = analysis.register.metrics[item.rows[0].series.metric]
    title = analysis.register.metric_title(metric.name)
    return Panel(
        item.title,
        marks,
        f"{item.title}: {'; '.join(alt)} {unit.label}",
        Axis(joined(title, unit.label, f"{metric.better} is better")),
        rows_axis(names),
        footer(analysis, item.rows),
        0.95 + 0.4 * len(names),
    )
