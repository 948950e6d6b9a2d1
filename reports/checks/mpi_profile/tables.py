# SPDX-License-Identifier: Apache-2.0
"""Tables of the MPI profile: calls of each case, and messages from rank to rank."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reports.analysis import Analysis
from reports.checks.mpi_profile.load import CaseProfile, case_profiles
from reports.checks.mpi_profile.totals import CallTotals, CaseTotals, case_totals, traffic
from reports.notation.units import ReadableUnit, bytes_text, decimals, fixed, percent, readable_unit
from reports.show.tables import MOST_ROWS, Cell, Column, Table, columns_of, slug

#: Pairs of ranks in the table of messages; larger cases have too many to read.
MOST_PAIRS = 240


def profile_tables(analysis: Analysis, check: str) -> list[Table]:
    """The profile of one check; empty when none of its cases was profiled."""
    cases = analysis.run.plan.cases
    found = [item for item in case_profiles(analysis) if cases[item.case].check == check]
    if not found:
        return []
    order = {name: place for place, name in enumerate(analysis.looks)}
    found.sort(key=lambda item: (_label(analysis, item.case), order[cases[item.case].environment]))
    tables = [_calls_table(analysis, check, found), _traffic_table(analysis, check, found)]
    return [table for table in tables if table.rows]


def _label(analysis: Analysis, case: int) -> str:
    planned = analysis.run.plan.cases[case]
    return analysis.labels[planned.check].label(planned)


def _calls_table(analysis: Analysis, check: str, found: list[CaseProfile]) -> Table:
    columns = [
        Column("case"),
        Column("environment"),
        Column("MPI call"),
        *(
            Column(name, numeric=True)
            for name in (
                "calls",
                "message bytes",
                "time ± s",
                "of MPI time",
                "of the run",
                "longest call",
            )
        ),
        Column("messages up to"),
    ]
    rows: list[list[Cell]] = []
    groups = set()
    for profile in found:
        groups.add(len(rows))
        rows += _case_rows(analysis, case_totals(profile))
    note = (
        "Calls, bytes and time of one rank, mean over ranks and launches; s over launches."
        " The run: from the first MPI call to MPI_Finalize."
    )
    return Table(
        f"profile-{slug(check)}",
        "MPI profile",
        columns,
        rows[:MOST_ROWS],
        note,
        len(rows),
        frozenset(groups),
    )


def _case_rows(analysis: Analysis, totals: CaseTotals) -> list[list[Cell]]:
    case = analysis.run.plan.cases[totals.case]
    label, rows = _label(analysis, totals.case), []
    unit = readable_unit("s", [float(totals.mpi_s.mean())])
    for place, call in enumerate(totals.calls):
        head = [
            Cell(label, href=f"#case-{slug(case.id)}", quiet=place > 0),
            Cell(case.environment, environment=case.environment),
        ]
        rows.append([*head, *_call_cells(call, totals, unit)])
    return rows


def _call_cells(call: CallTotals, totals: CaseTotals, unit: ReadableUnit) -> list[Cell]:
    mean = float(call.seconds.mean())
    return [
        Cell(f"MPI_{call.call}"),
        Cell(_number(call.count)),
        Cell(_number(call.bytes) if call.sizes else "–"),
        _time_cell(call.seconds, unit),
        Cell(percent(mean / float(totals.mpi_s.mean()))),
        Cell(percent(mean / float(totals.elapsed_s.mean()))),
        Cell(
            f"{fixed(call.greatest_s * 1e6, 1)} µs",
            title=f"{call.greatest_s:.9g} s, the greatest of all launches and ranks",
        ),
        Cell(_sizes_text(call.sizes)),
    ]


def _time_cell(seconds: NDArray[np.float64], unit: ReadableUnit) -> Cell:
    mean = float(seconds.mean()) / unit.factor
    spread = float(seconds.std(ddof=1)) / unit.factor if len(seconds) > 1 else None
    places = decimals(mean, spread)
    text = fixed(mean, places) + (f" ± {fixed(spread, places)}" if spread is not None else "")
    title = f"n = {len(seconds)}, mean {mean * unit.factor:.9g} s"
    return Cell(f"{text} {unit.label}", title=title)


def _number(value: float) -> str:
    return fixed(value, 0 if value >= 100 or value == int(value) else 1)


def _sizes_text(sizes: dict[int, float]) -> str:
    """The three commonest classes of message sizes, ascending."""
    common = sorted(sorted(sizes, key=lambda size: -sizes[size])[:3])
    text = ", ".join(f"{bytes_text(size)}: {_number(sizes[size])}" for size in common)
    return text + (" …" if len(sizes) > len(common) else "")


def _traffic_table(analysis: Analysis, check: str, found: list[CaseProfile]) -> Table:
    columns = columns_of(
        ["case", "environment"], [*(name for name in ("from rank", "to rank", "messages", "bytes"))]
    )
    rows: list[list[Cell]] = []
    groups = set()
    for profile in found:
        case = analysis.run.plan.cases[profile.case]
        groups.add(len(rows))
        for place, ((source, target), (messages, size)) in enumerate(traffic(profile).items()):
            label = Cell(_label(analysis, profile.case), quiet=place > 0)
            environment = Cell(case.environment, environment=case.environment)
            numbers = (str(source), str(target), _number(messages), _number(size))
            rows.append([label, environment, *(Cell(text) for text in numbers)])
    return Table(
        f"profile-traffic-{slug(check)}",
        "Messages from rank to rank",
        columns,
        rows[:MOST_PAIRS],
        "What a launch sends by point-to-point calls; persistent requests and collectives not.",
        len(rows),
        frozenset(groups),
    )
