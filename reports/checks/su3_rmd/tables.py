# SPDX-License-Identifier: Apache-2.0
"""Tables of the lattice program: digits against the original's; scaling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from records.run.plan import PlannedCase
from reports.analysis.run import Analysis, flags_of
from reports.checks.su3_rmd.cases import (
    CHECK,
    LAYOUT,
    LatticeCase,
    efficiency,
    speed_up,
    strong_series,
    weak_series,
)
from reports.checks.su3_rmd.digits import NUMBERS, Printed, beside_originals, differences
from reports.notation.labels import lattice_text
from reports.notation.units import count_text, fixed, percent, readable_unit
from reports.show.rows import name_cell, value_cell
from reports.show.tables import Cell, Column, Lead, Table, Value, numeric, pivot, slug

T = TypeVar("T")

AGREE = "agree in every printed digit"


def _leads(
    analysis: Analysis,
    case: Callable[[T], PlannedCase],
    flags: Callable[[T], Sequence[str]] = lambda _: (),
    without: Sequence[str] = LAYOUT,
) -> list[Lead[T]]:
    """The cells of a case: lattice, settings, ranks, environment."""

    def lattice(item: T) -> Cell:
        return Cell(lattice_text(case(item).params), href=f"#case-{slug(case(item).id)}")

    def settings(item: T) -> str:
        return ", ".join(analysis.labels[CHECK].parts(case(item), without)) or "–"

    return [
        ("lattice", lattice),
        ("settings", settings),
        (numeric("ranks"), lambda item: str(case(item).ranks)),
        ("environment", lambda item: name_cell(case(item).environment, flags(item))),
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

    def flags(item: LatticeCase) -> tuple[str, ...]:
        return flags_of(item.rows.values())

    def time(items: list[LatticeCase]) -> Cell:
        row = items[0].rows["program_time"]
        return value_cell([row], readable_unit("s", [row.summary.mean]), label=True)

    by = _leads(analysis, lambda item: item.case, flags)
    every = [("program time ± s", time), *cells]
    return pivot(cases, by, every, anchor=anchor, title=title, note=note)


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


def digits_table(analysis: Analysis) -> Table | None:
    """Each case of ours with the original's in its environment on as many ranks."""

    def compared(items: list[tuple[Printed, Printed | None]]) -> list[Cell]:
        ours, original = items[0]
        if original is None:
            return [Cell("–"), Cell("–"), Cell("–", title="no valid launch of the original")]
        return [
            Cell(str(len(ours.texts.keys() & original.texts.keys()))),
            Cell(f"{ours.launches} and {original.launches}"),
            _judged(ours, original),
        ]

    headings = [
        *numeric("numbers", "launches, ours and the original's"),
        Column("digits of ours and of the original"),
    ]
    return pivot(
        beside_originals(analysis),
        _leads(analysis, lambda item: item[0].case, without=(*LAYOUT, "implementation")),
        [(headings, compared)],
        anchor="su3-digits",
        title="Digits beside the original",
        note="Polyakov loop and plaquettes of every measurement, as both programs print them, with"
        " seven digits; all good launches of both. In double precision every digit must agree, in"
        " single precision those of about the first ten trajectories.",
    )


def _judged(ours: Printed, original: Printed) -> Cell:
    """That all digits agree, or the first number that differs."""
    differ = differences(ours.texts, original.texts)
    if not differ:
        return Cell(AGREE)
    (measurement, number), *texts = differ[0]
    name = list(NUMBERS.values())[number]
    mine, theirs = (" and ".join(printed) or "nothing" for printed in texts)
    every = ours.texts.keys() | original.texts.keys()
    return Cell(
        f"differ first in measurement {measurement}, {name}: ours {mine}, the original {theirs}",
        title=f"{count_text(len(differ), 'number differs', 'numbers differ')} of {len(every)}",
        badges=("digits differ",),
    )
