# SPDX-License-Identifier: Apache-2.0
"""What starting a job costs in each environment, in seconds and against the reference."""

from __future__ import annotations

import numpy as np

from reports.analysis import Analysis, Row
from reports.notation.units import ReadableUnit, decimals, fixed, level_text, readable_unit
from reports.show.tables import Cell, Column, Table
from reports.statistics.signed_rank import LEAST_N, paired_effects

CHECK = "startup"


def startup_table(analysis: Analysis) -> Table | None:
    """Median time by ranks and environment, with the paired difference from the reference."""
    check = analysis.register.checks.get(CHECK)
    metric = check.deciding if check else ""
    rows = analysis.rows_of(CHECK, metric)
    reference = analysis.comparisons.reference
    names = [name for name in analysis.looks if any(_is(analysis, row, name) for row in rows)]
    if len(names) < 2 or reference not in names:
        return None
    unit = readable_unit("s", (row.summary.median for row in rows))
    grouped: dict[str, dict[str, Row]] = {}
    for row in rows:
        case = analysis.case(row)
        grouped.setdefault(analysis.labels[CHECK].label(case), {})[case.environment] = row
    cells = [
        [
            Cell(label),
            *(_cell(found.get(name), found.get(reference), unit) for name in names),
        ]
        for label, found in grouped.items()
    ]
    columns = [Column("case"), *(Column("", numeric=True, environment=name) for name in names)]
    note = (
        f"{analysis.register.metric_title(metric).capitalize()}, medians in {unit.label}; in"
        " brackets the difference"
        f" from {reference}, paired by block (Hodges–Lehmann estimate; its interval is the cell's"
        " title). Every job pays this once; starting LAM's daemons comes on top."
    )
    return Table("table-startup-cost", "What starting a job costs", columns, cells, note)


def _is(analysis: Analysis, row: Row, name: str) -> bool:
    return analysis.case(row).environment == name


def _cell(row: Row | None, reference: Row | None, unit: ReadableUnit) -> Cell:
    if row is None:
        return Cell("–", title="no valid launch")
    places = decimals(row.summary.median / unit.factor, (row.summary.stddev or 0) / unit.factor)
    text = fixed(row.summary.median / unit.factor, places)
    if reference is None or reference is row:
        return Cell(text, title=f"n = {row.summary.n}")
    found = _difference(row, reference)
    if found is None:
        return Cell(text, title=f"fewer than {LEAST_N} common blocks")
    estimate, low, high, level = found
    signed = [_signed(value / unit.factor, places) for value in (estimate, low, high)]
    title = f"{level_text(level)} interval {signed[1]} to {signed[2]} {unit.label}"
    return Cell(f"{text} ({signed[0]})", title=title)


def _difference(row: Row, reference: Row) -> tuple[float, float, float, float] | None:
    """Hodges–Lehmann estimate of T − T_ref in seconds over common blocks, interval, level."""
    _, mine, theirs = np.intersect1d(
        row.series.blocks, reference.series.blocks, return_indices=True
    )
    if len(mine) < LEAST_N:
        return None
    differences = row.series.values[mine] - reference.series.values[theirs]
    scale = float(np.abs(differences).max()) or 1.0
    effect = paired_effects(differences[np.newaxis, :] / scale)[0]
    ends = np.log([effect.ratio, effect.interval.low, effect.interval.high]) * scale
    estimate, low, high = ends.tolist()
    return estimate, low, high, effect.interval.level


def _signed(value: float, places: int) -> str:
    return ("+" if value >= 0 else "") + fixed(value, places)
