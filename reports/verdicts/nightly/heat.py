# SPDX-License-Identifier: Apache-2.0
"""All series over the nights in one map: what got slower, since when, and what came back."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from records.history.model import History
from reports.notation.units import count_text
from reports.show.panel import Heat, Panel, Scale, heat_panel
from reports.statistics.descriptive import Matrix
from reports.verdicts.nightly.wording import at_text, case_labels, natural_order

#: Nights and series of one map; of more series those with a finding, then the first.
MOST_NIGHTS, MOST_SERIES = 60, 40
_SCALE = Scale(
    "against the reference",
    0.12,
    -0.04,
    {0.12: "≥ 12 % worse", 0.06: "6 % worse", 0.0: "0", -0.04: "better"},
)


def series_by_nights(
    history: History, reference: Matrix, found: Collection[int], tonight: int
) -> Panel | None:
    """Each series' nights against its reference (the level of tonight's judgement); series with a
    finding tonight are outlined there, a change is outlined in its first night."""
    first = max(0, tonight + 1 - MOST_NIGHTS)
    known = [
        series
        for series in natural_order(history)
        if np.isfinite(reference[series]) and reference[series] > 0
    ]
    if tonight - first < 1 or not known:
        return None
    kept = sorted(known, key=lambda series: series not in found)[:MOST_SERIES]
    rows = [series for series in known if series in set(kept)]
    signs = np.array([1.0 if history.series[s].better == "lower" else -1.0 for s in rows])
    values = history.values[rows, first : tonight + 1]
    worse = signs[:, np.newaxis] * (values / reference[rows, np.newaxis] - 1)
    place = {series: row for row, series in enumerate(rows)}
    culprits = {(place[series], tonight - first) for series in found if series in place}
    for change in history.changes:
        since = history.position(change.since)
        if change.series in place and first <= since <= tonight and change.kind == "regression":
            culprits.add((place[change.series], since - first))
    names = _names(history, rows)
    red = [names[place[series]] for series in found if series in place]
    heat = Heat(
        names,
        [night.date[5:10] for night in history.nights[first : tonight + 1]],
        worse,
        _SCALE,
        culprits=culprits,
        named=red,
    )
    return heat_panel(
        "Every series, night by night",
        "",
        heat,
        f"{len(rows)} series over {tonight + 1 - first} nights; found tonight:"
        f" {', '.join(red) or 'nothing'}.",
        f"{count_text(len(rows), 'series', 'series')} of {len(history.series)};"
        " outlined: found tonight, or the first night of a change",
    )


def _names(history: History, rows: Sequence[int]) -> list[str]:
    """Environment, metric and what tells the series from others of both."""
    labels = case_labels(history)
    found = []
    for series in rows:
        key = history.series[series]
        parts = (key.environment, key.title, labels[key.case_id], at_text(key))
        found.append(", ".join(part for part in parts if part))
    return found
