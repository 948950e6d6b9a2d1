# SPDX-License-Identifier: Apache-2.0
"""The dossier: a judgement with all it rests on, in the machine form that is sealed.

The same run, re-runs, criteria file and day give the same bytes; their SHA-256 is the seal that
stands on every page of the document.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import msgspec

from records.criteria import Criteria
from records.errors import AssayError
from records.rerun import rerun_ids
from reports.acceptance.bounds import Bounds
from reports.acceptance.digests import manifest, sums_text
from reports.acceptance.judge import judge
from reports.acceptance.model import Finding, JudgedCriterion, Judgement
from reports.acceptance.values import Evidence, gather
from reports.load.loading import Run, load_run
from reports.notation.values import as_bytes

FOLDER = "acceptance"
#: Schema 2 added `records`: how many each run has, and the head of their chain; schema 3 groups,
#: links and cuts (`about`, `nodes`), absolute limits and what was left out.
SCHEMA = 3


@dataclass(frozen=True)
class Dossier:
    """Everything a document shows; `content` is the machine form."""

    run: Run
    reruns: tuple[Run, ...]
    criteria: Criteria
    evidence: Evidence
    judgement: Judgement
    day: date
    content: bytes
    manifest_sha256: str
    criteria_sha256: str
    made_with: str
    files: Mapping[str, str]

    @property
    def chains(self) -> list[dict[str, Any]]:
        """Of the run and each re-run how many records it has, and the head of their chain."""
        return [_chain(part) for part in (self.run, *self.reruns)]

    @property
    def seal(self) -> str:
        """The SHA-256 of the machine form."""
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
    manifest_sha256 = _sha256(sums_text(sums).encode())
    criteria_sha256 = _sha256(criteria_text.encode())
    content = {
        "schema": SCHEMA,
        "kind": "assay-acceptance",
        "verdict": judgement.verdict,
        "judged_on": day.isoformat(),
        "made_with": made_with,
        "campaign": run.plan.campaign,
        "site": run.plan.site,
        "run_id": run.run_id,
        "reruns": [part.run_id for part in reruns],
        "records": [_chain(part) for part in (run, *reruns)],
        "criteria": {"name": criteria.name, "sha256": criteria_sha256},
        "manifest_sha256": manifest_sha256,
        "named": [f.title for f in judgement.named],
        "findings": [_finding(f) for f in judgement.findings],
        "results": [_result(result, evidence) for result in judgement.criteria],
        "left_out": [{"id": name, "note": note} for name, note in judgement.left_out],
        "absolute": judgement.absolute,
        "proposals": list(judgement.proposals),
        "waivers": [{**w.waiver.model_dump(), "state": w.state} for w in judgement.waivers],
        "rerun_wanted": list(judgement.rerun),
        "files": sums,
    }
    some = {case: list(pairs) for case, pairs in judgement.rerun.items() if pairs}
    content |= {"rerun_pairs": some} if some else {}
    return Dossier(
        run=run,
        reruns=reruns,
        criteria=criteria,
        evidence=evidence,
        judgement=judgement,
        day=day,
        content=msgspec.json.format(as_bytes(content), indent=1) + b"\n",
        manifest_sha256=manifest_sha256,
        criteria_sha256=criteria_sha256,
        made_with=made_with,
        files=sums,
    )


def _chain(run: Run) -> dict[str, Any]:
    """How many records a run has, and the hash in which all of them end."""
    return {
        "run_id": run.run_id,
        "records": run.chain.records,
        "without_chain": run.chain.unchained,
        "head": run.chain.head,
    }


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


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "kind": finding.kind,
        "name": finding.name,
        "nodes": list(finding.nodes),
        "state": finding.state,
        "note": finding.note,
        "criteria": sorted({accusation.criterion for accusation in finding.accusations}),
        "accusations": [
            {
                "criterion": accusation.criterion,
                "environment": accusation.item.environment,
                "subject": accusation.item.subject,
                "point": accusation.item.group,
                **_bounds(accusation.item.bounds),
            }
            for accusation in finding.accusations
        ],
    }


def _result(result: JudgedCriterion, evidence: Evidence) -> dict[str, Any]:
    """A criterion; items share lists of launches, so each list stands once in `launches`."""
    lists = dict.fromkeys(item.launches for item in result.items)
    sets = {keys: place for place, keys in enumerate(lists)}
    return {
        "id": result.id,
        "kind": result.kind,
        "title": result.title,
        "statement": result.statement,
        "verdict": result.verdict,
        "without_waived": result.effective,
        "note": result.note,
        "absolute": result.absolute,
        "further_passed": result.further,
        **({"further_explained": result.explained} if result.explained else {}),
        "items": [
            {
                "subject": item.subject,
                "about": item.about,
                "point": item.group,
                "environment": item.environment,
                "metric": item.metric,
                "unit": item.unit,
                **_bounds(item.bounds),
                "at_least": item.at_least,
                "at_most": item.at_most,
                "margin": item.margin,
                "measured": item.measured,
                "measured_unit": item.measured_unit,
                "verdict": item.verdict,
                "state": item.state,
                "waived": item.waived,
                "note": item.note,
                "launches": sets[item.launches],
            }
            for item in result.items
        ],
        "launches": [[evidence.raw_output(key) for key in keys] for keys in sets],
    }


def _bounds(bounds: Bounds) -> Mapping[str, Any]:
    return {
        "n": bounds.n,
        "median": bounds.centre,
        "low": bounds.low,
        "high": bounds.high,
        "level": bounds.level,
        "bound": bounds.method,
    }
