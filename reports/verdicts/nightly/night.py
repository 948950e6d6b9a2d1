# SPDX-License-Identifier: Apache-2.0
"""From a run directory to what a history keeps of it."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from pathlib import Path

from records.errors import AssayError
from records.history.model import Night, NightValues, SeriesKey, context_of
from records.site.node_facts import kinds_of
from records.text.plain_text import one_line
from reports.load.loading import Run, load_run

MOST_FAILURES = 50


def read_night(directory: Path) -> tuple[Night, list[NightValues]]:
    """The night of a run directory: its context, its counts, the values of its ok launches.

    Of each check its deciding metric and those beside it are kept, all metrics where none decides.
    A metric that is not
    positive (and may not be zero) is left out with a warning. Raises AssayError for a directory
    that is no run, whose records are damaged, or that tells no time: nothing of it may then enter
    a history.
    """
    run = load_run(directory)
    warnings = list(run.warnings)
    values = []
    register = run.plan.register
    for series in run.series:
        case = run.plan.cases[series.case]
        if not register.is_kept(case.check, series.metric):
            continue
        metric = register.metrics[series.metric]
        if (series.values <= 0).any() and not metric.may_be_zero:
            warnings.append(f"{case.id}: {metric.name} is not positive; it was left out")
            continue
        key = SeriesKey(
            case_id=case.id,
            check=case.check,
            environment=case.environment,
            params=case.params,
            metric=metric.name,
            unit=metric.unit,
            better=metric.better,
            at=dict(series.at),
            title=register.metric_title(metric.name),
            check_title=register.check_title(case.check),
        )
        values.append(NightValues(key, tuple(series.values.tolist())))
    return _night(run, directory, warnings), values


def _night(run: Run, directory: Path, warnings: list[str]) -> Night:
    counted = list(run.counted())
    failures = [
        f"{run.case(launch).id} {run.case(launch).environment} block {launch.block}:"
        f" {launch.status}: {one_line(launch.reason or 'no reason recorded')}"
        for launch in counted
        if launch.status in ("failed", "wrong", "lost")
    ]
    return Night(
        run_id=run.run_id,
        site=run.plan.site,
        campaign=run.plan.campaign,
        started_at=_begun(run),
        context=context_of(run.provenance, run.nodes),
        nodes=run.nodes,
        statuses=dict(Counter(launch.status for launch in counted)),
        failures=tuple(failures[:MOST_FAILURES]),
        warnings=tuple(warnings),
        run_path=str(directory),
        kinds=kinds_of(run.provenance.nodes),
    )


def _begun(run: Run) -> str:
    """When the run began, or else its first launch, or else as its id says."""
    starts = (one.started_at for one in run.launches.details.values() if one.started_at)
    begun = run.provenance.started_at or min(starts, default=run.run_id.partition("-")[0])
    try:
        moment = datetime.fromisoformat(begun)
    except ValueError as error:
        raise AssayError(
            f"{run.directory / 'provenance.json'}: `started_at`: found {begun!r:.100}, allowed is a"
            " time such as 2026-11-20T23:50:11Z; put back the file that `assay run` wrote"
        ) from error
    return moment.isoformat().replace("+00:00", "Z")
