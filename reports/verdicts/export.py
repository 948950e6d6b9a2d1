# SPDX-License-Identifier: Apache-2.0
"""Gauges of a run or a history for monitoring, which go out as OpenMetrics
(`reports/render/metrics.py`). The dashboard in docs/examples is made for these names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reports.analysis.run import STATUSES, Analysis, Row
from reports.notation.labels import pairs_text
from reports.notation.units import time_of
from reports.result import Sample


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
