# SPDX-License-Identifier: Apache-2.0
"""Sections of checks that need little of their own: messages, OSU's suite, start-up, HPL, nodes."""

from __future__ import annotations

from dataclasses import replace

from reports.analysis.run import Analysis, Row
from reports.checks.common import latency_and_bandwidth, over
from reports.notation.units import ReadableUnit, count_text
from reports.show.lines import BY_LENGTH, grid_of, lines_picture
from reports.show.panel import Axis, Picture
from reports.show.rows import message_bytes, name_cell, range_cell
from reports.show.section import Section, side_by_side_table
from reports.show.tables import MOST_ROWS, Cell, Table, across, pivot

_PT2PT = ("half_round_trip", "bandwidth")
#: Lines of the tables of all constructs together.
MOST_LINES = 2400
#: Panels of a picture: the operations of a campaign with a variant or two.
MOST_PANELS = 16
#: Metrics that OSU's suite is read by, and times of a start.
_OSU = ("osu_message_rate", "osu_bandwidth", "osu_latency", "osu_init_mean")
_STARTUP = (
    *("whole_start", "first_instruction", "init", "all_heard", "launch"),
    *("daemon_boot", "daemon_halt"),
)
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


def sizes_tables(analysis: Analysis) -> list[Table]:
    """Each metric of each construct: lengths down, environments side by side."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in analysis.rows_of("pt2pt", *_PT2PT):
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


def osu_tables(analysis: Analysis) -> list[Table]:
    """Each quantity that a benchmark of OSU's is read by, environments side by side."""
    made = (side_by_side_table(analysis, "osu", metric) for metric in _OSU)
    return [table for table in made if table is not None]


def against_length(analysis: Analysis) -> Picture | None:
    """Time against message length at the greatest process count, one panel an operation."""
    every = analysis.rows_of("collectives", "collective_time")
    rows = [row for row in every if row.series.at_value("operation") != "barrier"]
    greatest = max((analysis.case(row).ranks for row in rows), default=0)
    rows = [row for row in rows if analysis.case(row).ranks == greatest]
    return lines_picture(
        analysis,
        rows,
        message_bytes,
        BY_LENGTH,
        without=("message_bytes", "ranks"),
        anchor="picture-collective-length",
        title="Time of collective operations against message length,"
        f" {count_text(greatest, 'process')}",
        caption="Message length per pair of processes.",
        log_y=True,
        most=MOST_PANELS,
    )


def rate_against_grid(analysis: Analysis) -> Picture | None:
    """Rate against the process grid, one panel an N."""
    rows = analysis.rows_of("hpl", "rate")
    grids = {grid_of(analysis.case(row).params) for row in rows}
    order = sorted(grids, key=lambda grid: (grid[0] * grid[1], grid))
    if len(order) < 2:
        return None
    return lines_picture(
        analysis,
        rows,
        lambda row: float(order.index(grid_of(analysis.case(row).params))),
        Axis(
            "process grid P × Q",
            ticks={float(index): f"{p} × {q}" for index, (p, q) in enumerate(order)},
        ),
        without=("p", "q"),
        anchor="picture-hpl-grid",
        title="HPL rate against process grid",
        caption="One panel for each N; grids by number of ranks.",
    )


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
            analysis.rows_of("node", *_RATES),
            key=lambda row: (node(row), analysis.case(row).environment),
        ),
        [("node", node), ("environment", lambda row: name_cell(analysis.case(row).environment))],
        [across(_RATES, lambda row: row.series.metric, cell, lambda metric: _RATES[metric][0])],
        anchor="table-node-rates",
        title="What each node can do",
        note="Median of the launches, in brackets their least and greatest. All ranks of a node"
        " together; the clock is that of one core at work.",
    )


SECTIONS = {
    "echo": Section(pictures=(latency_and_bandwidth("echo", *_PT2PT),)),
    "pt2pt": Section(pictures=(latency_and_bandwidth("pt2pt", *_PT2PT),), statistics=sizes_tables),
    "collectives": Section(pictures=(against_length,)),
    "osu": Section(statistics=osu_tables),
    "startup": Section(
        pictures=(
            over(
                "startup",
                _STARTUP,
                "ranks",
                "ranks",
                anchor="picture-startup",
                title="Start-up against ranks",
                from_zero=True,
                caption="Times from the start of the launcher (MPI_Init: its own time); daemon boot"
                " and halt are part of the whole start, not of the launch.",
            ),
        )
    ),
    "hpl": Section(
        pictures=(
            over(
                "hpl",
                ["rate"],
                "n",
                "matrix order N",
                anchor="picture-hpl-n",
                title="HPL rate against N",
                caption="One panel for each process grid.",
                least=2,
            ),
            rate_against_grid,
        )
    ),
    "node": Section(tables=(rates_table,)),
}
