# SPDX-License-Identifier: Apache-2.0
"""Exports of a history: the newest night of a campaign on a site, or all nights as points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from records.history.model import History, Missed
from records.text.withheld import masked
from reports.export.points import Point
from reports.notation.units import time_of
from reports.result import Sample
from reports.verdicts.nightly.result import series_labels


def count_samples(site: str, campaign: str, nights: int, missed: int) -> Iterator[Sample]:
    """Gauges of a campaign that may have had no night yet."""
    whose = {"site": site, "campaign": campaign}
    yield Sample("nights", "Nights in the history.", nights, whose)
    yield Sample("nights_missed", "Nights that could not run.", missed, whose)


def night_points(history: History) -> Iterator[Point]:
    """Every night and each of its medians, with its time."""
    for place, night in enumerate(history.nights):
        whose = {"site": night.site, "campaign": night.campaign}
        at = time_of(night.started_at)
        counts = {status: int(number) for status, number in night.statuses.items()}
        yield Point("assay_night", whose, {"run": night.run_id, **counts}, at)
        for series, key in enumerate(history.series):
            value = float(history.values[series, place])
            if np.isfinite(value):
                n = int(history.counts[series, place])
                tags = {**whose, **series_labels(key), "unit": key.unit}
                yield Point("assay_night_value", tags, {"median": value, "n": n}, at)


def missed_points(missed: Sequence[Missed]) -> Iterator[Point]:
    """Nights that could not run, each with its reason and its time."""
    for one in missed:
        whose = {"site": one.site, "campaign": one.campaign}
        yield Point("assay_night_missed", whose, {"reason": masked(one.reason)}, time_of(one.at))
