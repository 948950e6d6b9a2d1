# SPDX-License-Identifier: Apache-2.0
"""The dossier: a judgement with all it rests on, and its form, which is sealed.

The same run, re-runs, criteria file and day give the same bytes of acceptance.json; their SHA-256
is the seal that is printed on every page of the document.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import UNSET, UnsetType, field
from msgspec.structs import asdict, replace

from records.criteria import Criteria
from records.errors import AssayError
from records.forms import Form, Part, as_text, key
from records.run.chain import manifest, sums_text
from records.run.rerun import rerun_ids
from reports.answers import AnswerPart
from reports.judgement import JudgedCriterion, Judgement
from reports.load.loading import Run, load_run
from reports.verdicts.acceptance.judge import judge
from reports.verdicts.acceptance.values import CriterionEvidence, gather

FOLDER = "acceptance"


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
    verified: Annotated[bool, key("True if all holds, against a seal on paper.")]
    run: Annotated[str, key("The run directory.")]
    checks: Annotated[list[VerifiedPart], key("Comparisons that were made.")]


@dataclass(frozen=True)
class Dossier:
    """Everything a document shows; `content` are the bytes of the form, which are sealed."""

    run: Run
    reruns: tuple[Run, ...]
    criteria: Criteria
    evidence: CriterionEvidence
    judgement: Judgement
    day: date
    form: AcceptanceForm
    content: bytes

    @property
    def seal(self) -> str:
        """The SHA-256 of the content."""
        return _sha256(self.content)


def make_dossier(
    run_dir: Path,
    rerun_dirs: Sequence[Path],
    *,
    criteria: Criteria,
    criteria_text: str,
    day: date,
    made_with: str,
) -> Dossier:
    """Judge a run and its re-runs. Raises AssayError for records that cannot be read."""
    run = load_run(run_dir)
    reruns = tuple(_rerun(path, run) for path in rerun_dirs)
    evidence = gather(run, reruns)
    judgement = judge(criteria, evidence, day, len(reruns))
    sums = manifest(run_dir, rerun_dirs)
    form = AcceptanceForm(
        judged_on=day.isoformat(),
        made_with=made_with,
        campaign=run.plan.campaign,
        site=run.plan.site,
        run_id=run.run_id,
        reruns=[part.run_id for part in reruns],
        records=[
            ChainPart.filled(part.chain, run_id=part.run_id, without_chain=0)
            for part in (run, *reruns)
        ],
        criteria_file=CriteriaPart(criteria.name, _sha256(criteria_text.encode())),
        manifest_sha256=_sha256(sums_text(sums).encode()),
        files=sums,
        **judged_keys(judgement, evidence),
    )
    return Dossier(run, reruns, criteria, evidence, judgement, day, form, as_text(form).encode())


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _rerun(path: Path, run: Run) -> Run:
    """A re-run of cases of the run, on the same site."""
    rerun = load_run(path)
    known = rerun_ids(run.plan, rerun.plan)
    foreign = [case.id for case in rerun.plan.cases if case.id not in known]
    if foreign:
        raise AssayError(
            f"{path}: is no re-run of {run.directory}: its case {foreign[0]} is not in that run."
            " A re-run is a run of the campaign file that `assay accept` wrote."
        )
    if rerun.plan.site != run.plan.site:
        raise AssayError(
            f"{path}: was run on site {rerun.plan.site}, the run to be judged on {run.plan.site}"
        )
    if rerun.run_id == run.run_id:
        raise AssayError(f"{path}: is the run itself, not a re-run")
    return rerun


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


#: Keys of items and criteria since schema 4, and those of an accusation before.
_NEW = frozenset({"place", "shares", "decidable", "charged_to", "lacks_rate"})
_ACCUSED = frozenset(
    {"criterion", "environment", "subject", "point"}
    | {"n", "median", "low", "high", "level", "bound"}
)


#: Keys since schema 3, which are left out where they are empty.
_LATER = frozenset({"further_explained", "rerun_pairs"})


def as_of(schema: object, form: dict[str, Any]) -> dict[str, Any]:
    """A form of today as one of an earlier schema has it, to be compared with what was sealed."""
    if not isinstance(schema, int) or schema >= form["schema"]:
        return form
    results = [
        _old(result) | {"items": [*map(_old, result["items"])]} for result in form["results"]
    ]
    findings = []
    for finding in form["findings"]:
        accused = [{name: item[name] for name in _ACCUSED} for item in finding["accusations"]]
        findings.append(finding | {"accusations": accused})
    return _old(form) | {"schema": schema, "results": results, "findings": findings}


def _old(form: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in form.items() if k not in _NEW and (v or k not in _LATER)}
