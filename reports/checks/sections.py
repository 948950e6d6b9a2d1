# SPDX-License-Identifier: Apache-2.0
"""The section of each check, found by name, here or in a plugin; else the generic one. Here those
that need little of their own: messages, start-up, HPL, nodes."""

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec

from records.plugins import folders, hooks
from records.units import axis_of
from reports.analysis.run import Analysis, Row
from reports.checks.common import latency_and_bandwidth, over
from reports.notation.labels import value_text
from reports.notation.units import ReadableUnit, count_text
from reports.show.lines import BY_LENGTH, lines_picture
from reports.show.panel import Picture
from reports.show.rows import message_bytes, name_cell, range_cell
from reports.show.section import Section, generic_section, metric_picture, statistics_tables
from reports.show.tables import Cell, Table, across, pivot, slug

_PT2PT = ("half_round_trip", "bandwidth")
#: Panels of a picture: the operations of a campaign with a variant or two.
MOST_PANELS = 16
#: Times of a start.
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
    "pt2pt": Section(pictures=(latency_and_bandwidth("pt2pt", *_PT2PT),)),
    "collectives": Section(pictures=(against_length,)),
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
        )
    ),
    "node": Section(tables=(rates_table,)),
}


@dataclass(frozen=True, slots=True)
class CheckPart:
    """Part of a report that shows a check; `constant` is what all its cases have in common."""

    check: str
    anchor: str
    title: str
    constant: str
    pictures: list[Picture]
    tables: list[Table]


def check_parts(analysis: Analysis, *, pictures: bool = True) -> list[CheckPart]:
    """The parts of all checks in the order of the plan."""
    return [_part(analysis, check, pictures=pictures) for check in analysis.checks]


def own_section(check: str) -> Section | None:
    """The section of a check, or the `SECTION` of the module of its name, here or in a plugin."""
    if check in SECTIONS or not check.isidentifier():
        return SECTIONS.get(check)
    names = (f"{package}.{check}" for package in (__package__, *folders("sections")))
    name = next((name for name in names if find_spec(name)), "")
    return getattr(import_module(name), "SECTION", None) if name else None


def _part(analysis: Analysis, check: str, *, pictures: bool) -> CheckPart:
    section = own_section(check) or generic_section(analysis, check)
    drawn: list[Picture] = []
    further = [make(analysis, check) for make in hooks("check_parts")]
    if pictures:
        drawn = [picture for make in section.pictures if (picture := make(analysis))]
        known = analysis.register.checks.get(check)
        if not drawn and known and known.shown in analysis.metrics_of(check):
            made = metric_picture(analysis, check, known.shown, None)
            drawn = [made] if made else []
        drawn += [picture for pictures_of, _ in further for picture in pictures_of()]
    tables = [table for make in section.tables if (table := make(analysis))]
    tables += [table for _, tables_of in further for table in tables_of()]
    tables += statistics_tables(analysis, check)
    constant = ", ".join(
        f"{name} {value_text(value)}"
        for name, value in sorted(analysis.labels[check].constant.items())
        if not axis_of(name).lists
    )
    return CheckPart(
        check,
        slug(check),
        analysis.register.check_title(check),
        f"The same for all cases: {constant}." if constant else "",
        drawn,
        tables,
    )
