# SPDX-License-Identifier: Apache-2.0
"""What is exported of a run: its launches, and each median with its interval."""

from __future__ import annotations

from collections.abc import Iterator

from records.errors import AssayError
from reports.analysis import STATUSES, Analysis, Row
from reports.export.points import Point
from reports.notation.labels import pairs_text
from reports.notation.units import time_of
from reports.result import Sample


def run_samples(analysis: Analysis, *, every: bool = False) -> Iterator[Sample]:
    """Gauges of a run; `every`: all metrics, not the deciding one of each check alone."""
    run = analysis.run
    whose = {"site": run.plan.site, "campaign": run.plan.campaign}
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
    for row in rows_told(analysis, every=every):
        labels, summary, unit = {**whose, **_labels(analysis, row)}, row.summary, row.unit
        yield Sample("run_median", "Median over launches.", summary.median, labels, unit)
        yield Sample("run_values", "Launches behind a median.", summary.n, labels)
        if interval := summary.median_interval:
            text = "end of the 95 % interval of the median."
            yield Sample("run_median_low", f"Lower {text}", interval.low, labels, unit)
            yield Sample("run_median_high", f"Upper {text}", interval.high, labels, unit)


def run_points(analysis: Analysis, *, every: bool = False) -> Iterator[Point]:
    """The same medians with the run's time. Raises AssayError where its provenance has none."""
    run = analysis.run
    if not run.provenance.started_at:
        raise AssayError(
            f"{run.directory / 'provenance.json'}: has no `started_at`, and a value in InfluxDB's"
            " line protocol needs its time; restore it, or export OpenMetrics"
        )
    at = time_of(run.provenance.started_at)
    whose = {"site": run.plan.site, "campaign": run.plan.campaign}
    counts = {status: int(analysis.counts[status]) for status in STATUSES}
    yield Point("assay_run", whose, {"run": run.run_id, **counts}, at)
    for row in rows_told(analysis, every=every):
        fields: dict[str, float | int | str] = {"median": row.summary.median, "n": row.summary.n}
        if interval := row.summary.median_interval:
            fields |= {"low": interval.low, "high": interval.high}
        tags = {**whose, **_labels(analysis, row), "unit": row.unit}
        yield Point("assay_run_value", tags, fields, at)


def rows_told(analysis: Analysis, *, every: bool) -> Iterator[Row]:
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
