# SPDX-License-Identifier: Apache-2.0
"""The answer of a run as `assay report --json` prints it: every key with its meaning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from records.forms import Form, Part, key
from reports.analysis import STATUSES, Analysis
from reports.answer.run import answer_of
from reports.answers import AnswerPart
from reports.choice.leaders import Ranking, rankings
from reports.choice.ranking import Standing
from reports.statistics.descriptive import Interval


class RankedPart(Part):
    """An environment in the ranking by the campaign's weights."""

    environment: Annotated[str, key("The environment.")]
    place: Annotated[
        tuple[int, int], key("Best and worst place that the bounds allow; 1 is first.")
    ]
    cost: Annotated[float, key("What the workload costs, over what it costs in the reference.")]
    bounds: Annotated[
        tuple[float, float] | None,
        key(
            "Bounds of that ratio that hold together for all questions; null where there are none."
        ),
    ]
    interval: Annotated[
        Interval | None,
        key("Of that ratio by itself, which decides nothing; null for the reference."),
    ]
    failed: Annotated[int, key("Failed launches.")]
    launched: Annotated[int, key("Launches.")]
    unreliable: Annotated[bool, key("Whether it ranks behind another because it fails more often.")]


class LeaderPart(Part):
    """Who leads a check, and by how much."""

    scope: Annotated[str, key("What was compared.")]
    metric: Annotated[str, key("The deciding metric.")]
    best: Annotated[str, key("The environment with the best estimate.")]
    runner_up: Annotated[str, key("The next one.")]
    n: Annotated[int, key("Common blocks.")]
    advantage: Annotated[
        float, key("How many times better the best is than the runner-up; 1.05 is 5 %.")
    ]
    bounds: Annotated[
        tuple[float, float] | None,
        key("Bounds of the advantage that hold together for all questions; null: none."),
    ]
    interval: Annotated[Interval, key("Of the advantage by itself, which decides nothing.")]
    verdict: Annotated[
        str, key("The verdict's word: faster, equivalent, not slower, not resolved, …")
    ]


class ReportForm(Form, kw_only=True):
    """`assay report`: the answer of a run, and where its report is."""

    run_id: Annotated[str, key("The run's id.")]
    run: Annotated[str, key("The run directory.")]
    campaign: Annotated[str, key("The campaign.")]
    site: Annotated[str, key("The site.")]
    complete: Annotated[bool, key("Whether every planned launch has its record.")]
    launches: Annotated[dict[str, int], key("Launches by how they ended, zeros too.")]
    answer: Annotated[AnswerPart, key("The answer.")]
    reference: Annotated[str, key("The environment that costs are over.")]
    ranking: Annotated[
        list[RankedPart],
        key("The environments by cost, best first; empty where nothing is ranked."),
    ]
    leaders: Annotated[list[LeaderPart], key("Who leads each check.")]
    files: Annotated[
        dict[str, str],
        key("The files written, by format: html, pdf, md, csv, parquet, junit, json."),
    ]


def report_form(analysis: Analysis, files: Mapping[str, str]) -> ReportForm:
    """The answer of a run, its ranking, who leads, and the files of its report by format."""
    run, found = analysis.run, analysis.comparisons
    return ReportForm(
        run_id=run.run_id,
        run=str(run.directory),
        campaign=run.plan.campaign,
        site=run.plan.site,
        complete=analysis.complete,
        launches={status: analysis.counts[status] for status in STATUSES},
        answer=answer_of(analysis).part,
        reference=found.reference,
        ranking=[_ranked(item) for item in found.score.standings] if found.score else [],
        leaders=[_leader(ranking) for ranking in rankings(found)],
        files=dict(files),
    )


def _ranked(item: Standing) -> RankedPart:
    return RankedPart.filled(
        item,
        place=(item.best, item.worst),
        cost=item.score,
        bounds=item.judgement and item.judgement.ends,
        failed=item.failures.failed,
        launched=item.failures.launched,
    )


def _leader(ranking: Ranking) -> LeaderPart:
    cell = ranking.comparison
    assert cell.effect is not None
    return LeaderPart.filled(
        ranking,
        n=cell.n,
        advantage=cell.effect.ratio,
        bounds=cell.judgement and cell.judgement.ends,
        interval=cell.effect.interval,
        verdict=cell.word,
    )
