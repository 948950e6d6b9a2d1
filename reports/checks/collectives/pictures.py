# SPDX-License-Identifier: Apache-2.0
"""Pictures of collective operations: against message length, and against process count."""

from __future__ import annotations

import numpy as np

from reports.analysis.run import Analysis
from reports.checks.collectives.measured import Measured, measured, position, words
from reports.notation.palette import QUIET, Look
from reports.notation.units import count_text, readable_unit
from reports.show.lines import (
    LOG_BANDS,
    MESSAGE_LENGTH,
    footer,
    lines_of,
    picture_of,
    ranges_text,
)
from reports.show.panel import Axis, Mark, Panel, Picture, Series


def against_length(analysis: Analysis) -> Picture | None:
    """Time against message length at the greatest process count, one panel an operation."""
    groups = _by_operation(analysis)
    groups.pop("barrier", None)
    families = [family for found in groups.values() for family in found]
    greatest = max((p for family in families for p in family.counts), default=0)
    shown = {
        name: kept
        for name, found in groups.items()
        if (kept := [family for family in found if greatest in family.counts])
    }
    return picture_of(
        analysis,
        shown.items(),
        lambda group: _length_panel(analysis, *group, greatest),
        anchor="picture-collective-length",
        title="Time of collective operations against message length,"
        f" {count_text(greatest, 'process')}",
        caption=f"Lines: means; bands: ± s{LOG_BANDS}; dots: single launches. Message length per"
        " pair of processes.",
        most=len(shown),
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
        most=len(groups),
    )


def _by_operation(analysis: Analysis) -> dict[str, list[Measured]]:
    """The first variant of each operation and environment; the tables have all."""
    groups: dict[str, dict[str, Measured]] = {}
    for family in measured(analysis):
        groups.setdefault(family.operation, {}).setdefault(family.environment, family)
    return {operation: list(found.values()) for operation, found in groups.items()}


def _length_panel(
    analysis: Analysis, operation: str, families: list[Measured], count: int
) -> Panel:
    rows = [row for f in families for row in f.rows if position(analysis, row)[0] == count]
    unit = readable_unit("s", [max(row.summary.mean for row in rows)])
    lines = lines_of(analysis, rows, lambda row: float(position(analysis, row)[1]), unit, log=True)
    lengths = [place for line in lines for place in line.x]
    return Panel(
        words(operation),
        lines,
        f"{words(operation)} against message length: {ranges_text(lines, unit.label)}",
        Axis(MESSAGE_LENGTH, scale="bytes", low=min(lengths) / 1.4, high=max(lengths) * 1.4),
        Axis(f"time, {unit.label}", scale="log"),
        footer(analysis, rows),
    )


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
