# SPDX-License-Identifier: Apache-2.0
"""A message round a ring, beside T. H. Dunigan's of 1988 (ORNL/TM-10881, table 6)."""

from __future__ import annotations

from collections.abc import Sequence

from records.flags import OVERSUBSCRIBED
from reports.analysis import Analysis, Row
from reports.checks.node.values import by_block, scaled, spread_cell
from reports.notation.units import bytes_text, fixed
from reports.show.tables import Cell, Column, Table
from reports.studies.hypercubes_1988 import HYPERCUBES, RING_STEPS, ring_s

#: Parameters in which the cases of one row may differ.
_FREE = ("sizes", "turns", "warmup", "seed")


def ring_table(analysis: Analysis) -> Table | None:
    """Time from node to node by message length: today's rings, then the hypercubes of 1988."""
    groups: dict[tuple[str, int], dict[str, Row]] = {}
    for row in analysis.rows_of("ring", "ring_time"):
        case = analysis.case(row)
        parts = [*analysis.labels["ring"].parts(case, _FREE), *_order(row, case.params)]
        size = int(row.series.at_value("message_bytes") or 0)
        groups.setdefault((", ".join(parts), size), {})[case.environment] = row
    if not groups:
        return None
    measured = {name for found in groups.values() for name in found}
    names = [name for name in analysis.looks if name in measured]
    rows = [
        [
            Cell(title or "all parameters fixed"),
            Cell(bytes_text(size)),
            *(_step_cell(analysis, found.get(name)) for name in names),
            *_study_cells(size),
        ]
        for (title, size), found in sorted(groups.items())
    ]
    columns = [
        Column("case"),
        Column("message", numeric=True),
        *(Column("today, µs", numeric=True, environment=name) for name in names),
        *(Column(f"{machine}, µs (s)", numeric=True) for machine in HYPERCUBES),
    ]
    return Table("table-ring-1988", "Round the ring, beside 1988", columns, rows, _NOTE)


_NOTE = (
    "Time from node to node: that of all turns over ranks × turns. Today: median of the launches,"
    " in brackets their least and greatest. 1988: 100 turns round 64 nodes in Gray-code order, in"
    " brackets the seconds of all turns as printed (ORNL/TM-10881, table 6)."
)


def _order(row: Row, params: dict[str, object]) -> Sequence[str]:
    """The order of the ring, where the launch took more than the one that its case names."""
    order = row.series.at_value("order")
    return () if order is None or params.get("order") == order else (str(order),)


def _step_cell(analysis: Analysis, row: Row | None) -> Cell:
    if row is None:
        return Cell("–", title="not measured")
    case = analysis.case(row)
    steps = case.ranks * int(case.params.get("turns", 1))
    cell = spread_cell(scaled(by_block(row), 1e-6 * steps), 2, f"µs, {steps} steps a launch")
    flags = tuple(flag for flag in row.flags if flag.startswith(OVERSUBSCRIBED))
    return Cell(cell.text, title=cell.title, badges=flags)


def _study_cells(size: int) -> list[Cell]:
    found = [ring_s().get((size, machine)) for machine in HYPERCUBES]
    return [
        Cell("–", title="not in the study")
        if wall_s is None
        else Cell(f"{fixed(1e6 * wall_s / RING_STEPS, 0)} ({wall_s:g})")
        for wall_s in found
    ]
