# SPDX-License-Identifier: Apache-2.0
"""Nodes in tables: rates of each, balance of messages and computing."""

from __future__ import annotations

from reports.analysis.run import Analysis, Row
from reports.checks.common.blocks import (
    ByBlock,
    echo_times,
    median_by_block,
    rows_where,
    together,
)
from reports.notation.units import ReadableUnit
from reports.show.rows import measured_in, name_cell, range_cell
from reports.show.section import Section
from reports.show.tables import Cell, Table, across, numeric, pivot

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
_SPREAD = "Median of the launches, in brackets their least and greatest."
_BALANCE = numeric(
    "LINPACK 100, operations a cycle",
    "LINPACK 1000, operations a cycle",
    "latency, µs",
    "latency in cycles",
    "operations lost in a latency (LINPACK 100)",
    "8-byte transfer over 8-byte multiplication",
)


def over_nodes(analysis: Analysis, environment: str, metric: str, **at: str) -> ByBlock:
    """The median over nodes of a node metric, by block, at the point `at`."""
    rows = rows_where(analysis, _CHECK, metric, {}, **at)
    return median_by_block(row for row in rows if analysis.case(row).environment == environment)


def rates_table(analysis: Analysis) -> Table | None:
    """A line a node and environment: what it can do."""

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
        note=f"{_SPREAD} All ranks of a node together; the clock is that of one core at work.",
    )


def balance_table(analysis: Analysis) -> Table | None:
    """Operations a cycle, and what a message costs in cycles, operations and multiplications."""

    def cells(line: list[str]) -> list[Cell]:
        def over(metric: str, **at: str) -> ByBlock:
            return over_nodes(analysis, line[0], metric, **at)

        times = echo_times(analysis, line[0])
        latency: ByBlock = times[min(times)] if times else {}
        multiply = over("operation_time", operand="real64", operation="*")
        clock, rate = over("core_clock"), over("linpack_100_rate")
        return [
            range_cell(over("operations_per_cycle", kernel="linpack_100").values()),
            range_cell(over("operations_per_cycle", kernel="linpack_1000").values()),
            range_cell(latency.values(), ReadableUnit("µs", 1e-6)),
            range_cell(t * c for t, c in together(latency, clock)),
            range_cell(t * r for t, r in together(latency, rate)),
            range_cell(t / m for t, m in together(times.get(8, {}), multiply)),
        ]

    return pivot(
        measured_in(analysis, analysis.rows_of(_CHECK, "core_clock")),
        [("environment", name_cell)],
        [(_BALANCE, cells)],
        anchor="table-node-balance",
        title="Messages against computing",
        note=f"{_SPREAD} Latency: one-way time of the shortest message between two nodes;"
        " launches of one block are paired. The last column is the ratio of communication to"
        " computation of 1988 (there 19 to 59; ORNL/TM-10881, table 12), the columns before are"
        " those of Dongarra and Dunigan 1996 (ORNL/TM-13006, table 3.1).",
    )


SECTION = Section(tables=(rates_table, balance_table))
