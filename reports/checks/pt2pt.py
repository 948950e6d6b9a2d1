# SPDX-License-Identifier: Apache-2.0
"""Ping-pong: pictures; lengths down and environments side by side."""

from __future__ import annotations

from dataclasses import replace

from reports.analysis.run import Analysis, Row
from reports.checks.common.curves import latency_and_bandwidth
from reports.notation.units import count_text
from reports.show.section import Section, side_by_side_table
from reports.show.tables import MOST_ROWS, Table

METRICS = ("half_round_trip", "bandwidth")
#: Lines of the tables of all constructs together.
MOST_LINES = 2400


def sizes_tables(analysis: Analysis) -> list[Table]:
    """Each metric of each construct: lengths down, environments side by side."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in analysis.rows_of("pt2pt", *METRICS):
        construct = str(row.series.at_value("construct") or "all")
        groups.setdefault((construct, row.series.metric), []).append(row)
    note = (
        f"n = {count_text(analysis.run.blocks, 'launch')} unless a cell says otherwise. A cell's"
        " title gives its complete statistics in SI units; so does summary.csv, with the least,"
        " mean and greatest of each launch."
    )
    most = min(MOST_ROWS, MOST_LINES // max(1, len(groups)))
    tables = (
        side_by_side_table(analysis, "pt2pt", metric, rows, of=construct, most=most)
        for (construct, metric), rows in groups.items()
    )
    return [replace(table, note=note) for table in tables if table]


SECTION = Section(
    pictures=(latency_and_bandwidth("pt2pt", *METRICS),),
    statistics=sizes_tables,
)
