# SPDX-License-Identifier: Apache-2.0
"""What starting a job costs in each environment, in seconds and against the reference."""

from __future__ import annotations

import numpy as np

from reports.analysis import Analysis, Row
from reports.choice.cells import ESTIMAND
from reports.notation.units import decimals, fixed, readable_unit
from reports.notation.values import interval_text
from reports.show.rows import measured_in
from reports.show.tables import Cell, Column, Table, pivot
from reports.statistics.descriptive import Interval
from reports.statistics.signed_rank import LEAST_N, paired_effects

CHECK = "startup"


def startup_table(analysis: Analysis) -> Table | None:
    """Median time by ranks and environment, with the paired difference from the reference."""
    check = analysis.register.checks.get(CHECK)
    metric = check.deciding if check else ""
    rows = analysis.rows_of(CHECK, metric)
    reference = analysis.comparisons.reference
    names = measured_in(analysis, rows)
    if len(names) < 2 or reference not in names:
        return None
    unit = readable_unit("s", (row.summary.median for row in rows))

    def cells(line: list[Row]) -> list[Cell]:
        found = {analysis.case(row).environment: row for row in line}
        return [cell(found.get(name), found.get(reference)) for name in names]

    def cell(row: Row | None, other: Row | None) -> Cell:
        if row is None:
            return Cell("–", title="no valid launch")
        places = decimals(row.summary.median / unit.factor, (row.summary.stddev or 0) / unit.factor)
        text = fixed(row.summary.median / unit.factor, places)
        if other is None or other is row:
            return Cell(text, title=f"n = {row.summary.n}")
        found = difference(row, other)
        if found is None:
            return Cell(text, title=f"fewer than {LEAST_N} common blocks")

        def signed(value: float) -> str:
            return ("+" if value >= 0 else "") + fixed(value / unit.factor, places)

        estimate, interval = found
        title = f"{interval_text(interval, signed)} {unit.label}"
        return Cell(f"{text} ({signed(estimate)})", title=title)

    # Runs from before `whole_start` are compared without daemons.
    extra = "; starting LAM's daemons comes on top" if metric == "all_heard" else ""
    return pivot(
        rows,
        [("case", lambda row: analysis.labels[CHECK].label(analysis.case(row)))],
        [([Column("", numeric=True, environment=name) for name in names], cells)],
        anchor="table-startup-cost",
        title="What starting a job costs",
        note=f"{analysis.register.metric_title(metric).capitalize()}, medians in {unit.label}; in"
        f" brackets the difference from {reference}, paired by block (Hodges–Lehmann estimate; its"
        f" interval is the cell's title). {ESTIMAND} Every job pays this once{extra}.",
    )


def difference(row: Row, reference: Row) -> tuple[float, Interval] | None:
    """Hodges–Lehmann estimate of T − T_ref in seconds over common blocks, and its interval."""
    _, mine, theirs = np.intersect1d(
        row.series.blocks, reference.series.blocks, return_indices=True
    )
    if len(mine) < LEAST_N:
        return None
    differences = row.series.values[mine] - reference.series.values[theirs]
    scale = float(np.abs(differences).max()) or 1.0
    effect = paired_effects(differences[np.newaxis, :] / scale)[0]
    found = effect.interval
    ends = np.log([effect.ratio, found.low, found.high]) * scale
    estimate, low, high = ends.tolist()
    return estimate, Interval(low, high, found.level, found.method)
