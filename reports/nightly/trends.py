# SPDX-License-Identifier: Apache-2.0
"""Trend pictures: one series over the nights, its usual range, contexts and changes labelled."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from campaigns.history.model import Change, History, SeriesKey
from reports.canvas import Panel, finish, new_panel
from reports.nightly.segments import context_starts
from reports.nightly.wording import amount, case_name, point_name
from reports.palette import INK, QUIET, looks
from reports.units import readable_unit

MOST_NIGHTS = 180
#: A title of so many letters fills a panel.
_TITLE_LETTERS = 37
_FOOTER_LETTERS = 74
_BAD, _GOOD = "#A6341B", "#0b5a3c"


def trend(history: History, series: int, reference: tuple[float, float] | None) -> Panel:
    """The last nights of one series; `reference` is its median and limit (a fraction)."""
    key = history.series[series]
    first = max(0, len(history.nights) - MOST_NIGHTS)
    values = history.values[series, first:]
    unit = readable_unit(key.unit, values[np.isfinite(values)].tolist())
    nights = np.arange(first, len(history.nights))
    title = f"{key.environment}: {point_name(key)}"
    footer = (
        f"{case_name(key)}\n{int(np.isfinite(values).sum())} nights; median of a night's launches"
    )
    figure, axes = new_panel(title, footer, 2.75)
    axes.set_title(title, fontsize=min(11.5, 11.5 * _TITLE_LETTERS / len(title)), pad=9)
    look = looks([key.environment])[key.environment]
    if reference is not None:
        middle, limit = reference[0] / unit.factor, reference[1]
        axes.axhspan(middle * (1 - limit), middle * (1 + limit), color="#9aa5ae", alpha=0.2, lw=0)
        axes.axhline(middle, color="#66717b", linewidth=0.9)
    many = len(nights) > 40
    axes.plot(
        nights,
        values / unit.factor,
        color=look.colour,
        linewidth=0.8 if many else 1.2,
        marker=look.marker,
        markersize=2.6 if many else 4.4,
        markeredgewidth=0,
    )
    again = history.reruns[series, first:] / unit.factor
    axes.plot(nights, again, linestyle="", marker="x", markersize=5, color=INK)
    _contexts(axes, history, key, first)
    for change in history.changes:
        if change.series == series and history.position(change.since) >= first:
            _change(axes, history, change, unit.factor)
    _axes(axes, history, first, unit.label)
    return finish(figure, _alt(history, series, key))


def _contexts(axes: Axes, history: History, key: SeriesKey, first: int) -> None:
    starts = context_starts(history.nights, key.environment)
    for place in np.unique(starts[first:]).tolist():
        if place > first:
            axes.axvline(place - 0.5, color=QUIET, linewidth=0.9, linestyle=(0, (4, 3)))


def _change(axes: Axes, history: History, change: Change, factor: float) -> None:
    place = history.position(change.since)
    colour = _BAD if change.kind == "regression" else _GOOD
    label = f"{change.id}: {(change.ratio - 1) * 100:+.3g} %".replace("-", "−")
    axes.axvline(place - 0.25, color=colour, linewidth=1.3)
    right = place > len(history.nights) * 0.6
    axes.annotate(
        label,
        (place - 0.25, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(-4 if right else 4, -9),
        textcoords="offset points",
        ha="right" if right else "left",
        fontsize=8.4,
        color=colour,
        fontweight="bold",
    )
    axes.plot([place], [change.after / factor], marker="o", fillstyle="none", ms=9, color=colour)


def _axes(axes: Axes, history: History, first: int, unit: str) -> None:
    last = len(history.nights) - 1
    places = sorted({first, (first + last) // 2, last})
    axes.set_xticks(places, [history.nights[place].date[:10] for place in places])
    labels = axes.get_xticklabels()
    if len(labels) > 1:
        labels[0].set_horizontalalignment("left")
        labels[-1].set_horizontalalignment("right")
    axes.set_ylabel(unit)
    axes.set_xlabel("night (UTC)")
    axes.ticklabel_format(axis="y", useOffset=False, style="plain")
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + 0.14 * (high - low))


def _alt(history: History, series: int, key: SeriesKey) -> str:
    values = history.values[series][np.isfinite(history.values[series])]
    if not len(values):
        return f"{point_name(key)}: no value"
    changes = sum(change.series == series for change in history.changes)
    span = amount(key, float(values[0]), float(values[-1])) if values[0] > 0 else ""
    return f"{point_name(key)} over {len(values)} nights, first to last {span}; {changes} changes"
