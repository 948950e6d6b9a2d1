# SPDX-License-Identifier: Apache-2.0
"""Nodes in a table: the rates of each."""

from __future__ import annotations

from reports.analysis.run import Analysis, Row
from reports.notation.units import ReadableUnit
from reports.show.rows import name_cell, range_cell
from reports.show.section import Section
from reports.show.tables import Cell, Table, across, pivot

_CHECK = "node"
#: Columns of the rates, by metric: heading, and the unit that it names.
_RATES = {
    "stream_copy": ("STREAM copy, GB/s", ReadableUnit("", 1e9)),
    "stream_triad": ("STREAM triad, GB/s", ReadableUnit("", 1e9)),
    "dgemm_rate": ("DGEMM, Gflop/s", ReadableUnit("", 1e9)),
    "node_hpl_rate": ("one-node HPL, Gflop/s", ReadableUnit("", 1e9)),
    "linpack_1000_rate": ("LINPACK 1000, Gflop/s", ReadableUnit("", 1e9)),
    "linpack_100_rate": ("LINPACK 100, Gflop/s", ReadableUnit("", 1e9)),
    "core_clock": ("clock, GHz", ReadableUnit("", 1e9)),
    "allocatable_memory": ("memory got, MB", ReadableUnit("", 1e6)),
}


def rates_table(analysis: Analysis) -> Table | None:
    """Rates of each node and environment, a line each."""

    def node(row: Row) -> str:
        return str(row.series.at_value("node"))

    def cell(rows: list[Row]) -> Cell:
        if not rows:
            return Cell("–")
        return range_cell(rows[0].series.values.tolist(), _RATES[rows[0].series.metric][1])

    return pivot(
        sorted(
            analysis.rows_of(_CHECK, *_RATES),
            key=lambda row: (node(row), analysis.case(row).environment),
        ),
        [("node", node), ("environment", lambda row: name_cell(analysis.case(row).environment))],
        [across(_RATES, lambda row: row.series.metric, cell, lambda metric: _RATES[metric][0])],
        anchor="table-node-rates",
        title="What each node can do",
        note="Median of the launches, in brackets their least and greatest. All ranks of a node"
        " together; the clock is that of one core at work.",
    )


SECTION = Section(tables=(rates_table,))
