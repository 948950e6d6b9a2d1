# SPDX-License-Identifier: Apache-2.0
"""The answer of a run as `assay report --json` prints it: every key with its meaning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from records.forms import Form, key
from reports.analysis.forms import AheadPart, StandingPart, ahead_keys, standing_keys
from reports.analysis.leaders import rankings
from reports.analysis.run import STATUSES, Analysis
from reports.answers import AnswerPart
from reports.statistics.descriptive import Interval
from reports.verdicts.choice.answer import answer_of


class RankedPart(StandingPart):
    """An environment in the ranking by the campaign's weights."""

    interval: Annotated[
        Interval | None, key("Of that ratio by itself, which decides nothing; null: the reference.")
    ]


class LeaderPart(AheadPart):
    """Who leads a check, and by how much."""

    interval: Annotated[Interval, key("Of the advantage by itself, which decides nothing.")]


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
    standings = found.score.standings if found.score else ()
    return ReportForm(
        run_id=run.run_id,
        run=str(run.directory),
        campaign=run.plan.campaign,
        site=run.plan.site,
        complete=analysis.complete,
        launches={status: analysis.counts[status] for status in STATUSES},
        answer=answer_of(analysis).part,
        reference=found.reference,
        ranking=[RankedPart.filled(item, **standing_keys(item)) for item in standings],
        leaders=[LeaderPart.filled(ranking, **ahead_keys(ranking)) for ranking in rankings(found)],
        files=dict(files),
    )
