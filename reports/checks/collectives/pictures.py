# SPDX-License-Identifier: Apache-2.0
"""Pictures of collective operations: against message length, and against process count."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from reports.analysis import Analysis, Row
from reports.checks.collectives.measured import OPERATIONS, Measured, measured, position, words
from reports.models.collectives import Choice, Law
from reports.notation.palette import QUIET
from reports.notation.units import ReadableUnit, fixed, readable_unit
from reports.show.canvas import (
    Line,
    Panel,
    draw_line,
    finish,
    log_bytes_axis,
    log_value_axis,
    new_panel,
)
from reports.show.lines import Picture, footer


def against_length(analysis: Analysis) -> Picture | None:
    """Time against message length at the greatest process count, one panel an operation."""
    families = [f for f in _plain(measured(analysis)) if f.operation != "barrier"]
    if not families:
        return None
    greatest = max(p for family in families for p in family.counts)
    panels = [
        _length_panel(analysis, operation, greatest, found)
        for operation, found in _by_operation(families)
    ]
    return Picture(
        "picture-collective-length",
        f"Time of collective operations against message length, {greatest} processes",
        "Lines: means; bands: ± s; dots: single launches. Message length per pair of processes.",
        panels,
        _environments(analysis, families),
    )


def against_counts(analysis: Analysis) -> Picture | None:
    """Time of the shortest message against processes, with the chosen law and the runner-up."""
    families = _plain(measured(analysis))
    if not any(len(family.counts) > 1 for family in families):
        return None
    return Picture(
        "picture-collective-counts",
        "Startup latency of collective operations against process count",
        "The shortest message; lines join means, bands: ± s. Thick pale: the chosen law T0(p);"
        " dotted: its runner-up, drawn where the two are not told apart.",
        [_count_panel(analysis, name, found) for name, found in _by_operation(families)],
        _environments(analysis, families),
    )


def _plain(families: Sequence[Measured]) -> list[Measured]:
    """The first variant of each operation and environment; the tables have all."""
    found: dict[tuple[str, str], Measured] = {}
    for family in families:
        found.setdefault((family.operation, family.environment), family)
    return list(found.values())


def _by_operation(families: Iterable[Measured]) -> list[tuple[str, list[Measured]]]:
    groups: dict[str, list[Measured]] = {}
    for family in families:
        groups.setdefault(family.operation, []).append(family)
    order = {name: place for place, name in enumerate(OPERATIONS)}
    return sorted(groups.items(), key=lambda item: order.get(item[0], len(order)))


def _environments(analysis: Analysis, families: Iterable[Measured]) -> list[str]:
    names = {family.environment for family in families}
    return [name for name in analysis.looks if name in names]


def _line(
    analysis: Analysis, family: Measured, rows: Sequence[Row], axis: int, unit: ReadableUnit
) -> Line:
    """The rows as a line in the unit; axis 0: by process count, 1: by message length."""
    ordered = sorted(rows, key=lambda row: position(analysis, row)[axis])
    x = [float(position(analysis, row)[axis]) for row in ordered]
    return Line(
        family.environment,
        analysis.looks[family.environment],
        x,
        [row.summary.mean / unit.factor for row in ordered],
        [min(row.summary.stddev or 0.0, 0.9 * row.summary.mean) / unit.factor for row in ordered],
        [
            (place, value / unit.factor)
            for place, row in zip(x, ordered, strict=True)
            for value in row.series.values.tolist()
        ],
    )


def _length_panel(
    analysis: Analysis, operation: str, count: int, families: Sequence[Measured]
) -> Panel:
    chosen = [
        (family, [row for row in family.rows if position(analysis, row)[0] == count])
        for family in families
    ]
    chosen = [(family, rows) for family, rows in chosen if rows]
    ns = [row.summary.n for _, rows in chosen for row in rows] or [0]
    figure, axes = new_panel(words(operation), footer(analysis, min(ns), max(ns)))
    greatest = max((row.summary.mean for _, rows in chosen for row in rows), default=1.0)
    unit = readable_unit("s", [greatest])
    lines = [_line(analysis, family, rows, 1, unit) for family, rows in chosen]
    for line in lines:
        draw_line(axes, line, with_points=True)
    log_bytes_axis(axes)
    lengths = [place for line in lines for place in line.x]
    axes.set_xlim(min(lengths) / 1.4, max(lengths) * 1.4)
    log_value_axis(axes)
    axes.set_ylabel(f"time / {unit.label}")
    return finish(figure, _alt(f"{words(operation)} against message length", lines, unit))


def _count_panel(analysis: Analysis, operation: str, families: Sequence[Measured]) -> Panel:
    chosen = [
        (family, [row for row in family.rows if position(analysis, row)[1] == family.shortest])
        for family in families
    ]
    greatest = max((row.summary.mean for _, rows in chosen for row in rows), default=1.0)
    unit = readable_unit("s", [greatest])
    lines = [_line(analysis, family, rows, 0, unit) for family, rows in chosen]
    ns = [row.summary.n for _, rows in chosen for row in rows]
    figure, axes = new_panel(words(operation), footer(analysis, min(ns), max(ns)))
    for family, line in zip(families, lines, strict=True):
        if not isinstance(family.model, str):
            _draw_choice(axes, family.model.startup, line, unit)
        draw_line(axes, line, with_points=True)
    counts = sorted({place for line in lines for place in line.x})
    axes.set_xticks(counts, [fixed(place, 0) for place in counts])
    axes.set_ylim(bottom=0)
    axes.set_xlabel("processes")
    axes.set_ylabel(f"time / {unit.label}")
    return finish(figure, _alt(f"{words(operation)} against processes", lines, unit))


def _draw_choice(axes: Any, choice: Choice, line: Line, unit: ReadableUnit) -> None:
    grid = np.linspace(min(line.x), max(line.x), 40)

    def curve(law: Law) -> list[float]:
        return [law.at(float(p)) / unit.factor for p in grid]

    axes.plot(grid, curve(choice.law), color=line.look.colour, linewidth=5, alpha=0.25)
    if not choice.determined:
        axes.plot(grid, curve(choice.runner_up), color=QUIET, linewidth=1.2, linestyle=":")


def _alt(title: str, lines: Sequence[Line], unit: ReadableUnit) -> str:
    ranges = "; ".join(
        f"{line.name} {min(line.centre):.3g} to {max(line.centre):.3g} {unit.label}"
        for line in lines
    )
    return f"{title}: {ranges}"
