# SPDX-License-Identifier: Apache-2.0
"""Our echo against NetPIPE on the same nodes and library, and both against raw TCP."""

from __future__ import annotations

from reports.analysis import Analysis
from reports.node.values import ByBlock, by_block, echo_times, spread_cell, together
from reports.tables import Cell, Column, Table
from reports.units import bytes_text

#: Lengths of the comparison, in bytes.
SIZES = (1, 1024, 65536, 1048576)


def witness_table(analysis: Analysis) -> Table | None:
    """A line a length and environment: both half round trips and their ratio."""
    names = [
        name
        for name in analysis.looks
        if any(analysis.case(row).environment == name for row in analysis.rows_of("netpipe"))
    ]
    echoes = {name: echo_times(analysis, name) for name in names}
    rows: list[list[Cell]] = []
    starts: set[int] = set()
    for size in SIZES:
        starts.add(len(rows))
        rows += [_row(analysis, size, name, echoes[name].get(size, {})) for name in names]
    if not names:
        return None
    return Table(
        "table-netpipe-witness",
        "Our echo against NetPIPE",
        [
            Column("message", numeric=True),
            Column("environment"),
            Column("our echo, µs", numeric=True),
            Column("NetPIPE, µs", numeric=True),
            Column("echo / NetPIPE", numeric=True),
            Column("NetPIPE over raw TCP, µs", numeric=True),
            Column("echo / raw TCP", numeric=True),
        ],
        rows,
        "Median of the launches, in brackets least and greatest; a ratio pairs launches of one"
        " block. The echo's value is the median of its round trips, NetPIPE's the least of three"
        " means: a disturbance weighs more in NetPIPE's.",
        total=len(rows),
        groups=frozenset(starts),
    )


def _row(analysis: Analysis, size: int, name: str, echo: ByBlock) -> list[Cell]:
    library = _netpipe(analysis, name, size, "library")
    tcp = _netpipe(analysis, name, size, "tcp")
    return [
        Cell(bytes_text(size)),
        Cell(name, environment=name),
        *(spread_cell([t * 1e6 for t in times.values()], 2) for times in (echo, library)),
        spread_cell([ours / theirs for ours, theirs in together(echo, library)], 3),
        spread_cell([t * 1e6 for t in tcp.values()], 2),
        spread_cell([ours / theirs for ours, theirs in together(echo, tcp)], 3),
    ]


def _netpipe(analysis: Analysis, environment: str, size: int, transport: str) -> ByBlock:
    found: ByBlock = {}
    for row in analysis.rows_of("netpipe", "netpipe_half_round_trip"):
        case = analysis.case(row)
        between = case.params.get("placement", "between-nodes") == "between-nodes"
        if (
            case.environment == environment
            and case.params.get("transport") == transport
            and between
            and row.series.at_value("message_bytes") == size
        ):
            found.update(by_block(row))
    return found
