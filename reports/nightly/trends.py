# SPDX-License-Identifier: Apache-2.0
"""Trend pictures: one series over the nights, its usual range, contexts and changes labelled."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from records.history.model import Change, History, SeriesKey
from reports.nightly.segments import context_starts
from reports.nightly.wording import amount, point_name
from reports.notation.palette import INK, PAPER, QUIET, looks
from reports.notation.units import ReadableUnit, readable_unit
from reports.show.canvas import HOVER, Panel, finish, new_panel

MOST_NIGHTS = 180
_HEIGHT_IN = 2.15
_BAD, _GOOD = "#A6341B", "#0b5a3c"
#: What is shown round a reference, in units of what is allowed.
_ROUND = 1.15


def trend(
    history: History, series: int, reference: tuple[float, float] | None, floor: float
) -> Panel:
    """The last nights of one series; `reference` is its median and limit (a fraction), `floor` the
    least change that is ever told."""
    key = history.series[series]
    first = max(0, len(history.nights) - MOST_NIGHTS)
    values = history.values[series, first:]
    unit = readable_unit(key.unit, values[np.isfinite(values)].tolist())
    figure, axes = new_panel("", "", _HEIGHT_IN)
    _values(axes, history, series, unit)
    again = history.reruns[series, first:] / unit.factor
    places = np.arange(first, len(history.nights))
    axes.plot(places, again, linestyle="", marker="x", markersize=5.5, color=INK)
    starts = context_starts(history.nights, key.environment)[first:]
    for place in np.unique(starts[starts > first]).tolist():
        axes.axvline(place - 0.5, color=QUIET, linewidth=0.9, linestyle=(0, (4, 3)))
    _label_axes(axes, history, first, unit.label)
    shown = reference and (reference[0] / unit.factor, reference[1])
    set_range(axes, values / unit.factor, shown, floor)
    changes = [item for item in history.changes if item.series == series]
    for change, row in zip(reversed(changes), (0, 1, *[None] * len(changes)), strict=False):
        if history.position(change.since) >= first:
            _change(axes, history, change, unit.factor, row)
    return finish(figure, _alt(history, series, key))


def _values(axes: Axes, history: History, series: int, unit: ReadableUnit) -> None:
    """Line with gaps where nothing was measured; a marker a night that tells its value; tonight's
    larger."""
    key, nights = history.series[series], history.nights
    first = max(0, len(nights) - MOST_NIGHTS)
    row = history.values[series] / unit.factor
    look = looks([key.environment])[key.environment]
    axes.plot(np.arange(first, len(nights)), row[first:], color=look.colour, linewidth=1.1)
    known = [place for place in range(first, len(nights)) if np.isfinite(row[place])]
    for chosen, size in ((known[:-1], 2.8 if len(known) > 40 else 4.4), (known[-1:], 7.0)):
        if not chosen:
            continue
        said = [f"{nights[place].date}: {row[place]:.5g} {unit.label}" for place in chosen]
        axes.plot(
            chosen,
            row[chosen],
            color=look.colour,
            linestyle="",
            marker=look.marker,
            markersize=size,
            markeredgecolor=PAPER,
            markeredgewidth=0.5,
            label="\n".join(["", *said]),
            gid=HOVER,
        )


def set_range(
    axes: Axes,
    values: NDArray[np.float64],
    reference: tuple[float, float] | None,
    floor: float,
) -> None:
    """The reference and what it allows, in an axis that shows both and ends at zero.

    The axis spans at least the floor of detection round the reference (or the median of `values`),
    so that noise below it does not look like news.
    """
    low, top = axes.get_ylim()
    known = values[np.isfinite(values)]
    middle, limit = reference or (float(np.median(known)) if len(known) else 0.0, 0.0)
    if reference is not None:
        axes.axhspan(middle * (1 - limit), middle * (1 + limit), color=QUIET, alpha=0.16, lw=0)
        axes.axhline(middle, color=QUIET, linewidth=0.9)
    allowed = _ROUND * max(limit, floor)
    low, top = min(low, middle * (1 - allowed)), max(top, middle * (1 + allowed))
    low = max(low, 0.0)
    axes.set_ylim(low, top + 0.16 * (top - low))


def _change(axes: Axes, history: History, change: Change, factor: float, row: int | None) -> None:
    """A line at a change, and in which row of labels it is named, if it is."""
    place = history.position(change.since)
    colour = _BAD if change.kind == "regression" else _GOOD
    axes.axvline(place - 0.25, color=colour, linewidth=1.3)
    axes.plot([place], [change.after / factor], marker="o", fillstyle="none", ms=9, color=colour)
    if row is None:
        return
    right = place > len(history.nights) * 0.6
    axes.annotate(
        f"{change.id}: {(change.ratio - 1) * 100:+.3g} %".replace("-", "−"),
        (place - 0.25, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(-4 if right else 4, -9 - 12 * row),
        textcoords="offset points",
        ha="right" if right else "left",
        fontsize=9,
        color=colour,
        fontweight="bold",
    )


def _label_axes(axes: Axes, history: History, first: int, unit: str) -> None:
    """Three days below; the time of day where all are of one day."""
    last = len(history.nights) - 1
    places = sorted({first, (first + last) // 2, last})
    dates = [history.nights[place].date for place in places]
    one_day = len({date[:10] for date in dates}) == 1 < len(dates)
    axes.set_xticks(places, [date[11:] if one_day else date[:10] for date in dates])
    axes.set_ylabel(unit)
    axes.margins(x=0.03)
    axes.ticklabel_format(axis="y", useOffset=False, style="plain")


def _alt(history: History, series: int, key: SeriesKey) -> str:
    values = history.values[series][np.isfinite(history.values[series])]
    name = f"{key.environment}, {point_name(key)}"
    if not len(values):
        return f"{name}: no value"
    changes = sum(change.series == series for change in history.changes)
    span = amount(key, float(values[0]), float(values[-1])) if values[0] > 0 else ""
    return f"{name} over {len(values)} nights, first to last {span}; {changes} changes"
