# SPDX-License-Identifier: Apache-2.0
"""acceptance.json and `assay verify --json`: every key with its meaning.

The same run, re-runs, criteria file and day give the same bytes; their SHA-256 is the seal that is
printed on every page of the document.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, UnsetType, to_builtins

from records.forms import Form, Part, key
from reports.answers import AnswerPart
from reports.statistics.bounds import Bounds, Verdict
from reports.verdicts.acceptance.model import (
    AcceptanceFinding,
    AcceptanceJudgement,
    Item,
    JudgedCriterion,
)
from reports.verdicts.acceptance.values import CriterionEvidence


class ChainPart(Part):
    """The records of a run."""

    run_id: Annotated[str, key("The run.")]
    records: Annotated[int, key("How many records.")]
    without_chain: Annotated[int, key("How many of them carry no chain (schema 1).")]
    head: Annotated[str, key("The hash in which all of them end.")]


class CriteriaPart(Part):
    """What was judged by."""

    name: Annotated[str, key("The criteria.")]
    sha256: Annotated[str, key("The checksum of the file.")]


class BoundsPart(Part):
    """A value with its bounds, in its unit."""

    n: Annotated[int, key("Launches.")]
    median: Annotated[float, key("The centre.")]
    low: Annotated[float | None, key("Lower bound.")]
    high: Annotated[float | None, key("Upper bound.")]
    level: Annotated[float, key("The level of each bound, one-sided.")]
    bound: Annotated[str, key("How they were made.")]


class AccusationPart(BoundsPart):
    """A value that speaks against what is named."""

    criterion: Annotated[str, key("The criterion.")]
    environment: Annotated[str, key("The environment.")]
    subject: Annotated[str, key("What was judged.")]
    point: Annotated[str, key("At which point.")]


class FindingPart(Part):
    """A node, link, cut, or something without a value."""

    kind: Annotated[str, key("node, group, link, cut, pair, unsteady, missing.")]
    name: Annotated[str, key("Its name.")]
    nodes: Annotated[list[str], key("The nodes concerned.")]
    state: Annotated[
        Literal["suspected", "confirmed", "not confirmed", "missing"],
        key("suspected: a re-run decides; not confirmed: re-runs cleared it."),
    ]
    note: Annotated[str, key("What else is known.")]
    criteria: Annotated[list[str], key("The criteria that it is beyond.")]
    accusations: Annotated[list[AccusationPart], key("The values behind it.")]


class ItemPart(BoundsPart):
    """One value held against its limit."""

    subject: Annotated[str, key("What was judged: a case, a node, a pair.")]
    about: Annotated[str, key("value, node, group, link, cut, pair, unsteady, missing.")]
    point: Annotated[str, key("At which point.")]
    environment: Annotated[str, key("The environment.")]
    metric: Annotated[str, key("The metric.")]
    unit: Annotated[str, key("The unit of median, bounds and limits.")]
    at_least: Annotated[float | None, key("The limit from below.")]
    at_most: Annotated[float | None, key("The limit from above.")]
    margin: Annotated[
        float | None,
        key("Distance of the median from the limit, as a share of it; negative: beyond."),
    ]
    measured: Annotated[float | None, key("The plain value behind a share.")]
    measured_unit: Annotated[str, key("Its SI unit.")]
    verdict: Annotated[Verdict, key("The verdict.")]
    state: Annotated[str | None, key("What re-runs say of it.")]
    waived: Annotated[bool, key("Whether a waiver covers it.")]
    note: Annotated[str, key("A remark.")]
    launches: Annotated[int, key("Its launches: the place in the criterion's `launches`.")]


class CriterionPart(Part, kw_only=True):
    """A criterion and what became of it."""

    id: Annotated[str, key("Its id.")]
    kind: Annotated[
        str, key("limit, efficiency, ratio, spread, nodes, links, answers, nodes-measured.")
    ]
    title: Annotated[str, key("Its title.")]
    statement: Annotated[str, key("What must hold.")]
    verdict: Annotated[Verdict, key("The verdict of all items.")]
    without_waived: Annotated[Verdict, key("The verdict without what is waived.")]
    note: Annotated[str, key("A remark.")]
    absolute: Annotated[bool, key("Whether the limit does not come from the machine itself.")]
    further_passed: Annotated[int, key("Items that passed and are not listed.")]
    further_explained: Annotated[
        int | UnsetType, key("Pairs that a slow link or cut among the items explains.")
    ] = UNSET
    items: Annotated[list[ItemPart], key("The values judged.")]
    launches: Annotated[
        list[Any], key("Raw output of launches, a list for each set that items share.")
    ]


class LeftOutPart(Part):
    """A criterion that was not judged."""

    id: Annotated[str, key("Its id.")]
    note: Annotated[str, key("Why.")]


class AcceptanceForm(Form, kw_only=True):
    """`assay accept`, and acceptance.json: a judgement with all it rests on; this is sealed."""

    # Schema 2 added `records`; schema 3 groups, links and cuts (`about`, `nodes`), absolute limits
    # and what was left out.
    schema: Annotated[int, key("The version of this form.")] = 3
    kind: Annotated[Literal["assay-acceptance"], key("What this is.")]
    verdict: Annotated[Verdict, key("The verdict.")]
    judged_on: Annotated[str, key("The day.")]
    made_with: Annotated[str, key("The version of the judging.")]
    campaign: Annotated[str, key("The campaign.")]
    site: Annotated[str, key("The site.")]
    run_id: Annotated[str, key("The run.")]
    reruns: Annotated[list[str], key("Runs that repeated cases of it.")]
    records: Annotated[list[ChainPart], key("The records of the run and of each re-run.")]
    criteria: Annotated[CriteriaPart, key("The criteria.")]
    manifest_sha256: Annotated[str, key("The checksum of manifest.sha256, the list of all files.")]
    named: Annotated[list[str], key("What is named, in words.")]
    findings: Annotated[list[FindingPart], key("What is or was suspected.")]
    results: Annotated[list[CriterionPart], key("The criteria.")]
    left_out: Annotated[list[LeftOutPart], key("Criteria that were not judged.")]
    absolute: Annotated[bool, key("Whether an absolute limit is met.")]
    proposals: Annotated[list[str], key("Absolute criteria that the site's nominal rates allow.")]
    waivers: Annotated[list[dict[str, Any]], key("Waivers with what became of them.")]
    rerun_wanted: Annotated[list[str], key("Cases that should be run again.")]
    rerun_pairs: Annotated[
        dict[str, list[str]] | UnsetType,
        key("Of a scan of pairs among them the pairs that are enough, n1:n2, by case."),
    ] = UNSET
    files: Annotated[dict[str, str], key("Checksums of the files.")]
    answer: Annotated[
        AnswerPart | UnsetType,
        key("The answer, on standard output; the sealed file does not have it."),
    ] = UNSET


class VerifiedPart(Part):
    """One thing that was verified."""

    what: Annotated[str, key("What it is.")]
    faults: Annotated[list[str], key("What differs.")]
    note: Annotated[str, key("A remark.")]
    unproven: Annotated[bool, key("Whether it could not be verified.")]


class VerifyForm(Form, kw_only=True):
    """`assay verify`: checksums and verdicts recomputed."""

    result: Annotated[str, key("The result in words.")]
    verified: Annotated[bool, key("Whether all holds, against a seal on paper.")]
    run: Annotated[str, key("The run directory.")]
    checks: Annotated[list[VerifiedPart], key("What was verified.")]


def judged_keys(judgement: AcceptanceJudgement, evidence: CriterionEvidence) -> dict[str, Any]:
    """The keys of acceptance.json that come from the judgement."""
    pairs = {case: list(pairs) for case, pairs in judgement.rerun.items() if pairs}
    return {
        "verdict": judgement.verdict,
        "named": [finding.title for finding in judgement.named],
        "findings": [_finding(finding) for finding in judgement.findings],
        "results": [_criterion(result, evidence) for result in judgement.criteria],
        "left_out": [LeftOutPart(*one) for one in judgement.left_out],
        "absolute": judgement.absolute,
        "proposals": list(judgement.proposals),
        "waivers": [{**w.waiver.model_dump(), "state": w.state} for w in judgement.waivers],
        "rerun_wanted": list(judgement.rerun),
        "rerun_pairs": pairs or UNSET,
    }


def criterion_of(part: CriterionPart) -> JudgedCriterion:
    """The judged criterion that a form keeps; its launches are in the form only."""
    items = tuple(
        Item(
            **{name: getattr(part_of_item, name) for name in _KEPT},
            bounds=Bounds(*(getattr(part_of_item, name) for name in BoundsPart.__struct_fields__)),
            group=part_of_item.point,
            launches=(),
        )
        for part_of_item in part.items
    )
    return JudgedCriterion(
        part.id,
        part.kind,
        part.title,
        part.statement,
        items,
        part.note,
        part.further_passed,
        part.absolute,
        part.further_explained or 0,
    )


#: The keys of an item's form that the item has by the same name.
_KEPT = sorted({*ItemPart.__struct_fields__} & {*Item.__dataclass_fields__} - {"launches"})


def _finding(finding: AcceptanceFinding) -> FindingPart:
    """What is named, with the values that speak against it."""
    accusations = [
        AccusationPart.filled(one.item, criterion=one.criterion, **_shared(one.item))
        for one in finding.accusations
    ]
    criteria = sorted({one.criterion for one in finding.accusations})
    return FindingPart.filled(finding, criteria=criteria, accusations=accusations)


def _criterion(result: JudgedCriterion, evidence: CriterionEvidence) -> CriterionPart:
    """A criterion; items share lists of launches, so each list is there once, in `launches`."""
    lists = dict.fromkeys(item.launches for item in result.items)
    sets = {keys: place for place, keys in enumerate(lists)}
    return CriterionPart.filled(
        result,
        without_waived=result.effective,
        further_passed=result.further,
        further_explained=result.explained or UNSET,
        items=[
            ItemPart.filled(item, launches=sets[item.launches], **_shared(item))
            for item in result.items
        ],
        launches=[[evidence.raw_output(key) for key in keys] for keys in sets],
    )


def _shared(item: Item) -> dict[str, Any]:
    """The point and the bounds of an item, which have other names in the form."""
    bounds = item.bounds
    found = BoundsPart.filled(bounds, median=bounds.centre, bound=bounds.method)
    return {"point": item.group, **to_builtins(found)}
