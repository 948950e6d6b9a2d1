# SPDX-License-Identifier: Apache-2.0
"""Tables of the lattice program: wall, CPU and communication time; scaling; 2003 beside today."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from reports.analysis import Analysis, Row
from reports.checks.su3_rmd.cases import (
    CHECK,
    EXTENTS,
    LatticeCase,
    lattice_cases,
    strong_series,
    weak_series,
)
from reports.notation.units import ReadableUnit, decimals, fixed, percent, readable_unit, si_text
from reports.show.tables import Cell, Column, Table, slug
from reports.studies.wyeast_2003 import LIBRARIES, su3_rmd


def overview(analysis: Analysis) -> Table | None:
    """Every case: program, launch and CPU time, share of communication, rate."""
    cases = lattice_cases(analysis)
    if not cases:
        return None
    titles = (
        "program time ± s",
        "wall time of the launch ± s",
        "CPU time of the fullest rank ± s",
        "communication",
        "rate ± s, Gflop/s",
        "µs a site and step",
    )
    columns = [Column("lattice"), Column("settings"), Column("ranks", numeric=True)]
    columns += [Column("environment"), *(Column(title, numeric=True) for title in titles)]
    note = (
        "Rates count the operations of the original's table (17112 flop a site and step). The share"
        " of communication is that of halos and global sums in the program time, mean over ranks."
    )
    rows = [_overview_row(analysis, item) for item in cases]
    return Table("su3-overview", "Wall, CPU and communication time", columns, rows, note, len(rows))


def _overview_row(analysis: Analysis, item: LatticeCase) -> list[Cell]:
    share = item.rows.get("communication_share")
    return [
        *_head(analysis, item),
        _time(item.rows.get("program_time")),
        _time(item.rows.get("launch")),
        _time(item.rows.get("rank_cpu_time")),
        Cell(percent(share.summary.mean) if share else "–"),
        _value(item.rows.get("rate"), ReadableUnit("", 1e9)),
        _value(item.rows.get("site_step_time"), ReadableUnit("", 1e-6)),
    ]


def _head(analysis: Analysis, item: LatticeCase) -> list[Cell]:
    case, rows = item.case, list(item.rows.values())
    parts = analysis.labels[CHECK].parts(case, (*EXTENTS, "ranks", "ranks_per_node"))
    return [
        Cell(item.lattice, href=f"#case-{slug(case.id)}"),
        Cell(", ".join(parts) or "–"),
        Cell(str(case.ranks)),
        Cell(
            case.environment,
            environment=case.environment,
            badges=rows[0].flags if rows else (),
        ),
    ]


def _time(row: Row | None) -> Cell:
    if row is None:
        return Cell("–")
    unit = readable_unit("s", [row.summary.mean])
    cell = _value(row, unit)
    return Cell(f"{cell.text} {unit.label}", title=cell.title)


def _value(row: Row | None, unit: ReadableUnit) -> Cell:
    if row is None:
        return Cell("–")
    mean, spread = row.summary.mean / unit.factor, row.summary.stddev
    scaled = None if spread is None else spread / unit.factor
    places = decimals(mean, scaled)
    text = fixed(mean, places) + (f" ± {fixed(scaled, places)}" if scaled is not None else "")
    return Cell(text, title=f"n = {row.summary.n}, mean {si_text(row.summary.mean)} {row.unit}")


def strong_scaling(analysis: Analysis) -> Table | None:
    """One lattice over more and more ranks: speed-up and efficiency over the fewest ranks."""
    note = "Speed-up: time on the fewest ranks over this one. Efficiency: that over their ratio."
    table = Table("su3-strong", "Strong scaling", _scaling_columns("speed-up"), [], note)
    return _scaling(analysis, table, strong_series(analysis), _strong_cells)


def weak_scaling(analysis: Analysis) -> Table | None:
    """As many sites a rank on more and more ranks: efficiency is the first time over this one."""
    note = "Efficiency: time on the fewest ranks over time on these, each rank with as many sites."
    table = Table("su3-weak", "Weak scaling", _scaling_columns("sites a rank"), [], note)
    return _scaling(analysis, table, weak_series(analysis), _weak_cells)


def _scaling_columns(own: str) -> list[Column]:
    head = [Column("lattice"), Column("settings"), Column("ranks", numeric=True)]
    numbers = ("program time ± s", own, "efficiency")
    return [*head, Column("environment"), *(Column(name, numeric=True) for name in numbers)]


def _scaling(
    analysis: Analysis,
    table: Table,
    series: Iterable[list[LatticeCase]],
    cells: Callable[[LatticeCase, LatticeCase], list[Cell]],
) -> Table | None:
    """`table` with a group of rows a series, each row ending in `cells` of first and own case."""
    rows: list[list[Cell]] = []
    groups = set()
    for items in series:
        groups.add(len(rows))
        for item in items:
            time = _time(item.rows["program_time"])
            rows.append([*_head(analysis, item), time, *cells(items[0], item)])
    return replace(table, rows=rows, total=len(rows), groups=frozenset(groups)) if rows else None


def _strong_cells(first: LatticeCase, item: LatticeCase) -> list[Cell]:
    speed_up = _mean_time(first) / _mean_time(item)
    return [
        Cell(fixed(speed_up, 2)),
        Cell(percent(speed_up * first.case.ranks / item.case.ranks)),
    ]


def _weak_cells(first: LatticeCase, item: LatticeCase) -> list[Cell]:
    return [
        Cell(fixed(item.sites / item.case.ranks, 0)),
        Cell(percent(_mean_time(first) / _mean_time(item))),
    ]


def _mean_time(item: LatticeCase) -> float:
    return item.rows["program_time"].summary.mean


def study_2003(analysis: Analysis) -> Table | None:
    """Cases that the 2003 study ran too (lattice, trajectories, ranks), with its times."""
    rows = [
        _study_row(analysis, item, known)
        for item in lattice_cases(analysis)
        if (known := su3_rmd().get(_study_key(item)))
    ]
    if not rows:
        return None
    columns = [Column("lattice"), Column("settings"), Column("ranks", numeric=True)]
    columns += [
        Column("environment"),
        Column("wall time today ± s", numeric=True),
        *(Column(f"2003: {mpi}, wall ± s", numeric=True) for mpi in LIBRARIES),
        *(Column(f"2003: {mpi}, CPU of wall", numeric=True) for mpi in LIBRARIES),
    ]
    note = (
        "2003: B. P. Kearns, Portland State University, Tables 6 to 8, nodes with two processors on"
        " Fast Ethernet. It does not tell step size and steps a trajectory, so today's runs need"
        " not be as long as its own."
    )
    return Table("su3-2003", "Beside the study of 2003", columns, rows, note, len(rows))


def _study_key(item: LatticeCase) -> tuple[int, ...]:
    params = item.case.params
    return (*(params[name] for name in EXTENTS), params.get("trajectories", 0), item.case.ranks)


def _study_row(
    analysis: Analysis, item: LatticeCase, known: dict[str, dict[str, str]]
) -> list[Cell]:
    rows = [known[mpi] for mpi in LIBRARIES]
    walls = [Cell(f"{row['wall_s_mean']} ± {float(row['wall_s_stddev']):.2f} s") for row in rows]
    shares = [percent(float(row["cpu_s_mean"]) / float(row["wall_s_mean"])) for row in rows]
    return [
        *_head(analysis, item),
        _time(item.rows.get("launch")),
        *walls,
        *(Cell(share) for share in shares),
    ]
