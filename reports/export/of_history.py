# SPDX-License-Identifier: Apache-2.0
"""What is told of a history: the newest night of a campaign on a site, or all nights as points."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import get_args

import numpy as np

from records.history.model import History, Missed, SeriesKey
from records.withheld import masked
from reports.answers import State
from reports.export.families import Families
from reports.export.points import Point, time_of
from reports.nightly.check import Checked
from reports.nightly.findings import Verdict
from reports.notation.labels import pairs_text

#: What a night can be, each a sample of its own: 1 for the one that it is.
STATES = (State.PASS, State.FAIL, State.SUSPECT, State.LEARNING, State.INCONCLUSIVE)


def add_counts(families: Families, site: str, campaign: str, nights: int, missed: int) -> None:
    """Gauges of a campaign that may have had no night yet."""
    whose = {"site": site, "campaign": campaign}
    families.of("nights", "Nights in the history.").add(nights, **whose)
    families.of("nights_missed", "Nights that could not run.").add(missed, **whose)


def add_night(families: Families, checked: Checked) -> None:
    """Gauges of a campaign's newest night."""
    history, night = checked.history, checked.night
    whose = {"site": night.site, "campaign": night.campaign}
    families.of("night_info", "The run of the newest night.").add(1, **whose, run=night.run_id)
    families.of("night_started_timestamp", "When the newest night began.", "seconds").add(
        time_of(night.started_at).timestamp(), **whose
    )
    state = families.of("night_state", "1 for the state that the newest night is in.")
    for one in STATES:
        state.add(float(checked.state is one), **whose, state=one.name)
    launches = families.of("night_launches", "Launches of the newest night by how they ended.")
    for status, number in night.statuses.items():
        launches.add(number, **whose, status=status)
    counts = Counter(finding.verdict for finding in checked.judgement.findings)
    found = families.of("night_findings", "What is said of series of the newest night.")
    for verdict in get_args(Verdict):
        found.add(counts[verdict], **whose, verdict=verdict)
    families.of("night_series_judged", "Series of the newest night that were judged.").add(
        checked.judgement.judged, **whose
    )
    levels = checked.stage_a.reference.median
    for series, key in enumerate(history.series):
        labels = {**whose, **_labels(key)}
        for name, text, value in (
            ("night_median", "Median of the newest night.", history.values[series, -1]),
            ("night_reference", "Median of the nights that it is compared with.", levels[series]),
        ):
            if np.isfinite(value):
                families.valued(name, text, key.unit).add(float(value), **labels)


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
                tags = {**whose, **_labels(key), "unit": key.unit}
                yield Point("assay_night_value", tags, {"median": value, "n": n}, at)


def missed_points(missed: Sequence[Missed]) -> Iterator[Point]:
    """Nights that could not run, each with its reason and its time."""
    for one in missed:
        whose = {"site": one.site, "campaign": one.campaign}
        yield Point("assay_night_missed", whose, {"reason": masked(one.reason)}, time_of(one.at))


def _labels(key: SeriesKey) -> dict[str, str]:
    return {
        "check": key.check,
        "environment": key.environment,
        "case": key.case_id,
        "metric": key.metric,
        "point": pairs_text(sorted(key.at.items())),
    }
