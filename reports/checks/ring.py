# SPDX-License-Identifier: Apache-2.0
"""A message round a ring, beside T. H. Dunigan's of 1988 (ORNL/TM-10881, table 6)."""

from __future__ import annotations

from reports.analysis import Analysis, Row, flags_of
from reports.notation.units import ReadableUnit, bytes_text, fixed
from reports.show.lines import Picture, joined, size_picture
from reports.show.rows import message_bytes, range_cell, side_by_side
from reports.show.section import Section
from reports.show.tables import Cell, Column, Table, pivot
from reports.studies.hypercubes_1988 import HYPERCUBES, MACHINE_NAMES, RING_STEPS, ring_s

#: Parameters in which the cases of one row may differ.
_FREE = ("sizes", "turns", "warmup", "seed")


def rates(analysis: Analysis) -> Picture | None:
    """Rate from node to node round the ring against message length, one panel an order."""
    rows = analysis.rows_of("ring", "ring_rate")
    caption = "One panel for each order and number of ranks."
    return size_picture(analysis, rows, "picture-ring", "Rate from node to node", caption)


def steps_table(analysis: Analysis) -> Table | None:
    """Time from node to node by message length: today's rings, then the hypercubes of 1988."""
    rows = analysis.rows_of("ring", "ring_time")

    def label(row: Row) -> str:
        """The case; with the order where the launch took more than the one its case names."""
        case = analysis.case(row)
        order = row.series.at_value("order")
        own = "" if case.params.get("order") == order else str(order or "")
        return joined(analysis.labels["ring"].name(case, _FREE), own)

    def today(rows: list[Row]) -> Cell:
        if not rows:
            return Cell("–", title="not measured")
        case = analysis.case(rows[0])
        steps = case.ranks * int(case.params.get("turns", 1))
        unit = ReadableUnit("µs", 1e-6 * steps)
        return range_cell(rows[0].series.values.tolist(), unit, flags_of([rows[0]]))

    def in_1988(rows: list[Row]) -> list[Cell]:
        walls = [ring_s().get((message_bytes(rows[0]), machine)) for machine in HYPERCUBES]
        return [
            Cell("–", title="not in the study")
            if wall_s is None
            else Cell(f"{fixed(1e6 * wall_s / RING_STEPS, 0)} ({wall_s:g})")
            for wall_s in walls
        ]

    return pivot(
        sorted(rows, key=lambda row: (label(row), message_bytes(row))),
        [
            ("case", label),
            (Column("message", numeric=True), lambda row: bytes_text(message_bytes(row))),
        ],
        [
            side_by_side(analysis, rows, today, "today, µs"),
            ([f"{MACHINE_NAMES[one]}, µs (all turns, s)" for one in HYPERCUBES], in_1988),
        ],
        anchor="table-ring-1988",
        title="Round the ring, beside 1988",
        note="Time from node to node: that of all turns over ranks × turns. Today: median of the"
        " launches, in brackets their least and greatest. 1988: 100 turns round 64 nodes in"
        " Gray-code order, in brackets the seconds of all turns as printed (ORNL/TM-10881,"
        " table 6).",
    )


SECTION = Section(pictures=(rates,), tables=(steps_table,))
