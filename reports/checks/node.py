# SPDX-License-Identifier: Apache-2.0
"""Nodes in tables: rates of each, balance of messages and computing."""

from __future__ import annotations

from reports.analysis import Analysis, Row
from reports.checks.common.cells import name_cell
from reports.checks.common.echo_times import ByBlock, echo_times, median_by_block, together
from reports.notation.units import ReadableUnit
from reports.show.rows import measured_in, range_cell
from reports.show.section import Section
from reports.show.tables import Cell, Heading, Table, across, pivot

_CHECK = "node"
#: Columns of the rates: metric, heading, SI units in one of the heading's.
_RATES = (
    ("stream_copy", "STREAM copy, GB/s", 1e9),
    ("stream_triad", "STREAM triad, GB/s", 1e9),
    ("dgemm_rate", "DGEMM, Gflop/s", 1e9),
    ("node_hpl_rate", "one-node HPL, Gflop/s", 1e9),
    ("linpack_1000_rate", "LINPACK 1000, Gflop/s", 1e9),
    ("linpack_100_rate", "LINPACK 100, Gflop/s", 1e9),
    ("core_clock", "clock, GHz", 1e9),
    ("allocatable_memory", "memory got, MB", 1e6),
)
_SPREAD = "Median of the launches, in brackets their least and greatest."


def over_nodes(analysis: Analysis, environment: str, metric: str, **at: str) -> ByBlock:
    """The median over nodes of a node metric, by block, at the point `at`."""
    return median_by_block(
        row
        for row in analysis.rows_of(_CHECK, metric)
        if analysis.case(row).environment == environment
        and all(row.series.at_value(name) == value for name, value in at.items())
    )


def rates_table(analysis: Analysis) -> Table | None:
    """A line a node and environment: what it can do."""
    headings = {metric: heading for metric, heading, _ in _RATES}
    units = {metric: ReadableUnit("", factor) for metric, _, factor in _RATES}

    def cell(rows: list[Row]) -> Cell:
        if not rows:
            return Cell("–")
        return range_cell(rows[0].series.values.tolist(), units[rows[0].series.metric])

    return pivot(
        sorted(
            analysis.rows_of(_CHECK, *headings),
            key=lambda row: (str(row.series.at_value("node")), analysis.case(row).environment),
        ),
        [
            ("node", lambda row: str(row.series.at_value("node"))),
            ("environment", lambda row: name_cell(analysis.case(row).environment)),
        ],
        [across(headings, lambda row: row.series.metric, cell, headings.__getitem__)],
        anchor="table-node-rates",
        title="What each node can do",
        note=f"{_SPREAD} All ranks of a node together; the clock is that of one core at work.",
    )


_BALANCE: list[Heading] = [
    "LINPACK 100, operations a cycle",
    "LINPACK 1000, operations a cycle",
    "latency, µs",
    "latency in cycles",
    "operations lost in a latency (LINPACK 100)",
    "8-byte transfer over 8-byte multiplication",
]


def balance_table(analysis: Analysis) -> Table | None:
    """Operations a cycle, and what a message costs in cycles, operations and multiplications."""
    names = measured_in(analysis, analysis.rows_of(_CHECK, "core_clock"))
    return pivot(
        names,
        [("environment", name_cell)],
        [(_BALANCE, lambda line: _balance(analysis, line[0]))],
        anchor="table-node-balance",
        title="Messages against computing",
        note=f"{_SPREAD} Latency: half round trip of the shortest message between two nodes;"
        " launches of one block are paired. The last column is the ratio of communication to"
        " computation of 1988 (there 19 to 59; ORNL/TM-10881, table 12), the columns before are"
        " those of Dongarra and Dunigan 1996 (ORNL/TM-13006, table 3.1).",
    )


def _balance(analysis: Analysis, name: str) -> list[Cell]:
    clock = over_nodes(analysis, name, "core_clock")
    rate = over_nodes(analysis, name, "linpack_100_rate")
    multiply = over_nodes(analysis, name, "operation_time", operand="real64", operation="*")
    times = echo_times(analysis, name)
    latency: ByBlock = times[min(times)] if times else {}
    per_cycle = (
        over_nodes(analysis, name, "operations_per_cycle", kernel=kernel).values()
        for kernel in ("linpack_100", "linpack_1000")
    )
    return [
        *(range_cell(values) for values in per_cycle),
        range_cell(latency.values(), ReadableUnit("µs", 1e-6)),
        range_cell(t * c for t, c in together(latency, clock)),
        range_cell(t * r for t, r in together(latency, rate)),
        range_cell(t / m for t, m in together(times.get(8, {}), multiply)),
    ]


SECTION = Section(tables=(rates_table, balance_table))
