# SPDX-License-Identifier: Apache-2.0
"""What is told of a run: its launches, and each median with its interval."""

from __future__ import annotations

from collections.abc import Iterator

from records.errors import AssayError
from reports.analysis import STATUSES, Analysis, Row
from reports.export.families import Families
from reports.export.points import Point, time_of
from reports.notation.labels import pairs_text


def run_families(analysis: Analysis, *, every: bool = False) -> Families:
    """Gauges of a run; `every`: all metrics, not the deciding one of each check alone."""
    families, run = Families(), analysis.run
    whose = {"site": run.plan.site, "campaign": run.plan.campaign}
    families.of("run_info", "The run that the other run gauges are of.").add(
        1, **whose, run=run.run_id
    )
    begun = run.provenance.started_at
    if begun:
        families.of("run_started_timestamp", "When the run began.", "seconds").add(
            time_of(begun).timestamp(), **whose
        )
    families.of("run_complete", "1 where every planned launch has its record.").add(
        float(analysis.complete), **whose
    )
    launches = families.of("run_launches", "Launches by how they ended.")
    for status in STATUSES:
        launches.add(analysis.counts[status], **whose, status=status)
    for row in rows_told(analysis, every=every):
        labels = {**whose, **_labels(analysis, row)}
        summary = row.summary
        families.valued("run_median", "Median over launches.", row.unit).add(
            summary.median, **labels
        )
        families.of("run_values", "Launches behind a median.").add(summary.n, **labels)
        if interval := summary.median_interval:
            text = "end of the 95 % interval of the median."
            families.valued("run_median_low", f"Lower {text}", row.unit).add(interval.low, **labels)
            families.valued("run_median_high", f"Upper {text}", row.unit).add(
                interval.high, **labels
            )
    return families


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
