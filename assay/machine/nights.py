# SPDX-License-Identifier: Apache-2.0
"""Forms of what concerns nights: `history …`, `nightly run`."""

from __future__ import annotations

from typing import Any, Literal

from assay.machine.form import Form, Part
from assay.machine.runs import AnswerPart


class NightAdded(Form):
    """`assay history add`: a run taken into the history."""

    run_id: str
    """The run's id."""
    site: str
    """Its site."""
    campaign: str
    """Its campaign."""
    series: int
    """Series that have a value."""
    launches: dict[str, int]
    """Launches by how they ended."""


class Accepted(Form):
    """`assay history accept-change`: changes taken as the new reference."""

    changes: list[int]
    """Their numbers."""
    author: str
    """Who accepts."""
    reason: str
    """Why."""


class Group(Part):
    """A campaign on a site."""

    campaign: str
    """The campaign."""
    site: str
    """The site."""
    nights: int
    """Nights in the history."""


class NightListed(Part):
    """A night in the history."""

    run_id: str
    """Its run."""
    started_at: str
    """When it began (UTC)."""
    launches: dict[str, int]
    """Launches by how they ended."""
    changes_found: int
    """Changes that were found that night."""


class MissedNight(Part):
    """A night that could not run."""

    site: str
    """The site."""
    campaign: str
    """The campaign."""
    at: str
    """When that was known (UTC)."""
    reason: str
    """Why."""


class ChangeListed(Part):
    """A change of one series."""

    id: int
    """Its number, as `accept-change` takes it."""
    kind: Literal["regression", "improvement"]
    """Worse or better."""
    stage: Literal["tonight", "lasting", "drift", "early", "peers"]
    """How it was found; early: a step in the first nights; peers: beside the other nodes."""
    since: str
    """The night from which on it holds (UTC)."""
    state: Literal["open", "went back", "accepted", "new reference"]
    """What became of it."""
    case_id: str
    """The case."""
    check: str
    """The check."""
    environment: str
    """The environment."""
    metric: str
    """The metric."""
    unit: str
    """Its SI unit."""
    better: Literal["higher", "lower"]
    """Which direction is better."""
    at: dict[str, Any]
    """The point."""
    before: float
    """Median before, in SI base units."""
    after: float
    """Median after."""
    author: str | None
    """Who accepted it."""
    reason: str | None
    """Why it was accepted."""


class HistoryShown(Form):
    """`assay history show`: nights and changes of the group asked for."""

    groups: list[Group]
    """All campaigns and sites of the history."""
    site: str | None
    """The site of the nights below; null: there are none."""
    campaign: str | None
    """Their campaign."""
    nights: list[NightListed]
    """Nights, the oldest first."""
    missed: list[MissedNight]
    """Nights that could not run."""
    changes: list[ChangeListed]
    """Every change that was found."""


class CampaignHeard(Part):
    """A campaign on a site and its newest night."""

    site: str
    """The site."""
    campaign: str
    """The campaign."""
    newest: str
    """When the newest night began (UTC); empty: there never was one."""
    age_s: float
    """How long ago that is, or the first night that could not run, s."""
    silent: bool
    """Whether that is longer than it may be."""
    why: str
    """The newest night since then that could not run, and its reason; empty: none is known."""


class HistorySilent(Form):
    """`assay history silent`: nights that did not come."""

    after_s: float
    """From how long on a campaign is silent, s."""
    campaigns: list[CampaignHeard]
    """Each campaign that was asked for."""


class ContextChanged(Part):
    """Something that changed since the night before."""

    name: str
    """What it is."""
    before: str | None
    """What it was."""
    after: str | None
    """What it is."""


class ChangeOfFinding(Part):
    """The change behind a finding."""

    id: int
    """Its number."""
    kind: str
    """regression or improvement."""
    stage: str
    """How it was found."""
    since: str | None
    """The night from which on it holds; null: not known."""
    before: float
    """Median before."""
    after: float
    """Median after."""
    nights_before: int
    """Nights, or of stage peers nodes, behind the median before."""


class FindingTold(Part):
    """What is said of one series."""

    verdict: str
    """regression, open, suspect, dismissed, improvement, better, recovered, silent."""
    case_id: str
    """The case."""
    check: str
    """The check."""
    environment: str
    """The environment."""
    metric: str
    """The metric."""
    unit: str
    """Its SI unit."""
    better: Literal["higher", "lower"]
    """Which direction is better."""
    at: dict[str, Any]
    """The point."""
    value: float | None
    """Tonight's median, in SI base units."""
    rerun: float | None
    """The re-run's median."""
    elsewhere: float | None
    """The median of a re-run on other nodes."""
    reference: float | None
    """The median of the nights before, or the level of the other nodes tonight."""
    worse: float | None
    """By what share of the reference it is worse; negative: better."""
    limit: float | None
    """By what share it may be worse."""
    slow_elsewhere: bool | None
    """Whether other nodes are slow too; null: not known."""
    compared_with: Literal["nights", "nodes"]
    """What the reference is of: nights before, or other nodes tonight."""
    nights: int
    """Nights of the reference; 0 where it is of nodes."""
    nodes: int
    """Nodes of the reference; 0 where it is of nights."""
    change: ChangeOfFinding | None
    """The change."""


class NightTold(Form, extra="allow"):
    """`assay history check`, `assay nightly run`, and night.json: the newest night, judged."""

    site: str
    """The site."""
    campaign: str
    """The campaign."""
    run_id: str
    """The run."""
    started_at: str
    """When it began (UTC)."""
    verdict: str
    """PASS, FAIL, SUSPECT, INCONCLUSIVE or LEARNING."""
    exit_status: int
    """What the command exits with."""
    answer: AnswerPart
    """The answer."""
    summary: str
    """Its sentence."""
    nodes: list[str]
    """Nodes of the night."""
    other_nodes: list[str]
    """Nodes of re-runs elsewhere."""
    launches: dict[str, int]
    """Launches by how they ended."""
    failures: list[str]
    """What went wrong."""
    warnings: list[str]
    """Warnings of the run."""
    judged: int
    """Series that were compared with earlier nights."""
    compared: int
    """Series that were compared with other nodes tonight."""
    learning: int
    """Series with too few nights to support PASS."""
    more_nights: int
    """How many more nights they need, at least."""
    finds: float
    """The least change to be found, a fraction of the reference (`--find`)."""
    not_judged: dict[str, int]
    """Series that were not, by the reason."""
    wide_limits: dict[str, int]
    """Series with a limit too wide to be of use, by the reason."""
    context_changes: list[ContextChanged]
    """What changed since the night before."""
    findings: list[FindingTold]
    """What is said of series."""
