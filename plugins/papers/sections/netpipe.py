# SPDX-License-Identifier: Apache-2.0
"""Our echo against NetPIPE on the same nodes and library, and both against raw TCP."""

from collections.abc import Iterable
from itertools import chain

from plugins.papers import paired
from plugins.papers.run_values import SINCE
from reports.analysis.run import Analysis, Row
from reports.checks import common as blocks
from reports.checks.common import latency_and_bandwidth
from reports.notation.units import ReadableUnit, bytes_text
from reports.show.rows import measured_in, message_bytes, name_cell, range_cell
from reports.show.section import Section
from reports.show.tables import Cell, Table, numeric, pivot

#: Lengths of the comparison, in bytes.
SIZES = (1, 1024, 65536, 1048576)
#: What carries the messages: the environment's library, or TCP without it.
TRANSPORTS = {"library": "library", "tcp": "TCP alone"}
_COMPARED = numeric(
    *("our echo, µs", "NetPIPE, µs", "echo / NetPIPE", "95 % interval"),
    "echo / echo over TCP alone",
)


def comparison_table(analysis: Analysis) -> Table | None:
    """A line a length, transport and environment: both half round trips and their ratio."""
    pairs = {
        (name, transport): [
            times(analysis, name, transport) for times in (our_times, netpipe_times)
        ]
        for transport in TRANSPORTS
        for name in measured_in(analysis, analysis.rows_of("netpipe"))
    }

    def cells(line: list[tuple[int, str, str]]) -> list[Cell]:
        size, name, transport = line[0]
        echo, netpipe = (times.get(size, {}) for times in pairs[name, transport])
        alone = pairs[name, "tcp"][0].get(size, {}) if transport == "library" else {}
        return [
            *paired.compared_cells(echo, netpipe, ReadableUnit("µs", 1e-6)),
            range_cell(whole / part for whole, part in paired.together(echo, alone)),
        ]

    return pivot(
        (
            (size, name, transport)
            for size in SIZES
            for (name, transport), found in pairs.items()
            if transport == "library" or any(found)
        ),
        [
            (numeric("message"), lambda line: bytes_text(line[0])),
            ("environment", lambda line: name_cell(line[1])),
            ("carried by", lambda line: TRANSPORTS[line[2]]),
        ],
        [(_COMPARED, cells)],
        anchor="table-netpipe-witness",
        title="Our echo against NetPIPE",
        note="Median of the launches, in brackets least and greatest; a ratio pairs launches of one"
        " block, its interval is that of Hodges and Lehmann's estimate. The echo's value is the"
        " median of its round trips, NetPIPE's the least of three means: a disturbance weighs more"
        " there. PVM's echo is that of InPlace by the direct route, as NetPIPE's.",
    )


def our_times(analysis: Analysis, environment: str, transport: str) -> dict[int, blocks.ByBlock]:
    """Our half round trips in s between two nodes, by message length and block."""
    if transport == "library":
        return blocks.echo_times(analysis, environment)
    near = {"placement": "between-nodes"}
    rows = (blocks.rows_where(analysis, one, "half_round_trip", near) for one in SINCE["echo"])
    by_it = (row for row in chain(*rows) if analysis.case(row).params.get("transport") == transport)
    return _of(analysis, environment, by_it)


def netpipe_times(
    analysis: Analysis, environment: str, transport: str
) -> dict[int, blocks.ByBlock]:
    """NetPIPE's half round trips in s between two nodes, by message length and block."""
    asked = {"placement": "between-nodes", "transport": transport}
    rows = blocks.rows_where(analysis, "netpipe", "netpipe_half_round_trip", asked)
    return _of(analysis, environment, rows)


def _of(analysis: Analysis, environment: str, rows: Iterable[Row]) -> dict[int, blocks.ByBlock]:
    mine = (row for row in rows if analysis.case(row).environment == environment)
    return blocks.by_block(mine, message_bytes)


SECTION = Section(
    pictures=(latency_and_bandwidth("netpipe", "netpipe_half_round_trip", "netpipe_bandwidth"),),
    tables=(comparison_table,),
)
