# SPDX-License-Identifier: Apache-2.0
"""The form of a run's report, made from its analysis."""

from __future__ import annotations

from typing import Any

from assay.machine.runs import Report
from reports.analysis import STATUSES
from reports.answer.run import answer_of
from reports.choice.leaders import Ranking, rankings
from reports.choice.ranking import Standing
from reports.write.report import ReportPaths

#: Files of a report, the page first.
_FILES = ("html", "pdf", "md", "csv", "parquet", "json", "junit")


def report_told(report: ReportPaths) -> Report:
    """The answer of a run, its ranking, who leads, and the files of its report."""
    analysis = report.analysis
    run, found = analysis.run, analysis.comparisons
    return Report.of(
        run_id=run.run_id,
        run=str(run.directory),
        campaign=run.plan.campaign,
        site=run.plan.site,
        complete=analysis.complete,
        launches={status: analysis.counts[status] for status in STATUSES},
        answer=answer_of(analysis).as_json(),
        reference=found.reference,
        ranking=[_ranked(item) for item in found.score.standings] if found.score else [],
        leaders=[_led(ranking) for ranking in rankings(found)],
        files={name: str(path) for name in _FILES if (path := getattr(report, name))},
    )


def _ranked(item: Standing) -> dict[str, Any]:
    return {
        "environment": item.environment,
        "place": (item.best, item.worst),
        "cost": item.score,
        "bounds": item.judgement and item.judgement.ends,
        "interval": item.interval,
        "failed": item.failures.failed,
        "launched": item.failures.launched,
        "unreliable": item.unreliable,
    }


def _led(ranking: Ranking) -> dict[str, Any]:
    cell = ranking.comparison
    assert cell.effect is not None
    return {
        **{name: getattr(ranking, name) for name in ("scope", "metric", "best", "runner_up")},
        "n": cell.n,
        "advantage": cell.effect.ratio,
        "bounds": cell.judgement and cell.judgement.ends,
        "interval": cell.effect.interval,
        "verdict": cell.word,
    }
