# SPDX-License-Identifier: Apache-2.0
"""Our echo against NetPIPE on the same nodes and library, and both against raw TCP."""

from __future__ import annotations

from reports.analysis import Analysis
from reports.checks.node.values import ByBlock, by_block, echo_times, spread_cell, together
from reports.notation.units import bytes_text, fixed
from reports.show.tables import Cell, Column, Table
from reports.statistics.signed_rank import LEAST_N, paired_effect

#: Lengths of the comparison, in bytes.
SIZES = (1, 1024, 65536, 1048576)


#: What carries the messages: the environment's library, or TCP without it.
TRANSPORTS = {"library": "library", "tcp": "TCP alone"}
_HEADINGS = (
    "our echo, µs",
    "NetPIPE, µs",
    "echo / NetPIPE",
    "95 % interval",
    "echo / echo over TCP alone",
)


def witness_table(analysis: Analysis) -> Table | None:
    """A line a length, transport and environment: both half round trips and their ratio."""
    names = [
        name
        for name in analysis.looks
        if any(analysis.case(row).environment == name for row in analysis.rows_of("netpipe"))
    ]
    if not names:
        return None
    pairs = {
        (name, transport): (
            echo_times(analysis, name, transport),
            _netpipe(analysis, name, transport),
        )
        for transport in TRANSPORTS
        for name in names
    }
    rows: list[list[Cell]] = []
    starts: set[int] = set()
    for size in SIZES:
        starts.add(len(rows))
        for (name, transport), (echo, netpipe) in pairs.items():
            alone = pairs[name, "tcp"][0].get(size, {}) if transport == "library" else {}
            cells = _cells(echo.get(size, {}), netpipe.get(size, {}), alone)
            if transport == "library" or echo or netpipe:
                lead = [Cell(bytes_text(size)), Cell(name, environment=name)]
                rows.append([*lead, Cell(TRANSPORTS[transport]), *cells])
    return Table(
        "table-netpipe-witness",
        "Our echo against NetPIPE",
        [
            Column("message", numeric=True),
            Column("environment"),
            Column("carried by"),
            *(Column(heading, numeric=True) for heading in _HEADINGS),
        ],
        rows,
        "Median of the launches, in brackets least and greatest; a ratio pairs launches of one"
        " block, its interval is that of Hodges and Lehmann's estimate. The echo's value is the"
        " median of its round trips, NetPIPE's the least of three means: a disturbance weighs more"
        " there. PVM's echo is that of InPlace by the direct route, as NetPIPE's.",
        total=len(rows),
        groups=frozenset(starts),
    )


def _cells(echo: ByBlock, netpipe: ByBlock, alone: ByBlock) -> list[Cell]:
    pairs = together(echo, netpipe)
    return [
        *(spread_cell([t * 1e6 for t in times.values()], 2) for times in (echo, netpipe)),
        spread_cell([ours / theirs for ours, theirs in pairs], 3),
        ratio_interval_cell(pairs),
        spread_cell([whole / part for whole, part in together(echo, alone)], 3),
    ]


def ratio_interval_cell(pairs: list[tuple[float, float]]) -> Cell:
    """Where the ratio lies, from the launches' scatter; too few of them tell nothing."""
    if len(pairs) < LEAST_N:
        return Cell("–", title=f"an interval needs {LEAST_N} launches of each, not {len(pairs)}")
    effect = paired_effect(*zip(*pairs, strict=True))
    low, high = (fixed(end, 3) for end in (effect.interval.low, effect.interval.high))
    title = f"{effect.interval.level:.1%} interval of n = {effect.n}: about {effect.ratio:.3f}"
    return Cell(f"{low} … {high}", title=title)


def _netpipe(analysis: Analysis, environment: str, transport: str) -> dict[int, ByBlock]:
    found: dict[int, ByBlock] = {}
    for row in analysis.rows_of("netpipe", "netpipe_half_round_trip"):
        case = analysis.case(row)
        between = case.params.get("placement", "between-nodes") == "between-nodes"
        here = case.environment == environment and case.params.get("transport") == transport
        if between and here:
            size = int(row.series.at_value("message_bytes") or 0)
            found.setdefault(size, {}).update(by_block(row))
    return found
