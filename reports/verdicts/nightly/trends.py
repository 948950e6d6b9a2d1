# SPDX-License-Identifier: Apache-2.0
"""Trend pictures: one series over the nights, its usual range, contexts and changes labelled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from records.history.model import Change, History, SeriesKey
from reports.notation.palette import INK, Look, looks
from reports.notation.units import ReadableUnit, readable_unit
from reports.show.panel import Axis, Mark, Panel, Rule, Series, Text
from reports.verdicts.nightly.segments import context_starts
from reports.verdicts.nightly.wording import amount, point_name

MOST_NIGHTS = 180
_HEIGHT_IN = 2.15
_BAD, _GOOD = "#A6341B", "#0b5a3c"
#: What is shown round a reference, in units of what is allowed.
_ROUND = 1.15
#: Room beyond the values as a share of their range.
_MARGIN = 0.05
#: Changes that are named in the picture.
MOST_NAMED = 2


def trend(
    history: History, series: int, reference: tuple[float, float] | None, floor: float
) -> Panel:
    """The last nights of one series; `reference` is its median and limit (a fraction), `floor` the
    least change that is ever reported."""
    key = history.series[series]
    first = max(0, len(history.nights) - MOST_NIGHTS)
    values = history.values[series, first:]
    unit = readable_unit(key.unit, values[np.isfinite(values)].tolist())
    again = (history.reruns[series, first:] / unit.factor).tolist()
    places = list(range(first, len(history.nights)))
    values_drawn = [*_value_marks(history, series, unit)]
    values_drawn.append(Series(places, again, Look(INK, "x", ()), width=0, size=5.5))
    drawn = [y for mark in values_drawn for y in mark.y if np.isfinite(y)]
    shown = reference and (reference[0] / unit.factor, reference[1])
    low, high, middle = span(drawn, values / unit.factor, shown, floor)
    marks: list[Mark] = []
    if shown is not None:
        marks.append(Rule(middle * (1 - shown[1]), "y", to=middle * (1 + shown[1])))
        marks.append(Rule(middle, "y", width=0.9))
    starts = context_starts(history.nights, key.environment)[first:]
    for place in np.unique(starts[starts > first]).tolist():
        marks.append(Rule(place - 0.5, "x", width=0.9, dashes=(4, 3)))
    marks += values_drawn
    changes = [item for item in history.changes[::-1] if item.series == series]
    changes = [item for item in changes if history.position(item.since) >= first]
    for row, item in enumerate(changes):
        marks += _change_marks(history, item, unit.factor, row)
    x, y = Axis(ticks=_days(history, first), margin=0.03), Axis(unit.label, low=low, high=high)
    return Panel("", marks, _alt(history, series, key), x, y, height_in=_HEIGHT_IN)


def _value_marks(history: History, series: int, unit: ReadableUnit) -> Iterator[Series]:
    """Line with gaps where nothing was measured; a marker a night that tells its value; tonight's
    larger."""
    key, nights = history.series[series], history.nights
    first = max(0, len(nights) - MOST_NIGHTS)
    row = history.values[series] / unit.factor
    look = looks([key.environment])[key.environment]
    line = Look(look.colour, "", ())
    yield Series(list(range(first, len(nights))), row[first:].tolist(), line, width=1.1)
    known = [place for place in range(first, len(nights)) if np.isfinite(row[place])]
    for chosen, size in ((known[:-1], 2.8 if len(known) > 40 else 4.4), (known[-1:], 7.0)):
        texts = [f"{nights[place].date}: {row[place]:.5g} {unit.label}" for place in chosen]
        yield Series(chosen, row[chosen].tolist(), look, width=0, size=size, texts=texts)


def span(
    drawn: Sequence[float],
    values: NDArray[np.float64],
    reference: tuple[float, float] | None,
    floor: float,
) -> tuple[float, float, float]:
    """The ends of the axis and the level in its middle, the reference or the median of `values`.

    The axis shows what is `drawn` and what the reference allows, at least the floor of detection
    round the level, so that noise below it does not look like news; it ends at zero.
    """
    known = values[np.isfinite(values)]
    middle, limit = reference or (float(np.median(known)) if len(known) else 0.0, 0.0)
    allowed = _ROUND * max(limit, floor)
    room = _MARGIN * (max(drawn, default=0.0) - min(drawn, default=0.0))
    low = min(min(drawn, default=middle) - room, middle * (1 - allowed))
    top = max(max(drawn, default=middle) + room, middle * (1 + allowed))
    low = max(low, 0.0)
    return low, top + 0.16 * (top - low), middle


def _change_marks(history: History, change: Change, factor: float, row: int) -> Iterator[Mark]:
    """A line at a change; the newest ones are named, each in its row of labels."""
    place = history.position(change.since)
    colour = _BAD if change.kind == "regression" else _GOOD
    yield Rule(place - 0.25, "x", colour, 1.3)
    look = Look(colour, "o", ())
    yield Series([place], [change.after / factor], look, width=0, size=9, face="none")
    if row < MOST_NAMED:
        right = place > len(history.nights) * 0.6
        yield Text(
            f"{change.id}: {(change.ratio - 1) * 100:+.3g} %".replace("-", "−"),
            place - 0.25,
            1.0,
            colour,
            shares="y",
            offset=(-4 if right else 4, -9 - 12 * row),
            right=right,
            bold=True,
        )


def _days(history: History, first: int) -> dict[float, str]:
    """Three days below the axis; the time of day where all are of one day."""
    last = len(history.nights) - 1
    places = sorted({first, (first + last) // 2, last})
    dates = [history.nights[place].date for place in places]
    one_day = len({date[:10] for date in dates}) == 1 < len(dates)
    return {
        float(place): date[11:] if one_day else date[:10]
        for place, date in zip(places, dates, strict=True)
    }


def _alt(history: History, series: int, key: SeriesKey) -> str:
    values = history.values[series][np.isfinite(history.values[series])]
    name = f"{key.environment}, {point_name(key)}"
    if not len(values):
        return f"{name}: no value"
    changes = sum(change.series == series for change in history.changes)
    span = amount(key, float(values[0]), float(values[-1])) if values[0] > 0 else ""
    return f"{name} over {len(values)} nights, first to last {span}; {changes} changes"
