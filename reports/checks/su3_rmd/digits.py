# SPDX-License-Identifier: Apache-2.0
"""The digits that our lattice program and the original print, compared number by number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from records.plan import PlannedCase
from reports.analysis import Analysis
from reports.checks.common.cells import name_cell
from reports.checks.su3_rmd.cases import CHECK, LAYOUT, settings_text
from reports.notation.labels import lattice_text
from reports.notation.units import count_text
from reports.show.tables import Cell, Column, Heading, Lead, Table, pivot, slug

#: What a measurement prints, in the order of its line, and how readers know it.
NUMBERS = {
    "polyakov_re": "Polyakov loop, real part",
    "polyakov_im": "Polyakov loop, imaginary part",
    "plaquette_space": "plaquette in space",
    "plaquette_time": "plaquette with time",
}
AGREE = "agree in every printed digit"
#: Choices of our program that the original does not have, and that change no digit.
_OURS_ALONE = ("communication", "overlap", "kernel")

#: A number by measurement and its place in the line: (3, 2) is the third one's plaquette in space.
Place = tuple[int, int]


@dataclass
class Printed:
    """What the good launches of one case printed: the texts of each number, and how many those
    launches are."""

    case: PlannedCase
    texts: dict[Place, set[str]] = field(default_factory=dict)
    launches: int = 0

    @property
    def is_original(self) -> bool:
        """Whether the program was the original."""
        return bool(self.case.params.get("implementation", "assay") == "milc")


def first_difference(
    ours: Mapping[Place, Iterable[str]], original: Mapping[Place, Iterable[str]]
) -> tuple[Place, list[str], list[str]] | None:
    """The first number of which not all texts are one, and what each printed; None: all agree.

    A number that one of them lacks differs.
    """
    for place in sorted(ours.keys() | original.keys()):
        both = [sorted(set(texts.get(place, ()))) for texts in (ours, original)]
        if both[0] != both[1] or len(both[0]) != 1:
            return place, both[0], both[1]
    return None


def printed_digits(analysis: Analysis) -> list[Printed]:
    """Each case that kept its measurements, in the order of the plan."""
    found: dict[int, Printed] = {}
    for row in analysis.rows_of(CHECK, *NUMBERS):
        series = row.series
        of_case = found.setdefault(series.case, Printed(analysis.case(row)))
        place = int(series.at_value("measurement") or 0), list(NUMBERS).index(series.metric)
        # As the programs print: %e.
        of_case.texts[place] = {f"{value:e}" for value in series.values.tolist()}
        of_case.launches = max(of_case.launches, len(series.values))
    return [found[case] for case in sorted(found)]


def digits_table(analysis: Analysis) -> Table | None:
    """Each case of ours beside the original's in its environment on as many ranks."""
    cases = printed_digits(analysis)
    originals = {_problem(item.case): item for item in cases if item.is_original}
    if not originals:
        return None

    def compared(items: list[Printed]) -> list[Cell]:
        ours, original = items[0], originals.get(_problem(items[0].case))
        if original is None:
            return [Cell("–"), Cell("–"), Cell("–", title="no valid launch of the original")]
        return [
            Cell(str(len(ours.texts.keys() & original.texts.keys()))),
            Cell(f"{ours.launches} and {original.launches}"),
            _judged(ours, original),
        ]

    by: list[Lead[Printed]] = [
        (
            "lattice",
            lambda item: Cell(lattice_text(item.case.params), href=f"#case-{slug(item.case.id)}"),
        ),
        (
            "settings",
            lambda item: (
                ", ".join(analysis.labels[CHECK].parts(item.case, (*LAYOUT, "implementation")))
                or "–"
            ),
        ),
        (Column("ranks", numeric=True), lambda item: str(item.case.ranks)),
        ("environment", lambda item: name_cell(item.case.environment)),
    ]
    columns: list[Heading] = [
        Column("numbers", numeric=True),
        Column("launches, ours and the original's", numeric=True),
        Column("digits of ours and of the original"),
    ]
    return pivot(
        (item for item in cases if not item.is_original),
        by,
        [(columns, compared)],
        anchor="su3-digits",
        title="Digits beside the original",
        note="Polyakov loop and plaquettes of every measurement, as both programs print them, with"
        " seven digits; all good launches of both. In double precision every digit must agree, in"
        " single precision those of about the first ten trajectories.",
    )


def _judged(ours: Printed, original: Printed) -> Cell:
    """That all digits agree, or the first number that differs."""
    found = first_difference(ours.texts, original.texts)
    if found is None:
        return Cell(AGREE)
    (measurement, number), *texts = found
    name = list(NUMBERS.values())[number]
    told = [" and ".join(one) or "nothing" for one in texts]
    same = ours.texts.keys() | original.texts.keys()
    wrong = sum(ours.texts.get(p) != original.texts.get(p) for p in same)
    return Cell(
        f"differ first in measurement {measurement}, {name}: ours {told[0]},"
        f" the original {told[1]}",
        title=f"{count_text(wrong, 'number differs', 'numbers differ')} of {len(same)}",
        badges=("digits differ",),
    )


def _problem(case: PlannedCase) -> tuple[str, int, str]:
    """What ours and the original must have in common: settings, ranks, environment."""
    return settings_text(case, ("implementation", *_OURS_ALONE)), case.ranks, case.environment
