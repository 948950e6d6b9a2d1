# SPDX-License-Identifier: Apache-2.0
"""Tables of the lattice program: wall, CPU and communication time; scaling."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from reports.analysis import Analysis, flags_of
from reports.checks.common.cells import name_cell
from reports.checks.su3_rmd.cases import (
    CHECK,
    LAYOUT,
    LatticeCase,
    lattice_cases,
    strong_series,
    weak_series,
)
from reports.notation.units import ReadableUnit, fixed, percent, readable_unit
from reports.show.rows import value_cell
from reports.show.tables import Cell, Column, Lead, Table, Value, pivot, slug


def overview(analysis: Analysis) -> Table | None:
    """Every case: program, launch and CPU time, share of communication, rate."""
    return _table(
        analysis,
        lattice_cases(analysis),
        [
            ("program time ± s", _value("program_time")),
            ("wall time of the launch ± s", _value("launch")),
            ("CPU time of the fullest rank ± s", _value("rank_cpu_time")),
            ("communication ± s, %", _value("communication_share", ReadableUnit("", 0.01))),
            ("rate ± s, Gflop/s", _value("rate", ReadableUnit("", 1e9))),
            ("time a site and step, µs", _value("site_step_time", ReadableUnit("", 1e-6))),
        ],
        anchor="su3-overview",
        title="Wall, CPU and communication time",
        note="Rates count the operations of the original's table (17112 flop a site and step). The"
        " share of communication is that of halos and global sums in the program time, mean over"
        " ranks.",
    )


def _table(  # noqa: PLR0917
    analysis: Analysis,
    cases: Sequence[LatticeCase],
    cell: Sequence[Value[LatticeCase]],
    anchor: str,
    title: str,
    note: str,
    group: int = 0,
) -> Table | None:
    """A line for each case: lattice, settings, ranks, environment, then `cell`."""

    def settings(item: LatticeCase) -> str:
        return ", ".join(analysis.labels[CHECK].parts(item.case, LAYOUT)) or "–"

    def environment(item: LatticeCase) -> Cell:
        return name_cell(item.case.environment, flags_of(item.rows.values()))

    by: list[Lead[LatticeCase]] = [
        ("lattice", lambda item: Cell(item.lattice, href=f"#case-{slug(item.case.id)}")),
        ("settings", settings),
        (Column("ranks", numeric=True), lambda item: str(item.case.ranks)),
        ("environment", environment),
    ]
    return pivot(cases, by, cell, anchor=anchor, title=title, note=note, group=group)


def _value(metric: str, unit: ReadableUnit | None = None) -> Callable[[list[LatticeCase]], Cell]:
    """Mean ± s of a metric; without a unit in one that suits the time, and with its name."""

    def cell(items: list[LatticeCase]) -> Cell:
        rows = [item.rows[metric] for item in items if metric in item.rows]
        chosen = unit or readable_unit("s", [row.summary.mean for row in rows])
        return value_cell(rows, chosen, label=unit is None)

    return cell


def strong_scaling(analysis: Analysis) -> Table | None:
    """One lattice over more and more ranks: speed-up and efficiency over the fewest ranks."""
    first = {item: series[0] for series in strong_series(analysis) for item in series}

    def speed_up(item: LatticeCase) -> float:
        return first[item].time_s / item.time_s

    return _table(
        analysis,
        list(first),
        [
            ("program time ± s", _value("program_time")),
            ("speed-up", lambda items: fixed(speed_up(items[0]), 2)),
            (
                "efficiency",
                lambda items: percent(
                    speed_up(items[0]) * first[items[0]].case.ranks / items[0].case.ranks
                ),
            ),
        ],
        anchor="su3-strong",
        title="Strong scaling",
        note="Speed-up: time on the fewest ranks over this one. Efficiency: that over their ratio.",
        group=2,
    )


def weak_scaling(analysis: Analysis) -> Table | None:
    """As many sites a rank on more and more ranks: efficiency is the first time over this one."""
    first = {item: series[0] for series in weak_series(analysis) for item in series}
    return _table(
        analysis,
        list(first),
        [
            ("program time ± s", _value("program_time")),
            ("sites a rank", lambda items: fixed(items[0].sites / items[0].case.ranks, 0)),
            ("efficiency", lambda items: percent(first[items[0]].time_s / items[0].time_s)),
        ],
        anchor="su3-weak",
        title="Weak scaling",
        note="Efficiency: time on the fewest ranks over time on these, each rank with as many"
        " sites.",
    )
