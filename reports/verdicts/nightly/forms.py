# SPDX-License-Identifier: Apache-2.0
"""Findings of a night and changes of a history: the judge's structs, which are the keys of
night.json and of `assay nightly --json`, and the columns of tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from records.forms import Form, Part, key
from records.history.model import Kind, Stage
from reports.answers import AnswerPart
from reports.notation.units import percent
from reports.show.tables import Cell, in_unit

#: regression: found tonight, confirmed. open: found earlier, still there, not accepted. suspect:
#: slower than allowed; re-run needed. dismissed: the re-run was good. improvement: stays. better:
#: tonight only. recovered: a regression that went back by itself. silent: no value, or zero, where
#: there was one night after night. The other three are of series without a finding.
Verdict = Literal[
    "regression",
    "open",
    "silent",
    "suspect",
    "dismissed",
    "recovered",
    "improvement",
    "better",
    "as usual",
    "learning",
    "not judged",
]


#: Tones of findings, the gravest foremost.
TONES: dict[Verdict, Literal["", "bad", "open", "good"]] = {
    "regression": "bad",
    "open": "bad",
    "silent": "bad",
    "suspect": "open",
    "dismissed": "",
    "recovered": "",
    "improvement": "good",
    "better": "",
}


def verdict_cell(verdict: Verdict) -> Cell:
    """A verdict in its tone."""
    return Cell(verdict, tone=TONES.get(verdict, ""))


def moment(at: str) -> str:
    """The day, and the time to the minute (UTC)."""
    return at[:16].replace("T", " ")


def causes_text(causes: list[str]) -> str:
    """Changes of that night in one text."""
    return "; ".join(causes) or "nothing known"


def _signed(worse: float) -> str:
    return f"{'+' if worse >= 0 else '−'}{percent(abs(worse))}"


def _figure(text: str, title: str, show: Callable[..., str] = in_unit) -> Any:
    """`key` of a figure, in a column that is set flush right."""
    return key(text, title, show, numeric=True)


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


class SeriesPart(Part, kw_only=True):
    """Key of a series, and its names."""

    name: Annotated[str, key("Check, environment, and case among the check's.", "series")]
    point: Annotated[str, key("Metric and point.", "point")]
    case_id: Annotated[str, key("The case.")]
    check: Annotated[str, key("The check.")]
    environment: Annotated[str, key("The environment.")]
    metric: Annotated[str, key("The metric.")]
    unit: Annotated[str, key("Its SI unit.")]
    better: Annotated[Literal["higher", "lower", "unknown"], key("Which direction is better.")]
    at: Annotated[dict[str, Any], key("The point.")]


class ChangePart(SeriesPart, kw_only=True):
    """A change of one series."""

    id: Annotated[int, key("Its number, as `accept-change` takes it; 0: none yet.", "no.")]
    since: Annotated[str, key("Its first night (UTC); early: at the latest.", "since", moment)]
    kind: Annotated[Kind, key("Worse or better.", "kind")]
    stage: Annotated[
        Stage, key("early: a step in the first nights; peers: beside other nodes.", "found by")
    ]
    before: Annotated[float, key("Median before, in SI base units.", "before", in_unit)]
    after: Annotated[float, key("Median after.", "after", in_unit)]
    n_before: Annotated[int, key("Nights, or of stage peers nodes, behind the median before.")]
    size: Annotated[str, key("How the medians compare, in words.", "change")]
    causes: Annotated[
        list[str], key("Changes known of that night.", "changed that night", causes_text)
    ]
    state: Annotated[
        Literal["open", "went back", "accepted", "new reference"], key("Its state.", "state")
    ]
    author: Annotated[str | None, key("Who accepted it.", "accepted by")]
    reason: Annotated[str | None, key("Why it was accepted.", "because")]


class HistoryForm(Form, kw_only=True):
    """`assay nightly show`: nights and changes of the group asked for."""

    groups: Annotated[list[GroupPart], key("All campaigns and sites of the history.")]
    site: Annotated[str | None, key("The site of the nights below; null: there are none.")]
    campaign: Annotated[str | None, key("Their campaign.")]
    nights: Annotated[list[NightPart], key("Nights, the oldest first.")]
    missed: Annotated[list[MissedPart], key("Nights that could not run.")]
    changes: Annotated[list[ChangePart], key("Every change that was found.")]


class ContextPart(Part):
    """Something that changed since the night before."""

    name: Annotated[str, key("What it is.", "what")]
    before: Annotated[str | None, key("What it was.", "before")]
    after: Annotated[str | None, key("What it is.", "tonight")]


class NightFinding(SeriesPart, kw_only=True):
    """Finding of one series."""

    series: Annotated[int, key("Its position among the series of the history.")]
    verdict: Annotated[Verdict, key("What is said.", "verdict", verdict_cell)]
    value: Annotated[float | None, _figure("Tonight's median, in SI base units.", "tonight")]
    reference: Annotated[
        float | None, _figure("Median of nights before, or of other nodes tonight.", "reference")
    ]
    worse: Annotated[
        float | None, _figure("By what share it is worse; negative: better.", "worse by", _signed)
    ]
    limit: Annotated[float | None, _figure("By what share it may be worse.", "limit", percent)]
    compared_with: Annotated[
        Literal["nights", "nodes"], key("Nights before, or other nodes tonight.", "of")
    ]
    n: Annotated[int, key("Nights or nodes of the reference.", "n", numeric=True)]
    rerun: Annotated[float | None, _figure("The re-run's median.", "run again")]
    elsewhere: Annotated[
        float | None, _figure("The median of a re-run on other nodes.", "on other nodes")
    ]
    slow_elsewhere: Annotated[bool | None, key("True if other nodes are slow; null: not known.")]
    note: Annotated[str, key("Why it is not judged, or can support no PASS.", "note")] = ""
    change: Annotated[ChangePart | None, key("The change.")] = None

    @property
    def size(self) -> float:
        """Distance of tonight from the reference, either way; 0 where it has no value."""
        return abs(self.worse or 0.0)

    @property
    def of_peers(self) -> bool:
        """True where the reference is the level of other nodes tonight, not of nights before."""
        return self.compared_with == "nodes"


class NightForm(Form, kw_only=True):
    """`assay nightly check`, `assay nightly run`, and night.json: the newest night, judged."""

    schema: Annotated[int, key("The version of this form.")] = 2
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
    finds: Annotated[float, key("The least change to be found (`--find`), a fraction.")]
    not_judged: Annotated[dict[str, int], key("Series that were not, by the reason.")]
    wide_limits: Annotated[dict[str, int], key("Series with too wide a limit, by the reason.")]
    context_changes: Annotated[list[ContextPart], key("What changed since the night before.")]
    findings: Annotated[list[NightFinding], key("What is said of series.")]
