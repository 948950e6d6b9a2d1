# SPDX-License-Identifier: Apache-2.0
"""The greatest changes of two runs as a picture: the ratio of each with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from math import isclose

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from reports.comparison.compare import Change, Reading, RunComparison
from reports.notation.palette import BAD, GOOD, INK, OPEN, PAPER, QUIET
from reports.notation.units import signed_percent
from reports.show.arrange import wrapped
from reports.show.canvas import WIDTH_IN, Panel, finish, new_panel
from reports.show.lines import Picture

#: Changes that are drawn, and those of one panel.
MOST_CHANGES, MOST_ROWS = 36, 12
#: Ratios beyond this, or below its inverse, make the axis logarithmic.
_FACTOR = 2.0
#: Name of a row: its size, its room, its most lines and their height; where the value stands.
_NAME_PT, _NAME_IN, _NAME_LINES, _LINE_IN, _VALUE_AT = 9.0, WIDTH_IN - 0.4, 2, 0.16, 0.8
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


def _panel(changes: Sequence[Change], before: int, footer: str) -> Panel:
    title = f"{before + 1} to {before + len(changes)}" if before else "Greatest first"
    names = [wrapped(change.name, _NAME_PT, _NAME_IN)[:_NAME_LINES] for change in changes]
    row_in = 0.22 + _LINE_IN * max(map(len, names))
    figure, axes = new_panel(title, footer, 0.95 + row_in * len(changes))
    ends = []
    for row, change in enumerate(changes):
        assert change.ratio is not None
        assert change.interval is not None
        low, high = change.interval.low, change.interval.high
        ends += [low, high]
        colour = _COLOURS.get(change.reading, QUIET)
        axes.plot([low, high], [row + _VALUE_AT] * 2, color=colour, linewidth=2.2)
        axes.plot([change.ratio], [row + _VALUE_AT], marker="o", color=colour, markersize=6)
    axes.axvline(1, color=INK, linewidth=0.8)
    _name_rows(axes, names)
    _ratio_axis(axes, ends)
    told = "; ".join(
        f"{change.name}: {signed_percent(change.ratio)}" for change in changes[:6] if change.ratio
    )
    return finish(figure, f"B over A, {title.lower()}. {told}")


def _name_rows(axes: Axes, names: Sequence[Sequence[str]]) -> None:
    """The name of each row above its value."""
    for row, lines in enumerate(names):
        axes.text(
            0.0,
            row + 0.04,
            "\n".join(lines),
            transform=axes.get_yaxis_transform(),
            fontsize=_NAME_PT,
            color=INK,
            va="top",
            bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 0.6},
        )
    axes.set_ylim(len(names), 0)
    axes.set_yticks(range(len(names)), [""] * len(names))
    axes.tick_params(axis="y", length=0)


def _ratio_axis(axes: Axes, ends: Sequence[float]) -> None:
    """Ratios as they stand in the tables, on a logarithmic axis where one is great."""
    axes.set_xlabel("B against A")
    if any(not 1 / _FACTOR < end < _FACTOR for end in ends):
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(10, subs=(1.0, 2.0, 5.0), numticks=7))
        axes.xaxis.set_minor_locator(NullLocator())
    else:
        axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.xaxis.set_major_formatter(
        FuncFormatter(lambda ratio, _: "0" if isclose(ratio, 1) else signed_percent(ratio))
    )
