# SPDX-License-Identifier: Apache-2.0
"""A stage run, gone on with where it was killed, judged, and judged again once waived.

A stage is a run of its campaign; the log learns of the run before its first launch. Each judgement
is kept in the contract's folder by its seal, so that none replaces another.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from assay.contracts.judging import judged_run
from assay.contracts.loading import started_stage
from assay.contracts.planning import narrowing_of
from assay.run.start import resume_run, start_run
from assay.run.status import run_status
from records.contract.course import ContractCourse
from records.contract.log import ContractFolder, LogEntry
from records.contract.model import Stage
from records.criteria import Waiver
from records.errors import AssayError
from records.files import write_whole
from records.run.run_directory import RunDirectory, open_run

#: Where judgements are kept, below the contract's folder.
JUDGEMENTS = "judgements"


def refuse_blocked(course: ContractCourse, stage: Stage) -> None:
    """Raise AssayError where an earlier stage holds up this one."""
    for before in course.contract.stages:
        if before.name == stage.name:
            return
        verdict = course.verdict_of(before.name)
        if before.holds_up and verdict != "PASS":
            raise AssayError(
                f"stage {stage.name} waits: stage {before.name}, which holds up later ones, is"
                f" {verdict}. Repeat it: assay acceptance next {before.name}; or waive it: assay"
                f" acceptance waive {before.name} --by NAME --reason TEXT"
            )


def run_stage(
    folder: ContractFolder, course: ContractCourse, stage: Stage, live: bool | None
) -> None:
    """Run a stage that is a campaign, or go on with its attempt under way, and judge it."""
    loaded, attempts = started_stage(course, stage, folder), course.attempts(stage.name)
    current = attempts[-1] if attempts and not attempts[-1].ended else None
    number = current.number if current else len(attempts) + 1

    def begun(run: RunDirectory) -> None:
        path = os.path.relpath(run.path, folder.path)
        folder.append("begun", stage=stage.name, attempt=number, run=path)

    if current is None:
        narrowing = narrowing_of(stage)
        status = start_run(
            loaded.campaign_file, course.site, live, narrowing=narrowing, begun=begun
        )
        runs = [Path(status.path)]
    else:
        runs = [found_run(folder, path) for path in current.runs]
        for path in runs:
            if not run_status(open_run(str(path))).complete:
                resume_run(str(path), None, live)
    criteria, text = loaded.with_waivers(waivers_of(course, stage.name))
    dossier = judged_run(
        open_run(str(runs[0])), criteria, text, runs[1:], rerun=True, live=live, begun=begun
    )
    keep(folder, stage.name, number, dossier.judgement.verdict, dossier.content)


def judge_again(folder: ContractFolder, course: ContractCourse, stage: Stage) -> None:
    """Judge the latest attempt at a stage with the waivers there are now; nothing is run."""
    attempts = course.attempts(stage.name)
    if not attempts or not attempts[-1].ended:
        return
    latest = attempts[-1]
    loaded = started_stage(course, stage, folder)
    criteria, text = loaded.with_waivers(waivers_of(course, stage.name))
    first, *others = (found_run(folder, path) for path in latest.runs)
    dossier = judged_run(open_run(str(first)), criteria, text, others)
    keep(folder, stage.name, latest.number, dossier.judgement.verdict, dossier.content)


def waivers_of(course: ContractCourse, stage: str) -> list[Waiver]:
    """The waivers of a stage as its criteria take them."""
    return [
        Waiver(
            criterion=one.criterion,
            subject=one.subject or None,
            author=one.by,
            reason=one.reason,
            expires=one.until,
        )
        for one in course.waivers(stage)
    ]


def found_run(folder: ContractFolder, path: str) -> Path:
    """A run by its path from the contract's folder, as short as it can be said."""
    found = (folder.path / path).resolve()
    if not found.is_dir():
        raise AssayError(f"{folder.path}: its run {path} is not there; bring it back to {found}")
    return found.relative_to(Path.cwd()) if found.is_relative_to(Path.cwd()) else found


def keep(
    folder: ContractFolder, stage: str, attempt: int, verdict: str, content: bytes
) -> LogEntry:
    """Keep a judgement by its seal, then say in the log that it was made."""
    kept, seal = folder.path / JUDGEMENTS, hashlib.sha256(content).hexdigest()
    kept.mkdir(exist_ok=True)
    write_whole(kept / f"{seal}.json", content)
    return folder.append("ended", stage=stage, attempt=attempt, verdict=verdict, seal=seal)
