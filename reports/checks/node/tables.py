# SPDX-License-Identifier: Apache-2.0
"""Nodes in tables: rates of each, times of operations beside 1988's, balance after 1988 and 1996.

T. H. Dunigan, ORNL/TM-10881, 1988, tables 3, 4 and 12; J. J. Dongarra and T. H. Dunigan,
ORNL/TM-13006, 1996, table 3.1.
"""

from __future__ import annotations

from reports.analysis import Analysis, Row
from reports.checks.node.values import (
    ByBlock,
    by_block,
    echo_times,
    over_nodes,
    scaled,
    spread_cell,
    together,
)
from reports.show.tables import Cell, Column, Table
from reports.studies.hypercubes_1988 import MACHINES, operation_us, synthetic_s
from reports.studies.ornl_1996 import balances

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
_SYNTHETIC = {
    "sieve": "sieve_time",
    "dhrystone": "dhrystone_time",
    "floatmath": "floatmath_time",
    "whetstone": "whetstone_time",
}
_COLUMNS_1996 = (
    "linpack100_ops_per_cycle",
    "linpack1000_ops_per_cycle",
    "latency_us",
    "latency_cycles",
    "lost",
)
_SPREAD = "Median of the launches, in brackets their least and greatest."


def rates_table(analysis: Analysis) -> Table | None:
    """A line a node and environment: what it can do."""
    found: dict[tuple[str, str], dict[str, Row]] = {}
    for row in analysis.rows_of(_CHECK, *(metric for metric, _, _ in _RATES)):
        key = (str(row.series.at_value("node")), analysis.case(row).environment)
        found.setdefault(key, {})[row.series.metric] = row
    if not found:
        return None
    rows = [
        [
            Cell(node),
            Cell(environment, environment=environment),
            *(_rate_cell(metrics.get(metric), factor) for metric, _, factor in _RATES),
        ]
        for (node, environment), metrics in sorted(found.items())
    ]
    return Table(
        "table-node-rates",
        "What each node can do",
        [Column("node"), Column("environment"), *(Column(h, numeric=True) for _, h, _ in _RATES)],
        rows,
        f"{_SPREAD} All ranks of a node together; the clock is that of one core at work.",
        total=len(rows),
    )


def _rate_cell(row: Row | None, factor: float) -> Cell:
    return spread_cell(scaled(by_block(row), factor), 2, row.unit) if row else Cell("–")


def operations_table(analysis: Analysis) -> Table | None:
    """Times of single operations today, and of 1988's machines."""
    points = sorted(
        {
            (str(row.series.at_value("operand")), str(row.series.at_value("operation")))
            for row in analysis.rows_of(_CHECK, "operation_time")
        },
        key=lambda point: (point[1], point[0]),
    )
    if not points:
        return None
    names = _environments(analysis, "operation_time")
    rows = [
        [
            Cell(f"{operand} {operation}"),
            *(
                spread_cell(
                    scaled(
                        over_nodes(
                            analysis, name, "operation_time", operand=operand, operation=operation
                        ),
                        1e-9,
                    ),
                    3,
                )
                for name in names
            ),
            *(Cell(operation_us(operand, operation, machine)) for machine in MACHINES),
        ]
        for operand, operation in points
    ]
    columns = [
        Column("operation"),
        *(Column("today, ns", numeric=True, environment=name) for name in names),
        *(Column(f"{machine}, µs", numeric=True) for machine in MACHINES),
    ]
    note = (
        f"{_SPREAD} Median over the nodes. Today each operation waits for the one before; in 1988"
        " an operation and its assignment, less the loop (ORNL/TM-10881, table 3)."
    )
    return Table("table-node-operations", "Times of operations", columns, rows, note, len(rows))


def synthetic_table(analysis: Analysis) -> Table | None:
    """Sieve, Dhrystone, floatmath and Whetstone today, and on 1988's machines."""
    names = _environments(analysis, *_SYNTHETIC.values())
    if not names:
        return None
    rows = [
        [
            Cell(test),
            *(spread_cell(scaled(over_nodes(analysis, name, metric), 1e-3), 3) for name in names),
            *(Cell(synthetic_s(test, machine)) for machine in MACHINES),
        ]
        for test, metric in _SYNTHETIC.items()
    ]
    columns = [
        Column("test"),
        *(Column("today, ms", numeric=True, environment=name) for name in names),
        *(Column(f"{machine}, s", numeric=True) for machine in MACHINES),
    ]
    note = (
        f"{_SPREAD} 100 sieves of 1 to 8190, 50 000 Dhrystones, 256 000 repetitions of four"
        " operations, one million Whetstone instructions (ORNL/TM-10881, table 4; which operations"
        " its floatmath did is not told)."
    )
    return Table("table-node-synthetic", "Synthetic tests", columns, rows, note, len(rows))


def balance_table(analysis: Analysis) -> Table | None:
    """Operations a cycle, and what a message costs in cycles, operations and multiplications."""
    names = _environments(analysis, "core_clock")
    rows = [_balance_row(analysis, name) for name in names]
    rows += [
        [Cell(row["name"]), *(Cell(row[name] or "–") for name in _COLUMNS_1996), Cell("–")]
        for row in balances()
    ]
    if not names:
        return None
    return Table(
        "table-node-balance",
        "Messages against computing",
        [
            Column("machine"),
            *(
                Column(heading, numeric=True)
                for heading in (
                    "LINPACK 100, operations a cycle",
                    "LINPACK 1000, operations a cycle",
                    "latency, µs",
                    "latency in cycles",
                    "operations lost in a latency (LINPACK 100)",
                    "8-byte transfer over 8-byte multiplication",
                )
            ),
        ],
        rows,
        f"{_SPREAD} Latency: half round trip of the shortest message between two nodes; launches of"
        " one block are paired. Below: Dongarra and Dunigan 1996, table 3.1. The last column is the"
        " ratio of communication to computation of 1988 (there 19 to 59).",
        total=len(rows),
        groups=frozenset({len(names)}),
    )


def _balance_row(analysis: Analysis, name: str) -> list[Cell]:
    clock = over_nodes(analysis, name, "core_clock")
    rate = over_nodes(analysis, name, "linpack_100_rate")
    multiply = over_nodes(analysis, name, "operation_time", operand="real64", operation="*")
    times = echo_times(analysis, name)
    latency: ByBlock = times[min(times)] if times else {}
    per_cycle = [
        over_nodes(analysis, name, "operations_per_cycle", kernel=kernel)
        for kernel in ("linpack_100", "linpack_1000")
    ]
    return [
        Cell(name, environment=name),
        *(spread_cell(scaled(values, 1), 2) for values in per_cycle),
        spread_cell(scaled(latency, 1e-6), 2, "s"),
        spread_cell([t * c for t, c in together(latency, clock)], 0),
        spread_cell([t * r for t, r in together(latency, rate)], 0),
        spread_cell([t / m for t, m in together(times.get(8, {}), multiply)], 0),
    ]


def _environments(analysis: Analysis, *metrics: str) -> list[str]:
    measured = {analysis.case(row).environment for row in analysis.rows_of(_CHECK, *metrics)}
    return [name for name in analysis.looks if name in measured]
