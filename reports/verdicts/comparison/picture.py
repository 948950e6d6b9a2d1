# SPDX-License-Identifier: Apache-2.0
"""The greatest changes of two runs as a picture: the ratio of each with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from math import isclose

from reports.notation.palette import BAD, GOOD, INK, OPEN, QUIET, Look
from reports.notation.units import signed_percent
from reports.show.layout import wrapped
from reports.show.panel import (
    WIDTH_IN,
    Axis,
    Mark,
    Panel,
    Picture,
    Rule,
    Series,
    above_axis,
    rows_above,
)
from reports.verdicts.comparison.compare import MetricChange, Reading, RunComparison

#: Changes that are drawn, and those of one panel.
MOST_CHANGES, MOST_ROWS = 36, 12
#: Ratios beyond this, or below its inverse, make the axis logarithmic.
_FACTOR = 2.0
#: Name of a row: its most lines and their height; where in the row its value is drawn.
_NAME_LINES, _LINE_IN, _VALUE_AT = 2, 0.16, 0.8
_COLOURS: dict[Reading, str] = {"better": GOOD, "worse": BAD, "beyond launches": OPEN}


def changes_picture(found: RunComparison) -> Picture | None:
    """The first changes of the list, the greatest on top; None where none has an interval."""
    known = [change for change in found.changes if change.ratio and change.interval]
    shown = known[:MOST_CHANGES]
    if not shown:
        return None
    caption = (
        "B over A with the interval at 95 % of each by itself. Blue: better, red: worse; amber:"
        " beyond the launches' spread, two days cannot tell; grey: not resolved."
    )
    if len(known) > len(shown):
        caption += f" The first {len(shown)} of {len(known)} values; the tables have the others."
    footer = f"A: {found.first.run.run_id} · B: {found.second.run.run_id}"
    parts = [shown[place : place + MOST_ROWS] for place in range(0, len(shown), MOST_ROWS)]
    return Picture(
        "picture-changes",
        "The greatest changes of B against A",
        caption,
        [_panel(part, number * MOST_ROWS, footer) for number, part in enumerate(parts)],
        [],
    )


def _panel(changes: Sequence[MetricChange], before: int, footer: str) -> Panel:
    title = f"{before + 1} to {before + len(changes)}" if before else "Greatest first"
    names = [wrapped(change.name, 9.0, WIDTH_IN - 0.4)[:_NAME_LINES] for change in changes]
    row_in = 0.22 + _LINE_IN * max(map(len, names))
    marks: list[Mark] = [Rule(1, "x", INK, 0.8)]
    ends: list[float] = []
    for row, change in enumerate(changes):
        assert change.ratio is not None
        assert change.interval is not None
        both = [change.interval.low, change.interval.high]
        ends += both
        look = Look(_COLOURS.get(change.reading, QUIET), "o", ())
        marks.append(Series(both, [row + _VALUE_AT] * 2, look, width=2.2, size=0))
        marks.append(Series([change.ratio], [row + _VALUE_AT], look, width=0, size=6))
    told = "; ".join(
        f"{change.name}: {signed_percent(change.ratio)}" for change in changes[:6] if change.ratio
    )
    wide = any(not 1 / _FACTOR < end < _FACTOR for end in ends)
    return Panel(
        title,
        [*marks, *rows_above(["\n".join(lines) for lines in names])],
        f"B over A, {title.lower()}. {told}",
        Axis("B against A", scale="log" if wide else "linear", text=_change),
        above_axis(len(changes)),
        footer,
        0.95 + row_in * len(changes),
    )


def _change(ratio: float) -> str:
    """A ratio as the tables have it."""
    return "0" if isclose(ratio, 1) else signed_percent(ratio)
