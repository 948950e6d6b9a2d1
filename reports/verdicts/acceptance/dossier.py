# SPDX-License-Identifier: Apache-2.0
"""The dossier: a judgement with all it rests on, and the machine form that is sealed."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from records.criteria import Criteria
from records.errors import AssayError
from records.forms import as_text
from records.run.chain import manifest, sums_text
from records.run.rerun import rerun_ids
from reports.judgement import Judgement
from reports.load.loading import Run, load_run
from reports.verdicts.acceptance.forms import AcceptanceForm, ChainPart, CriteriaPart, judged_keys
from reports.verdicts.acceptance.judge import judge
from reports.verdicts.acceptance.values import CriterionEvidence, gather

FOLDER = "acceptance"


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
