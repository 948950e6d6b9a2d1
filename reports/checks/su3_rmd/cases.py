# SPDX-License-Identifier: Apache-2.0
"""Cases of the lattice program with their metrics, and which of them scale together."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from records.run.plan import PlannedCase
from reports.analysis.run import Analysis, Row
from reports.notation.labels import lattice_text

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
    found: dict[int, dict[str, Row]] = {}
    for row in analysis.rows_of(CHECK):
        found.setdefault(row.series.case, {})[row.series.metric] = row
    cases = [LatticeCase(analysis.run.plan.cases[case], rows) for case, rows in found.items()]
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
    found = [[series[ranks] for ranks in sorted(series)] for series in groups.values()]
    return [series for series in found if len(series) > 1]


def settings_text(case: PlannedCase, without: tuple[str, ...]) -> str:
    """The settings of the problem as one text, less those named."""
    left_out = _NO_SETTING.union(without)
    kept = {name: value for name, value in case.params.items() if name not in left_out}
    return json.dumps(kept, sort_keys=True)
