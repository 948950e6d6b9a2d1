# SPDX-License-Identifier: Apache-2.0
"""Tables of the MPI profile: calls of each case, and messages from rank to rank."""

from __future__ import annotations

from reports.analysis import Analysis
from reports.notation.units import bytes_text, fixed, percent, readable_unit
from reports.notation.values import with_spread
from reports.show.mpi_profile.totals import (
    CallTotals,
    CaseProfile,
    CaseTotals,
    case_profiles,
    case_totals,
    traffic,
)
from reports.show.tables import Cell, Column, Heading, Table, pivot, slug
from reports.statistics.descriptive import summarise

#: Pairs of ranks in the table of messages; larger cases have too many to read.
MOST_PAIRS = 240


#: Case in words and environment of a line.
_Lead = tuple[Cell, Cell]


def profile_tables(analysis: Analysis, check: str) -> list[Table]:
    """The profile of one check; empty when none of its cases was profiled."""
    cases, order = analysis.run.plan.cases, list(analysis.looks)
    found = []
    for profile in case_profiles(analysis):
        case = cases[profile.case]
        if case.check == check:
            label = Cell(analysis.labels[check].label(case), href=f"#case-{slug(case.id)}")
            found.append(((label, Cell(case.environment, environment=case.environment)), profile))
    found.sort(key=lambda one: (one[0][0].text, order.index(one[0][1].text)))
    tables = (_calls_table(check, found), _traffic_table(check, found))
    return [table for table in tables if table is not None]


def _calls_table(check: str, found: list[tuple[_Lead, CaseProfile]]) -> Table | None:
    totalled = [(lead, case_totals(profile)) for lead, profile in found]
    lines = [(*lead, call, totals) for lead, totals in totalled for call in totals.calls]

    def numbers(line: list[tuple[Cell, Cell, CallTotals, CaseTotals]]) -> list[str | Cell]:
        _, _, call, totals = line[0]
        time = summarise(call.seconds.tolist())
        unit = readable_unit("s", [time.mean])
        longest = f"{call.greatest_s:.9g} s, the greatest of all launches and ranks"
        common = sorted(sorted(call.sizes, key=lambda size: -call.sizes[size])[:3])
        sizes = ", ".join(f"{bytes_text(size)}: {_number(call.sizes[size])}" for size in common)
        return [
            _number(call.count),
            _number(call.bytes) if call.sizes else "–",
            Cell(
                f"{with_spread(time.mean, time.stddev, unit)} {unit.label}",
                title=f"n = {time.n}, mean {time.mean:.9g} s",
            ),
            percent(time.mean / float(totals.mpi_s.mean())),
            percent(time.mean / float(totals.elapsed_s.mean())),
            Cell(f"{fixed(call.greatest_s * 1e6, 1)} µs", title=longest),
            sizes + (" …" if len(call.sizes) > len(common) else ""),
        ]

    names = ("calls", "message bytes", "time ± s", "of MPI time", "of the run", "longest call")
    headings: list[Heading] = [*names, Column("messages up to")]
    return pivot(
        lines,
        [
            ("case", lambda line: line[0]),
            ("environment", lambda line: line[1]),
            ("MPI call", lambda line: f"MPI_{line[2].call}"),
        ],
        [(headings, numbers)],
        anchor=f"profile-{slug(check)}",
        title="MPI profile",
        note="Calls, bytes and time of one rank, mean over ranks and launches; s over launches."
        " The run: from the first MPI call to MPI_Finalize.",
        group=2,
    )


def _number(value: float) -> str:
    return fixed(value, 0 if value >= 100 or value == int(value) else 1)


def _traffic_table(check: str, found: list[tuple[_Lead, CaseProfile]]) -> Table | None:
    lines = [
        (*lead, pair, sent) for lead, profile in found for pair, sent in traffic(profile).items()
    ]
    return pivot(
        lines[:MOST_PAIRS],
        [
            ("case", lambda line: line[0]),
            ("environment", lambda line: line[1]),
            (Column("from rank", numeric=True), lambda line: str(line[2][0])),
            (Column("to rank", numeric=True), lambda line: str(line[2][1])),
        ],
        [(["messages", "bytes"], lambda line: [_number(value) for value in line[0][3]])],
        anchor=f"profile-traffic-{slug(check)}",
        title="Messages from rank to rank",
        note="What a launch sends by point-to-point calls, without persistent requests and"
        " collectives.",
        group=2,
        total=len(lines),
    )
