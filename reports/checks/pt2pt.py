# SPDX-License-Identifier: Apache-2.0
"""Ping-pong: pictures and laws; lengths down and environments side by side."""

from __future__ import annotations

from dataclasses import replace

from reports.analysis.run import Analysis, Row
from reports.checks.common.curves import (
    DrawPicture,
    chosen_construct,
    latency_and_bandwidth,
    of_check,
)
from reports.checks.common.fits import fits_picture, fits_table, switches_table
from reports.checks.common.hops import hops_picture, hops_table
from reports.show.lines import size_picture
from reports.show.panel import Picture
from reports.show.section import Section, side_by_side_table
from reports.show.tables import MOST_ROWS, Table

METRICS = ("half_round_trip", "bandwidth")


def other_constructs(metric: str, anchor: str, title: str) -> DrawPicture:
    """The picture of one metric in the other constructs, a panel each."""

    def picture(analysis: Analysis) -> Picture | None:
        rows = analysis.rows_of("pt2pt", metric)
        plain = chosen_construct(rows)
        others = [row for row in rows if row.series.at_value("construct") != plain]
        return size_picture(analysis, others, anchor, f"{title}, other constructs")

    return picture


def sizes_tables(analysis: Analysis) -> list[Table]:
    """Each metric of each construct: lengths down, environments side by side.

    What is beyond the first 4 × MOST_ROWS lines is in summary.csv only; the last table says so.
    """
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in analysis.rows_of("pt2pt", *METRICS):
        construct = str(row.series.at_value("construct") or "all")
        groups.setdefault((construct, row.series.metric), []).append(row)
    note = (
        f"n = {analysis.run.blocks} launches unless a cell says otherwise. A cell's title gives its"
        " complete statistics in SI units; so does summary.csv, with the least, mean and greatest"
        " of each launch."
    )
    tables: list[Table] = []
    left = 4 * MOST_ROWS
    for (construct, metric), rows in groups.items():
        table = side_by_side_table(analysis, "pt2pt", metric, rows, construct)
        if table is None or left <= 0:
            break
        tables.append(replace(table, note=note, rows=table.rows[:left]))
        left, note = left - len(table.rows), ""
    if len(tables) < len(groups):
        more = f"{len(groups) - len(tables)} further tables are in summary.csv only."
        tables[-1] = replace(tables[-1], note=f"{tables[-1].note} {more}".strip())
    return tables


SECTION = Section(
    pictures=(
        latency_and_bandwidth("pt2pt", *METRICS),
        other_constructs("half_round_trip", "picture-latency", "One-way time"),
        other_constructs("bandwidth", "picture-bandwidth", "Bandwidth"),
        *of_check("pt2pt", fits_picture, hops_picture),
    ),
    tables=of_check("pt2pt", hops_table, fits_table, switches_table),
    statistics=sizes_tables,
)
