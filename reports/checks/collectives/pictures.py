# SPDX-License-Identifier: Apache-2.0
"""Pictures of collective operations: against message length, and against process count."""

from __future__ import annotations

import numpy as np

from reports.analysis.run import Analysis
from reports.checks.collectives.measured import (
    CHECK,
    METRIC,
    Measured,
    measured,
    position,
    words,
)
from reports.notation.palette import QUIET, Look
from reports.notation.units import count_text, readable_unit
from reports.show.lines import (
    EFFORT,
    MESSAGE_LENGTH,
    footer,
    grouped,
    length,
    lines_of,
    lines_picture,
    picture_of,
    ranges_text,
)
from reports.show.panel import Axis, Mark, Panel, Picture, Series

#: Panels of a picture: the operations of a campaign with a variant or two.
MOST_OPERATIONS = 16


def against_length(analysis: Analysis) -> Picture | None:
    """Time against message length at the greatest process count, one panel an operation."""
    every = analysis.rows_of(CHECK, METRIC)
    rows = [row for row in every if row.series.at_value("operation") != "barrier"]
    greatest = max((analysis.case(row).ranks for row in rows), default=0)
    rows = [row for row in rows if analysis.case(row).ranks == greatest]
    return lines_picture(
        analysis,
        grouped(analysis, rows, ("message_bytes", "ranks", *EFFORT), length),
        length,
        Axis(MESSAGE_LENGTH, scale="bytes"),
        anchor="picture-collective-length",
        title="Time of collective operations against message length,"
        f" {count_text(greatest, 'process')}",
        caption="Message length per pair of processes.",
        log_y=True,
        most=MOST_OPERATIONS,
    )


def against_counts(analysis: Analysis) -> Picture | None:
    """Time of the shortest message against processes, with the chosen law and the runner-up."""
    groups = _by_operation(analysis)
    if not any(len(family.counts) > 1 for found in groups.values() for family in found):
        return None
    return picture_of(
        analysis,
        groups.items(),
        lambda group: _count_panel(analysis, *group),
        anchor="picture-collective-counts",
        title="Startup latency of collective operations against process count",
        caption="The shortest message; lines join means, bands: ± s. Thick pale: the chosen law"
        " T0(p); dotted: those that the launches do not tell from it.",
        most=MOST_OPERATIONS,
    )


def _by_operation(analysis: Analysis) -> dict[str, list[Measured]]:
    """The first variant of each operation and environment; the tables have all."""
    groups: dict[str, dict[str, Measured]] = {}
    for family in measured(analysis):
        groups.setdefault(family.operation, {}).setdefault(family.environment, family)
    return {operation: list(found.values()) for operation, found in groups.items()}


def _count_panel(analysis: Analysis, operation: str, families: list[Measured]) -> Panel:
    rows = [row for f in families for row in f.rows if position(analysis, row)[1] == f.shortest]
    unit = readable_unit("s", [max(row.summary.mean for row in rows)])
    lines = lines_of(analysis, rows, lambda row: float(position(analysis, row)[0]), unit)
    laws: list[Mark] = []
    for family, line in zip(families, lines, strict=True):
        if not isinstance(family.model, str):
            choice = family.model.startup
            grid = np.linspace(min(line.x), max(line.x), 40).tolist()
            pale, dotted = Look(line.look.colour, "", ()), Look(QUIET, "", (1, 1.65))
            law = [choice.law.at(p) / unit.factor for p in grid]
            laws.append(Series(grid, law, pale, width=5, alpha=0.25))
            for other in choice.alike:
                law = [other.at(p) / unit.factor for p in grid]
                laws.append(Series(grid, law, dotted, width=1.2))
    return Panel(
        words(operation),
        [*laws, *lines],
        f"{words(operation)} against processes: {ranges_text(lines, unit.label)}",
        Axis("processes", counts=True),
        Axis(f"time, {unit.label}", low=0),
        footer(analysis, rows),
    )
