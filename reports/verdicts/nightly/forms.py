# SPDX-License-Identifier: Apache-2.0
"""night.json and what `assay nightly --json` prints: every key with its meaning."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from records.forms import Form, Part, key
from reports.answers import AnswerPart


class NightAddedForm(Form, kw_only=True):
    """`assay nightly add`: a run taken into the history."""

    run_id: Annotated[str, key("The run's id.")]
    site: Annotated[str, key("Its site.")]
    campaign: Annotated[str, key("Its campaign.")]
    series: Annotated[int, key("Series that have a value.")]
    launches: Annotated[dict[str, int], key("Launches by how they ended.")]


class ChangeAcceptedForm(Form, kw_only=True):
    """`assay nightly accept-change`: changes taken as the new reference."""

    changes: Annotated[list[int], key("Their numbers.")]
    author: Annotated[str, key("Who accepts.")]
    reason: Annotated[str, key("Why.")]


class GroupPart(Part):
    """A campaign on a site."""

    campaign: Annotated[str, key("The campaign.")]
    site: Annotated[str, key("The site.")]
    nights: Annotated[int, key("Nights in the history.")]


class NightPart(Part):
    """A night in the history."""

    run_id: Annotated[str, key("Its run.")]
    started_at: Annotated[str, key("When it began (UTC).")]
    launches: Annotated[dict[str, int], key("Launches by how they ended.")]
    changes_found: Annotated[int, key("Changes that were found that night.")]


class MissedPart(Part):
    """A night that could not run."""

    site: Annotated[str, key("The site.")]
    campaign: Annotated[str, key("The campaign.")]
    at: Annotated[str, key("When that was known (UTC).")]
    reason: Annotated[str, key("Why.")]


class SeriesPart(Part):
    """What tells a series from all others."""

    case_id: Annotated[str, key("The case.")]
    check: Annotated[str, key("The check.")]
    environment: Annotated[str, key("The environment.")]
    metric: Annotated[str, key("The metric.")]
    unit: Annotated[str, key("Its SI unit.")]
    better: Annotated[Literal["higher", "lower"], key("Which direction is better.")]
    at: Annotated[dict[str, Any], key("The point.")]


class ChangePart(SeriesPart):
    """A change of one series."""

    id: Annotated[int, key("Its number, as `accept-change` takes it.")]
    kind: Annotated[Literal["regression", "improvement"], key("Worse or better.")]
    stage: Annotated[
        Literal["tonight", "lasting", "drift", "early", "peers"],
        key("How it was found; early: a step in the first nights; peers: beside the other nodes."),
    ]
    since: Annotated[str, key("The night from which on it holds (UTC).")]
    state: Annotated[
        Literal["open", "went back", "accepted", "new reference"], key("What became of it.")
    ]
    before: Annotated[float, key("Median before, in SI base units.")]
    after: Annotated[float, key("Median after.")]
    author: Annotated[str | None, key("Who accepted it.")]
    reason: Annotated[str | None, key("Why it was accepted.")]


class HistoryForm(Form, kw_only=True):
    """`assay nightly show`: nights and changes of the group asked for."""

    groups: Annotated[list[GroupPart], key("All campaigns and sites of the history.")]
    site: Annotated[str | None, key("The site of the nights below; null: there are none.")]
    campaign: Annotated[str | None, key("Their campaign.")]
    nights: Annotated[list[NightPart], key("Nights, the oldest first.")]
    missed: Annotated[list[MissedPart], key("Nights that could not run.")]
    changes: Annotated[list[ChangePart], key("Every change that was found.")]


class CampaignPart(Part):
    """A campaign on a site and its newest night."""

    site: Annotated[str, key("The site.")]
    campaign: Annotated[str, key("The campaign.")]
    newest: Annotated[str, key("When the newest night began (UTC); empty: there never was one.")]
    age_s: Annotated[float, key("How long ago that is, or the first night that could not run, s.")]
    silent: Annotated[bool, key("Whether that is longer than it may be.")]
    why: Annotated[
        str,
        key(
            "The newest night since then that could not run, and its reason; empty: none is known."
        ),
    ]


class SilentForm(Form, kw_only=True):
    """`assay nightly silent`: nights that did not come."""

    after_s: Annotated[float, key("From how long on a campaign is silent, s.")]
    campaigns: Annotated[list[CampaignPart], key("Each campaign that was asked for.")]


class ContextPart(Part):
    """Something that changed since the night before."""

    name: Annotated[str, key("What it is.")]
    before: Annotated[str | None, key("What it was.")]
    after: Annotated[str | None, key("What it is.")]


class FoundChangePart(Part):
    """The change behind a finding."""

    id: Annotated[int, key("Its number.")]
    kind: Annotated[str, key("regression or improvement.")]
    stage: Annotated[str, key("How it was found.")]
    since: Annotated[str | None, key("The night from which on it holds; null: not known.")]
    before: Annotated[float, key("Median before.")]
    after: Annotated[float, key("Median after.")]
    nights_before: Annotated[int, key("Nights, or of stage peers nodes, behind the median before.")]


class SeriesFindingPart(SeriesPart):
    """What is said of one series."""

    verdict: Annotated[
        str, key("regression, open, suspect, dismissed, improvement, better, recovered, silent.")
    ]
    value: Annotated[float | None, key("Tonight's median, in SI base units.")]
    rerun: Annotated[float | None, key("The re-run's median.")]
    elsewhere: Annotated[float | None, key("The median of a re-run on other nodes.")]
    reference: Annotated[
        float | None,
        key("The median of the nights before, or the level of the other nodes tonight."),
    ]
    worse: Annotated[
        float | None, key("By what share of the reference it is worse; negative: better.")
    ]
    limit: Annotated[float | None, key("By what share it may be worse.")]
    slow_elsewhere: Annotated[
        bool | None, key("Whether other nodes are slow too; null: not known.")
    ]
    compared_with: Annotated[
        Literal["nights", "nodes"],
        key("What the reference is of: nights before, or other nodes tonight."),
    ]
    nights: Annotated[int, key("Nights of the reference; 0 where it is of nodes.")]
    nodes: Annotated[int, key("Nodes of the reference; 0 where it is of nights.")]
    change: Annotated[FoundChangePart | None, key("The change.")]


class NightForm(Form, kw_only=True):
    """`assay nightly check`, `assay nightly run`, and night.json: the newest night, judged."""

    site: Annotated[str, key("The site.")]
    campaign: Annotated[str, key("The campaign.")]
    run_id: Annotated[str, key("The run.")]
    started_at: Annotated[str, key("When it began (UTC).")]
    verdict: Annotated[str, key("PASS, FAIL, SUSPECT, INCONCLUSIVE or LEARNING.")]
    exit_status: Annotated[int, key("What the command exits with.")]
    answer: Annotated[AnswerPart, key("The answer.")]
    summary: Annotated[str, key("Its sentence.")]
    nodes: Annotated[list[str], key("Nodes of the night.")]
    other_nodes: Annotated[list[str], key("Nodes of re-runs elsewhere.")]
    launches: Annotated[dict[str, int], key("Launches by how they ended.")]
    failures: Annotated[list[str], key("What went wrong.")]
    warnings: Annotated[list[str], key("Warnings of the run.")]
    judged: Annotated[int, key("Series that were compared with earlier nights.")]
    compared: Annotated[int, key("Series that were compared with other nodes tonight.")]
    learning: Annotated[int, key("Series with too few nights to support PASS.")]
    more_nights: Annotated[int, key("How many more nights they need, at least.")]
    finds: Annotated[
        float, key("The least change to be found, a fraction of the reference (`--find`).")
    ]
    not_judged: Annotated[dict[str, int], key("Series that were not, by the reason.")]
    wide_limits: Annotated[
        dict[str, int], key("Series with a limit too wide to be of use, by the reason.")
    ]
    context_changes: Annotated[list[ContextPart], key("What changed since the night before.")]
    findings: Annotated[list[SeriesFindingPart], key("What is said of series.")]
