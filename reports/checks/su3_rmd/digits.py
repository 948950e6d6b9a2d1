# SPDX-License-Identifier: Apache-2.0
"""The digits of our lattice program against the original's, as a table."""

from __future__ import annotations

from reports.analysis import Analysis
from reports.checks.common.cells import name_cell
from reports.checks.su3_rmd.cases import CHECK, LAYOUT
from reports.notation.labels import lattice_text
from reports.notation.units import count_text
from reports.original_digits import NUMBERS, Printed, beside_originals, differences
from reports.show.tables import Cell, Column, Heading, Table, pivot, slug

AGREE = "agree in every printed digit"
_NO_SETTING = (*LAYOUT, "implementation")
_COLUMNS: list[Heading] = [
    Column("numbers", numeric=True),
    Column("launches, ours and the original's", numeric=True),
    Column("digits of ours and of the original"),
]


_NOTE = (
    "Polyakov loop and plaquettes of every measurement, as both programs print them, with"
    " seven digits; all good launches of both. In double precision every digit must agree, in"
    " single precision those of about the first ten trajectories."
)


def digits_table(analysis: Analysis) -> Table | None:
    """Each case of ours beside the original's in its environment on as many ranks."""

    def compared(items: list[tuple[Printed, Printed | None]]) -> list[Cell]:
        ours, original = items[0]
        if original is None:
            return [Cell("–"), Cell("–"), Cell("–", title="no valid launch of the original")]
        return [
            Cell(str(len(ours.texts.keys() & original.texts.keys()))),
            Cell(f"{ours.launches} and {original.launches}"),
            _judged(ours, original),
        ]

    def settings(item: tuple[Printed, Printed | None]) -> str:
        return ", ".join(analysis.labels[CHECK].parts(item[0].case, _NO_SETTING)) or "–"

    return pivot(
        beside_originals(analysis),
        [
            ("lattice", _lattice),
            ("settings", settings),
            (Column("ranks", numeric=True), lambda item: str(item[0].case.ranks)),
            ("environment", lambda item: name_cell(item[0].case.environment)),
        ],
        [(_COLUMNS, compared)],
        anchor="su3-digits",
        title="Digits beside the original",
        note=_NOTE,
    )


def _lattice(item: tuple[Printed, Printed | None]) -> Cell:
    case = item[0].case
    return Cell(lattice_text(case.params), href=f"#case-{slug(case.id)}")


def _judged(ours: Printed, original: Printed) -> Cell:
    """That all digits agree, or the first number that differs."""
    found = differences(ours.texts, original.texts)
    if not found:
        return Cell(AGREE)
    (measurement, number), *texts = found[0]
    name = list(NUMBERS.values())[number]
    told = [" and ".join(one) or "nothing" for one in texts]
    every = ours.texts.keys() | original.texts.keys()
    return Cell(
        f"differ first in measurement {measurement}, {name}: ours {told[0]},"
        f" the original {told[1]}",
        title=f"{count_text(len(found), 'number differs', 'numbers differ')} of {len(every)}",
        badges=("digits differ",),
    )
