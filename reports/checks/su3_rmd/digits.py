# SPDX-License-Identifier: Apache-2.0
"""The numbers that our lattice program and the original printed, case by case."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from records.run.plan import PlannedCase
from reports.analysis.run import Analysis

#: What a measurement prints, in the order of its line, and how readers know it.
NUMBERS = {
    "polyakov_re": "Polyakov loop, real part",
    "polyakov_im": "Polyakov loop, imaginary part",
    "plaquette_space": "plaquette in space",
    "plaquette_time": "plaquette with time",
}
#: What changes no digit: whose program it was and its own choices, where ranks lie, what is judged.
_NO_PROBLEM = frozenset(
    {
        *("implementation", "communication", "overlap", "kernel", "ranks", "ranks_per_node"),
        *("plaquette", "plaquette_tolerance", "mpi_profile"),
    }
)

#: A number by measurement and its place in the line: (3, 2) is the third one's plaquette in space.
Place = tuple[int, int]


@dataclass
class Printed:
    """Output of the good launches of a case: the texts of each number, and how many those
    launches are."""

    case: PlannedCase
    texts: dict[Place, set[str]] = field(default_factory=dict)
    launches: int = 0

    @property
    def is_original(self) -> bool:
        """True where the program was the original."""
        return bool(self.case.params.get("implementation", "assay") == "milc")


def differences(
    ours: Mapping[Place, Iterable[str]], original: Mapping[Place, Iterable[str]]
) -> list[tuple[Place, list[str], list[str]]]:
    """Each number of which not all texts are one, and what each printed, in their order.

    A number that one of them lacks differs, and one that varies between launches of a case.
    """
    found = []
    for place in sorted(ours.keys() | original.keys()):
        one, other = (sorted(set(texts.get(place, ()))) for texts in (ours, original))
        if one != other or len(one) != 1:
            found.append((place, one, other))
    return found


def printed_digits(analysis: Analysis) -> list[Printed]:
    """Each case that kept its measurements, in the order of the plan."""
    found: dict[int, Printed] = {}
    for row in analysis.rows_of("su3_rmd", *NUMBERS):
        series = row.series
        of_case = found.setdefault(series.case, Printed(analysis.case(row)))
        place = int(series.at_value("measurement") or 0), list(NUMBERS).index(series.metric)
        # As the programs print: %e.
        of_case.texts[place] = {f"{value:e}" for value in series.values.tolist()}
        of_case.launches = max(of_case.launches, len(series.values))
    return [found[case] for case in sorted(found)]


def beside_originals(analysis: Analysis) -> list[tuple[Printed, Printed | None]]:
    """Each case of ours that kept its measurements, with the original's of the same problem on as
    many ranks in the same environment; nothing where no original was measured."""
    cases = printed_digits(analysis)
    originals = {_problem(item.case): item for item in cases if item.is_original}
    ours = [item for item in cases if not item.is_original and originals]
    return [(item, originals.get(_problem(item.case))) for item in ours]


def _problem(case: PlannedCase) -> tuple[str, int, str]:
    """Parameters that ours and the original must have in common."""
    asked = {name: value for name, value in case.params.items() if name not in _NO_PROBLEM}
    return json.dumps(asked, sort_keys=True), case.ranks, case.environment
