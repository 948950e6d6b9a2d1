# SPDX-License-Identifier: Apache-2.0
"""Output of `assay export` for monitoring: gauges of a run, and runs and histories as points.

Gauges go out as OpenMetrics (`reports/render/metrics.py`), points with their times as InfluxDB's
line protocol [https://docs.influxdata.com/influxdb/v2/reference/syntax/line-protocol/]:
measurement, tags, fields, time in ns; commas, equals signs and blanks of tags are escaped, a tag
ends with no backslash and is not empty. The dashboard in docs/examples is made for these names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from records.errors import AssayError
from records.history.model import History, Missed
from records.text.plain_text import one_line
from reports.analysis.run import STATUSES, Analysis, Row
from reports.notation.labels import pairs_text
from reports.notation.units import time_of
from reports.result import Sample
from reports.verdicts.nightly.result import series_labels

_TAG = str.maketrans({",": r"\,", "=": r"\=", " ": r"\ "})
_TEXT = str.maketrans({"\\": r"\\", '"': r"\""})


@dataclass(frozen=True, slots=True)
class Point:
    """Fields of one thing at one time."""

    measurement: str
    tags: Mapping[str, str]
    fields: Mapping[str, float | int | str]
    at: datetime

    @property
    def line(self) -> str:
        """The point in InfluxDB's line protocol."""
        texts = {
            name: one_line(text).strip(" \\").translate(_TAG)
            for name, text in sorted(self.tags.items())
        }
        tags = "".join(f",{name}={text}" for name, text in texts.items() if text)
        fields = ",".join(f"{name}={_field(value)}" for name, value in self.fields.items())
        whole = int(self.at.timestamp()) * 10**9 + self.at.microsecond * 1000
        return f"{self.measurement}{tags} {fields} {whole}\n"


def line_protocol(points: Iterable[Point]) -> str:
    """A line for each point."""
    return "".join(point.line for point in points)


def _field(value: float | int | str) -> str:
    if isinstance(value, int):
        return f"{value}i"
    if isinstance(value, float):
        return f"{value:.12g}"
    return f'"{one_line(value).translate(_TEXT)}"'


def run_samples(analysis: Analysis, *, every: bool = False) -> Iterator[Sample]:
    """Gauges of a run; `every`: all metrics, not the deciding one of each check alone."""
    run, whose = analysis.run, _whose(analysis.run.plan)
    text = "The run that the other run gauges are of."
    yield Sample("run_info", text, 1, {**whose, "run": run.run_id})
    if begun := run.provenance.started_at:
        began = time_of(begun).timestamp()
        yield Sample("run_started_timestamp", "When the run began.", began, whose, "s")
    text = "1 where every planned launch has its record."
    yield Sample("run_complete", text, float(analysis.complete), whose)
    for status in STATUSES:
        labels = {**whose, "status": status}
        yield Sample("run_launches", "Launches by how they ended.", analysis.counts[status], labels)
    for row in _rows(analysis, every=every):
        labels, summary, unit = {**whose, **_labels(analysis, row)}, row.summary, row.unit
        yield Sample("run_median", "Median over launches.", summary.median, labels, unit)
        yield Sample("run_values", "Launches behind a median.", summary.n, labels)
        if interval := summary.median_interval:
            text = "end of the 95 % interval of the median."
            yield Sample("run_median_low", f"Lower {text}", interval.low, labels, unit)
            yield Sample("run_median_high", f"Upper {text}", interval.high, labels, unit)


def run_points(analysis: Analysis, *, every: bool = False) -> Iterator[Point]:
    """Points of the same medians, with the run's time.

    Raises AssayError where its provenance has none.
    """
    run, whose = analysis.run, _whose(analysis.run.plan)
    if not run.provenance.started_at:
        raise AssayError(
            f"{run.directory / 'provenance.json'}: has no `started_at`, and a value in InfluxDB's"
            " line protocol needs its time; restore it, or export OpenMetrics"
        )
    at = time_of(run.provenance.started_at)
    counts = {status: int(analysis.counts[status]) for status in STATUSES}
    yield Point("assay_run", whose, {"run": run.run_id, **counts}, at)
    for row in _rows(analysis, every=every):
        fields: dict[str, float | int | str] = {"median": row.summary.median, "n": row.summary.n}
        if interval := row.summary.median_interval:
            fields |= {"low": interval.low, "high": interval.high}
        tags = {**whose, **_labels(analysis, row), "unit": row.unit}
        yield Point("assay_run_value", tags, fields, at)


def _rows(analysis: Analysis, *, every: bool) -> Iterator[Row]:
    """The rows of the metric that decides each check, or all."""
    for row in analysis.rows:
        if every or analysis.register.decides(analysis.case(row).check, row.series.metric):
            yield row


def _labels(analysis: Analysis, row: Row) -> dict[str, str]:
    case = analysis.case(row)
    return {
        "check": case.check,
        "environment": case.environment,
        "case": case.id,
        "metric": row.series.metric,
        "point": pairs_text(row.series.at),
    }


def _whose(of: Any) -> dict[str, str]:
    """Site and campaign of a plan, a night, or a night that could not run."""
    return {"site": of.site, "campaign": of.campaign}


def count_samples(site: str, campaign: str, nights: int, missed: int) -> Iterator[Sample]:
    """Gauges of a campaign that may have had no night yet."""
    whose = {"site": site, "campaign": campaign}
    yield Sample("nights", "Nights in the history.", nights, whose)
    yield Sample("nights_missed", "Nights that could not run.", missed, whose)


def night_points(history: History) -> Iterator[Point]:
    """Every night and each of its medians, with its time."""
    for place, night in enumerate(history.nights):
        whose, at = _whose(night), time_of(night.started_at)
        counts = {status: int(number) for status, number in night.statuses.items()}
        yield Point("assay_night", whose, {"run": night.run_id, **counts}, at)
        for series in np.flatnonzero(np.isfinite(history.values[:, place])).tolist():
            key, value = history.series[series], float(history.values[series, place])
            tags = {**whose, **series_labels(key), "unit": key.unit}
            fields = {"median": value, "n": int(history.counts[series, place])}
            yield Point("assay_night_value", tags, fields, at)


def missed_points(missed: Sequence[Missed]) -> Iterator[Point]:
    """Nights that could not run, each with its reason and its time."""
    for one in missed:
        fields = {"reason": one.reason}
        yield Point("assay_night_missed", _whose(one), fields, time_of(one.at))
