# SPDX-License-Identifier: Apache-2.0
"""acceptance.json and `assay verify --json`: every key with its meaning.

The same run, re-runs, criteria file and day give the same bytes; their SHA-256 is the seal that is
printed on every page of the document.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, UnsetType, field
from msgspec.structs import asdict, replace

from records.forms import Form, Part, key
from reports.answers import AnswerPart
from reports.judgement import NEW_KEYS, JudgedCriterion, Judgement
from reports.verdicts.acceptance.values import CriterionEvidence


class ChainPart(Part):
    """The records of a run."""

    run_id: Annotated[str, key("The run.")]
    records: Annotated[int, key("Number of records.")]
    without_chain: Annotated[int, key("Number of them that carry no chain (schema 1).")]
    head: Annotated[str, key("The hash in which all of them end.")]


class CriteriaPart(Part):
    """The criteria of a judgement."""

    name: Annotated[str, key("The criteria.")]
    sha256: Annotated[str, key("The checksum of the file.")]


class AcceptanceForm(Judgement, kw_only=True):
    """`assay accept`, and acceptance.json: a judgement with all it rests on; this is sealed."""

    kind: Annotated[Literal["assay-acceptance"], key("Kind of the form.")] = "assay-acceptance"
    judged_on: Annotated[str, key("The day.")]
    made_with: Annotated[str, key("The version of the judging.")]
    campaign: Annotated[str, key("The campaign.")]
    site: Annotated[str, key("The site.")]
    run_id: Annotated[str, key("The run.")]
    reruns: Annotated[list[str], key("Runs that repeated cases of it.")]
    records: Annotated[list[ChainPart], key("The records of the run and of each re-run.")]
    criteria_file: Annotated[CriteriaPart, key("The criteria.")] = field(name="criteria")
    manifest_sha256: Annotated[str, key("The checksum of manifest.sha256, the list of all files.")]
    files: Annotated[dict[str, str], key("Checksums of the files.")]
    answer: Annotated[
        AnswerPart | UnsetType,
        key("The answer, on standard output; the sealed file does not have it."),
    ] = UNSET


class VerifiedPart(Part):
    """Comparison of a verification."""

    what: Annotated[str, key("Title of the comparison.")]
    faults: Annotated[list[str], key("Differences.")]
    note: Annotated[str, key("A remark.")]
    unproven: Annotated[bool, key("True if it could not be verified.")]


class VerifyForm(Form, kw_only=True):
    """`assay verify`: checksums and verdicts recomputed."""

    result: Annotated[str, key("The result in words.")]
    verified: Annotated[bool, key("True if all holds, proven by a signature or a seal.")]
    run: Annotated[str, key("The run directory.")]
    checks: Annotated[list[VerifiedPart], key("Comparisons that were made.")]


def judged_keys(judgement: Judgement, evidence: CriterionEvidence) -> dict[str, Any]:
    """The keys of acceptance.json that come from the judgement. Items share lists of launches, so
    each list is there once, in `launches` of its criterion."""
    places: dict[str, dict[Any, int]] = {}
    criteria: list[JudgedCriterion] = []
    for result in judgement.criteria:
        keys = dict.fromkeys(item.launches for item in result.items)
        place = places[result.id] = {launches: number for number, launches in enumerate(keys)}
        items = tuple(replace(item, launches=place[item.launches]) for item in result.items)
        raw = tuple(tuple(map(evidence.raw_output, launches)) for launches in keys)
        criteria.append(replace(result, items=items, launches=raw))
    findings = [
        replace(
            finding,
            accusations=tuple(
                replace(item, launches=places[item.criterion][item.launches])
                for item in finding.accusations
            ),
        )
        for finding in judgement.findings
    ]
    return asdict(judgement) | {"criteria": tuple(criteria), "findings": tuple(findings)}


#: Keys of an accusation before schema 4.
_ACCUSED = frozenset(
    {"criterion", "environment", "subject", "point"}
    | {"n", "median", "low", "high", "level", "bound"}
)


def as_of(schema: object, form: dict[str, Any]) -> dict[str, Any]:
    """A form of today as one of an earlier schema has it, to be compared with what was sealed."""
    if not isinstance(schema, int) or schema >= form["schema"]:
        return form
    results = []
    for result in form["results"]:
        old = {name: value for name, value in result.items() if name not in NEW_KEYS}
        if not old["further_explained"]:
            del old["further_explained"]
        old["items"] = [
            {name: value for name, value in item.items() if name not in NEW_KEYS}
            for item in result["items"]
        ]
        results.append(old)
    findings = [
        finding
        | {
            "accusations": [
                {name: value for name, value in item.items() if name in _ACCUSED}
                for item in finding["accusations"]
            ]
        }
        for finding in form["findings"]
    ]
    old = form | {"schema": schema, "results": results, "findings": findings}
    gone = {"records"} if schema == 1 else set()
    gone |= set() if form["rerun_pairs"] else {"rerun_pairs"}
    return {name: value for name, value in old.items() if name not in gone}
