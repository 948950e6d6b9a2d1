# SPDX-License-Identifier: Apache-2.0
"""Ping-pong: pictures and laws; lengths down and environments side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from reports.analysis import Analysis, Row, flags_of
from reports.checks.common.fits import (
    chosen_construct,
    fits_picture,
    fits_table,
    latency_and_bandwidth,
    switches_table,
)
from reports.checks.common.hops import hops_picture, hops_table
from reports.notation.units import ReadableUnit, bytes_text, readable_unit
from reports.show.lines import Picture, size_picture
from reports.show.rows import measured_in, message_bytes, value_cell
from reports.show.section import Section
from reports.show.tables import MOST_ROWS, Cell, Column, Table, across, pivot, slug

METRICS = ("half_round_trip", "bandwidth")
#: Of more environments than these, time and rate stand in tables of their own.
MOST_TOGETHER = 5


def other_constructs(metric: str, anchor: str, title: str) -> Callable[[Analysis], Picture | None]:
    """The picture of one metric in the other constructs, a panel each."""

    def picture(analysis: Analysis) -> Picture | None:
        rows = analysis.rows_of("pt2pt", metric)
        plain = chosen_construct(rows)
        others = [row for row in rows if row.series.at_value("construct") != plain]
        return size_picture(analysis, others, anchor, title)

    return picture


def sizes_tables(analysis: Analysis) -> list[Table]:
    """For each curve (case parameters and construct): sizes down, environments side by side.

    Curves beyond the first 4 × MOST_ROWS sizes stand in summary.csv only; the last table says so.
    """
    titles: dict[tuple[int, str], str] = {}
    groups: dict[str, list[Row]] = {}
    found = analysis.rows_of("pt2pt", *METRICS)
    apart = len(measured_in(analysis, found)) > MOST_TOGETHER
    for row in found:
        construct = str(row.series.at_value("construct") or "all")
        title = titles.get((row.series.case, construct))
        if title is None:
            parts = analysis.labels["pt2pt"].parts(analysis.case(row))
            title = titles[row.series.case, construct] = ", ".join([construct, *parts])
        name = analysis.register.metric_title(row.series.metric)
        groups.setdefault(f"{title}: {name}" if apart else title, []).append(row)
    blocks = analysis.run.blocks
    note = (
        f"Mean ± s at each message length; n = {blocks} launches unless a cell says otherwise. A"
        " cell's title gives its complete statistics in SI units; so does summary.csv, with the"
        " least, mean and greatest of each launch."
    )
    tables: list[Table] = []
    left = 4 * MOST_ROWS
    for title, rows in groups.items():
        table = _sizes_table(analysis, title, rows, "" if tables else note, left)
        left -= len(table.rows)
        tables.append(table)
        if left <= 0 and len(tables) < len(groups):
            more = f"{len(groups) - len(tables)} further curves are in summary.csv only."
            tables[-1] = replace(table, note=f"{table.note} {more}".strip())
            break
    return tables


def _sizes_table(analysis: Analysis, title: str, rows: list[Row], note: str, most: int) -> Table:
    names = measured_in(analysis, rows)
    units = {
        metric: readable_unit(
            analysis.register.metrics[metric].unit,
            (row.summary.mean for row in rows if row.series.metric == metric),
        )
        for metric in dict.fromkeys(row.series.metric for row in rows)
    }
    blocks = analysis.run.blocks

    def cell(rows: list[Row]) -> Cell:
        made = value_cell(rows, units[rows[0].series.metric] if rows else ReadableUnit("", 1))
        badges = flags_of(rows[:1])
        if rows and rows[0].summary.n != blocks:
            badges = (f"n = {rows[0].summary.n}", *badges)
        return replace(made, badges=badges)

    def heading(key: tuple[str, str]) -> Column:
        metric, name = key
        text = f"{analysis.register.metric_title(metric)}, {units[metric].label}"
        return Column(text, numeric=True, environment=name)

    table = pivot(
        sorted(rows, key=message_bytes),
        [(Column("message", numeric=True), lambda row: bytes_text(message_bytes(row)))],
        [
            across(
                [(metric, name) for metric in METRICS if metric in units for name in names],
                lambda row: (row.series.metric, analysis.case(row).environment),
                cell,
                heading,
            )
        ],
        anchor=f"sizes-{slug(title)}",
        title=title,
        note=note,
    )
    assert table is not None
    return replace(table, rows=table.rows[:most])


SECTION = Section(
    pictures=(
        latency_and_bandwidth("pt2pt", *METRICS),
        other_constructs("half_round_trip", "picture-latency", "Half round trip, other constructs"),
        other_constructs("bandwidth", "picture-bandwidth", "Bandwidth, other constructs"),
        fits_picture("pt2pt"),
        hops_picture("pt2pt"),
    ),
    tables=(hops_table("pt2pt"), fits_table("pt2pt"), switches_table("pt2pt")),
    statistics=sizes_tables,
)
