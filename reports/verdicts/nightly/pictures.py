# SPDX-License-Identifier: Apache-2.0
"""Pictures of a night: all series by nights in one map, and each series over the nights with its
usual range, contexts and changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from records.history.model import History
from reports.load.nights import context_starts
from reports.notation.labels import INK, QUIET, Look, looks
from reports.notation.units import count_text, readable_unit
from reports.show import panel
from reports.verdicts.nightly import wording
from reports.verdicts.nightly.check import Checked

#: Nights and series of one map; of more series those with a finding, then the first.
_MAP_NIGHTS, _MAP_SERIES = 60, 40
_SCALE = panel.Scale(
    "against the reference",
    0.12,
    -0.04,
    {0.12: "≥ 12 % worse", 0.06: "6 % worse", 0.0: "0", -0.04: "better"},
)
#: Trends that are drawn, and their nights.
_MOST_TRENDS, _TREND_NIGHTS = 24, 180
_HEIGHT_IN = 2.15
_BAD, _GOOD = "#A6341B", "#0b5a3c"
#: What is shown round a reference, in units of what is allowed.
_ROUND = 1.15


def series_by_nights(checked: Checked) -> panel.Picture | None:
    """Each series' nights against its reference (the level of tonight's judgement); series with a
    finding tonight are outlined there, a change is outlined in its first night."""
    history, tonight, night = checked.history, checked.judgement.night, checked.night
    reference = checked.tonight.reference.median
    found = {item.series for item in checked.judgement.of("regression", "open", "suspect")}
    first = max(0, tonight + 1 - _MAP_NIGHTS)
    known = [series for series in wording.natural_order(history) if reference[series] > 0]
    if tonight - first < 1 or not known:
        return None
    kept = set(sorted(known, key=lambda series: series not in found)[:_MAP_SERIES])
    rows = [series for series in known if series in kept]
    share = history.values[rows, first : tonight + 1] / reference[rows, np.newaxis] - 1
    worse = checked.tonight.nights.direction[rows, np.newaxis] * share
    place = {series: row for row, series in enumerate(rows)}
    culprits = {(place[series], tonight - first) for series in found if series in place}
    for change in history.changes:
        since = history.position(change.since)
        if change.series in place and first <= since <= tonight and change.kind == "regression":
            culprits.add((place[change.series], since - first))
    names = _names(history, rows)
    red = [names[place[series]] for series in found if series in place]
    days = [night.date[5:10] for night in history.nights[first : tonight + 1]]
    map_of_nights = panel.heat_panel(
        "Every series, night by night",
        f"{night.campaign} on {night.site}, night of {night.date} · run {night.run_id}",
        panel.Heat(names, days, worse, _SCALE, culprits=culprits, named=red),
        f"{len(rows)} series over {count_text(len(days), 'night')}; found tonight:"
        f" {', '.join(red) or 'nothing'}.",
        f"{count_text(len(rows), 'series')} of {len(history.series)};"
        " outlined: found tonight, or the first night of a change",
    )
    return panel.Picture(
        "wide-series-by-nights",
        f"{night.campaign} on {night.site}, night by night",
        "Each night against the reference of tonight; brighter is better.",
        [replace(map_of_nights, wide=True)],
        [],
    )


def _names(history: History, rows: Sequence[int]) -> list[str]:
    """Environment, metric and what tells the series from others of both."""
    labels, keys = wording.case_labels(history), [history.series[series] for series in rows]
    parts = (
        (key.environment, key.title, labels[key.case_id], wording.at_text(key)) for key in keys
    )
    return [", ".join(filter(None, part)) for part in parts]


def trends(checked: Checked, order: Sequence[int]) -> panel.Picture:
    """The first series of this order over the nights, a panel each."""
    drawn = order[:_MOST_TRENDS]
    caption = (
        "Point: the median of a night's launches, the last night's larger. Grey: the reference and"
        " what it allows. Dashed: software or machine changed. Red or green: a change that was"
        " found. Cross: run again the same night."
    )
    if len(drawn) < len(order):
        caption += f" {len(drawn)} of {count_text(len(order), 'series')}; the history has all."
    return panel.Picture("trends", "Trends", caption, [trend(checked, one) for one in drawn], [])


def trend(checked: Checked, series: int) -> panel.Panel:
    """The last nights of one series against its level and limit: its title says what tells it from
    the others of its case, its footer what is drawn."""
    history, tonight = checked.history, checked.tonight
    key, row = history.series[series], history.values[series]
    last = len(history.nights) - 1
    first = max(0, last + 1 - _TREND_NIGHTS)
    unit = readable_unit(key.unit, row[first:][np.isfinite(row[first:])].tolist())
    drawn = _value_marks(history, series, first, unit.factor)
    heights = [y for mark in drawn for y in mark.y if np.isfinite(y)]
    level, limit = (float(column[series]) for column in (tonight.reference.median, tonight.limit))
    middle = level / unit.factor if np.isfinite(limit) else float(np.median(heights or [0.0]))
    marks: list[panel.Mark] = []
    if np.isfinite(limit):
        ends: Any = {"ymin": middle * (1 - limit), "ymax": middle * (1 + limit)}
        marks.append(partial(Axes.axhspan, color=QUIET, alpha=0.14, linewidth=0, **ends))
        marks.append(partial(Axes.axhline, y=middle, color=QUIET, linewidth=0.9))
    starts = context_starts(history.nights, key.environment)[first:]
    for place in np.unique(starts[starts > first]).tolist():
        dashed: Any = {"color": QUIET, "linewidth": 0.9, "linestyle": (0, (4, 3))}
        marks.append(partial(Axes.axvline, x=place - 0.5, **dashed))
    for change in history.changes:
        since = history.position(change.since)
        if change.series == series and since >= first:
            colour = _BAD if change.kind == "regression" else _GOOD
            marks.append(partial(Axes.axvline, x=since - 0.25, color=colour, linewidth=1.3))
    # At least the floor of detection is shown, so that noise below it does not look like news.
    allowed = _ROUND * max(float(np.nan_to_num(limit)), float(tonight.floors[series]))
    known = count_text(int(np.isfinite(row).sum()), "night")
    return panel.Panel(
        f"{key.environment}, {wording.at_text(key) or key.title}",
        [*marks, *drawn],
        f"{key.environment}, {wording.point_name(key)} over {known}",
        panel.Axis(ticks=_days(history, first, last), margin=0.03),
        panel.Axis(
            unit.label,
            low=max(0.0, min([*heights, middle * (1 - allowed)])),
            high=max([*heights, middle * (1 + allowed)]),
        ),
        footer=f"{key.title}, {'less' if key.better == 'lower' else 'more'} is better; {known}",
        height_in=_HEIGHT_IN,
    )


def _value_marks(history: History, series: int, first: int, factor: float) -> list[panel.Series]:
    """Line with gaps where nothing was measured; a marker a night, tonight's larger; re-runs."""
    environment = history.series[series].environment
    look, last = looks([environment])[environment], len(history.nights) - 1
    places = list(range(first, last + 1))
    values, again = (
        (rows[series, first:] / factor).tolist() for rows in (history.values, history.reruns)
    )
    return [
        panel.Series(places, values, Look(look.colour, "", ()), width=1.1),
        panel.Series(places, values, look, width=0, size=2.8 if len(places) > 40 else 4.4),
        panel.Series([last], values[-1:], look, width=0, size=7.0),
        panel.Series(places, again, Look(INK, "x", ()), width=0, size=5.5),
    ]


def _days(history: History, first: int, last: int) -> dict[float, str]:
    """Three nights below the axis."""
    return {float(at): history.nights[at].date[5:10] for at in (first, (first + last) // 2, last)}
