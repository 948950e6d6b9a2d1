# SPDX-License-Identifier: Apache-2.0
"""The lattice program: program time, speed-up and efficiency of cases that scale together."""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from records.run.plan import PlannedCase
from reports.analysis.run import Analysis, Row, flags_of
from reports.notation.labels import lattice_text
from reports.notation.units import fixed, percent, readable_unit
from reports.show.lines import lines_picture
from reports.show.panel import Axis, Picture
from reports.show.rows import name_cell, value_cell
from reports.show.section import Section
from reports.show.tables import Cell, Lead, Table, Value, numeric, pivot, slug

CHECK = "su3_rmd"
EXTENTS = ("nx", "ny", "nz", "nt")
#: Parameters that stand in columns of their own.
LAYOUT = (*EXTENTS, "ranks", "ranks_per_node")
#: What is not the problem: where ranks lie, and what is judged.
_NO_SETTING = frozenset(
    {"ranks", "ranks_per_node", "plaquette", "plaquette_tolerance", "mpi_profile"}
)


@dataclass(frozen=True, eq=False)
class LatticeCase:
    """Case with its rows by metric."""

    case: PlannedCase
    rows: dict[str, Row]

    @property
    def lattice(self) -> str:
        """Extents in words: "8³ × 16", or "8 × 8 × 16 × 16"."""
        return lattice_text(self.case.params)

    @property
    def sites(self) -> int:
        """Sites of the whole lattice."""
        return math.prod(int(self.case.params[name]) for name in EXTENTS)

    @property
    def time_s(self) -> float:
        """The mean program time."""
        return self.rows["program_time"].summary.mean


def speed_up(first: LatticeCase, item: LatticeCase) -> float:
    """Time of the first case over that of another."""
    return first.time_s / item.time_s


def efficiency(first: LatticeCase, item: LatticeCase) -> float:
    """Speed-up over the ratio of the ranks."""
    return speed_up(first, item) * first.case.ranks / item.case.ranks


@lru_cache(maxsize=4)
def lattice_cases(analysis: Analysis) -> tuple[LatticeCase, ...]:
    """Every case with values: by sites, settings, ranks, then in the environments' order."""
    rows_of: dict[int, dict[str, Row]] = {}
    for row in analysis.rows_of(CHECK):
        rows_of.setdefault(row.series.case, {})[row.series.metric] = row
    cases = [LatticeCase(analysis.run.plan.cases[case], rows) for case, rows in rows_of.items()]
    order = list(analysis.looks)

    def key(item: LatticeCase) -> tuple[int, str, int, int]:
        case = item.case
        settings = settings_text(case, EXTENTS)
        return item.sites, settings, case.ranks, order.index(case.environment)

    return tuple(sorted(cases, key=key))


def strong_series(analysis: Analysis) -> list[list[LatticeCase]]:
    """Cases of one lattice and environment that differ in their ranks only, by ascending ranks."""
    return _series(analysis, lambda item: settings_text(item.case, ()))


def weak_series(analysis: Analysis) -> list[list[LatticeCase]]:
    """Cases of one environment with equal sites a rank, other settings alike."""
    return _series(
        analysis,
        lambda item: f"{item.sites / item.case.ranks} {settings_text(item.case, EXTENTS)}",
    )


def _series(analysis: Analysis, key: Callable[[LatticeCase], str]) -> list[list[LatticeCase]]:
    groups: dict[tuple[str, str], dict[int, LatticeCase]] = {}
    for item in lattice_cases(analysis):
        if "program_time" in item.rows:
            series = groups.setdefault((key(item), item.case.environment), {})
            series.setdefault(item.case.ranks, item)
    every = [[series[ranks] for ranks in sorted(series)] for series in groups.values()]
    return [series for series in every if len(series) > 1]


def settings_text(case: PlannedCase, without: tuple[str, ...]) -> str:
    """The settings of the problem as one text, less those named."""
    left_out = _NO_SETTING.union(without)
    kept = {name: value for name, value in case.params.items() if name not in left_out}
    return json.dumps(kept, sort_keys=True)


def time_picture(analysis: Analysis) -> Picture | None:
    """Program time against ranks, both logarithmic, a panel for each lattice that was run on
    several numbers of ranks."""
    rows = [item.rows["program_time"] for series in strong_series(analysis) for item in series]
    return lines_picture(
        analysis,
        rows,
        lambda row: float(analysis.case(row).ranks),
        Axis("ranks", scale="log", counts=True),
        without=LAYOUT[4:],
        anchor="picture-su3-time",
        title="Program time against ranks",
        caption="One panel for each lattice.",
        log_y=True,
    )


def _leads(analysis: Analysis) -> list[Lead[LatticeCase]]:
    """The cells of a case: lattice, settings, ranks, environment."""

    def lattice(item: LatticeCase) -> Cell:
        return Cell(item.lattice, href=f"#case-{slug(item.case.id)}")

    def settings(item: LatticeCase) -> str:
        return ", ".join(analysis.labels[CHECK].parts(item.case, LAYOUT)) or "–"

    return [
        ("lattice", lattice),
        ("settings", settings),
        (numeric("ranks"), lambda item: str(item.case.ranks)),
        (
            "environment",
            lambda item: name_cell(item.case.environment, flags_of(item.rows.values())),
        ),
    ]


def _scaling(
    analysis: Analysis,
    cases: Sequence[LatticeCase],
    *cells: Value[LatticeCase],
    anchor: str,
    title: str,
    note: str,
) -> Table | None:
    """A line for each case with its program time, then `cells`."""

    def time(items: list[LatticeCase]) -> Cell:
        row = items[0].rows["program_time"]
        return value_cell([row], readable_unit("s", [row.summary.mean]), label=True)

    every = [("program time ± s", time), *cells]
    return pivot(cases, _leads(analysis), every, anchor=anchor, title=title, note=note)


def strong_scaling(analysis: Analysis) -> Table | None:
    """Lattice over more and more ranks: speed-up and efficiency over the fewest ranks."""
    first = {item: series[0] for series in strong_series(analysis) for item in series}
    return _scaling(
        analysis,
        list(first),
        ("speed-up", lambda items: fixed(speed_up(first[items[0]], items[0]), 2)),
        ("efficiency", lambda items: percent(efficiency(first[items[0]], items[0]))),
        anchor="su3-strong",
        title="Strong scaling",
        note="Speed-up: time on the fewest ranks over this one. Efficiency: that over their ratio.",
    )


def weak_scaling(analysis: Analysis) -> Table | None:
    """As many sites a rank on more and more ranks: efficiency is the first time over this one."""
    first = {item: series[0] for series in weak_series(analysis) for item in series}
    return _scaling(
        analysis,
        list(first),
        ("sites a rank", lambda items: fixed(items[0].sites / items[0].case.ranks, 0)),
        ("efficiency", lambda items: percent(speed_up(first[items[0]], items[0]))),
        anchor="su3-weak",
        title="Weak scaling",
        note="Efficiency: time on the fewest ranks over time on these, each rank with as many"
        " sites.",
    )


SECTION = Section(
    pictures=(time_picture,),
    tables=(strong_scaling, weak_scaling),
)
