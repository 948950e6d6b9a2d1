# SPDX-License-Identifier: Apache-2.0
"""A stage planned, run, gone on with where it was killed, judged, and judged again once waived.

What a contract risks follows from the plans of its stages and the spreads that earlier runs show. A
stage is a run of its campaign; the log learns of the run before its first launch. Each judgement
is kept in the contract's folder by its seal, so that none replaces another.
"""

import hashlib
import os
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from math import sqrt
from pathlib import Path

import numpy as np

from assay.cli.accept import judged_run
from assay.plan.cases import Narrowing
from assay.plan.planner import completed, make_plan
from assay.plan.times import earlier_times
from assay.run.start import resume_run, start_run
from assay.run.status import fitting, run_status
from assay.sites.loading import site_to_plan_for
from assay.sites.site import Site
from plugins.contract.forms import ContractRisk, KeptJudgement, read_judgement
from plugins.contract.loading import LoadedStage, loaded_stage, started_stage, with_waivers
from plugins.contract.log import ContractCourse, ContractFolder, LogEntry
from plugins.contract.mixes import NO_MIX
from plugins.contract.model import Contract, Stability, Stage
from plugins.contract.risks import contract_risks
from plugins.contract.stability.booking import booked
from plugins.contract.stability.command import book
from plugins.contract.stability.judge import Figures, period_judgement
from plugins.contract.stability.ledger import ClusterLook, Entry, WatchFolder, WatchTerms
from records.criteria import MixCriterion, SpreadCriterion, SuccessCriterion, Waiver
from records.errors import AssayError, ExitStatus
from records.files import write_whole
from records.forms import as_text
from records.input_files import read_whole, whole_lines
from records.run.chain import digest
from records.run.plan import Plan
from records.run.run_directory import RunDirectory, open_run
from reports.load.loading import load_run
from reports.notation.units import percent
from reports.verdicts.acceptance.judge import judge
from reports.verdicts.acceptance.values import gather, stated_rates

#: Launches of a case below which an earlier run shows no spread.
LEAST_LAUNCHES = 3


def narrowing_of(stage: Stage) -> Narrowing:
    """Part of its campaign that a stage leaves."""
    return Narrowing(
        tuple(stage.environments), tuple(stage.checks), blocks=stage.repeats, scale=stage.scale
    )


def planned(
    contract: Contract, folder: Path, site_name: str
) -> tuple[list[LoadedStage], list[ContractRisk]]:
    """The stages that are campaigns, and the risks of all. Raises AssayError for a fault in what a
    stage names, a stage that cannot be planned, and a promise beyond what the site can give."""
    site, note = site_to_plan_for(site_name)
    if note:
        print(note, file=sys.stderr)
    stages = [loaded_stage(contract, one, folder) for one in contract.stages if one.campaign]
    plans = [(one, _plan(one, site)) for one in stages]
    seen = {
        (loaded.stage.name, name): told
        for loaded, plan in plans
        for name, told in _seen(loaded, plan)
    }
    rates = stated_rates(site.provenance())
    return stages, contract_risks(contract, plans, rates, site.facts().nodes, seen)


def _plan(loaded: LoadedStage, site: Site) -> Plan:
    """The plan of a stage; a criterion that judges nothing of it is a fault."""
    name, campaign = loaded.stage.name, loaded.campaign
    try:
        varied = site.with_possible_variants(campaign.variants)
        earlier = earlier_times(varied.provenance(), campaign.name)
        whole = completed(campaign, varied)
        plan = make_plan(whole, varied.facts(), narrowing_of(loaded.stage), earlier=earlier)
    except AssayError as error:
        raise AssayError(f"stage {name}: {error}", error.status) from error
    checks = {case.check for case in plan.cases}
    for one in loaded.criteria.criteria:
        if isinstance(one, MixCriterion) and not plan.mix_blocks:
            raise AssayError(
                f"stage {name}, criterion {one.id}: judges a mix, and campaign {campaign.name}"
                f" {NO_MIX}"
            )
        if one.check not in checks and not (isinstance(one, MixCriterion) and not one.check):
            raise AssayError(
                f"stage {name}, criterion {one.id}: judges check {one.check}, which campaign"
                f" {campaign.name} does not run in this stage; it runs {', '.join(sorted(checks))}"
            )
    return plan


def _seen(loaded: LoadedStage, plan: Plan) -> Iterator[tuple[str, tuple[float, str]]]:
    """By criterion the pooled coefficient of variation of what it judged, in the newest run of the
    same campaign on the same site, and how that is called."""
    like = fitting(lambda run: (run.plan().campaign, run.plan().site) == (plan.campaign, plan.site))
    run = next(like, None)
    if run is None:
        return
    try:
        judgement = judge(loaded.criteria, gather(load_run(run.path), []), date.today(), 0)
    except AssayError:  # damaged: it shows nothing
        return
    kinds = {one.id: one for one in loaded.criteria.criteria}
    for result in judgement.criteria:
        if isinstance(kinds.get(result.id), SpreadCriterion | SuccessCriterion | None):
            continue
        shares = [np.array(item.shares) for item in result.items]
        shares = [one for one in shares if len(one) >= LEAST_LAUNCHES and one.mean()]
        if shares:
            cv = sqrt(np.mean([(one.std(ddof=1) / one.mean()) ** 2 for one in shares]))
            yield result.id, (max(cv, 1e-6), f"in run {run.run_id}")


#: Periods of at most so many seconds of the clock are booked at once.
LONGEST_S = 3600
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
                f" {verdict}. Repeat it: assay contract next {before.name}; or waive it: assay"
                f" contract waive {before.name} --by NAME --reason TEXT"
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
        runs = [Path(status.run)]
    else:
        runs = [found_run(folder, path) for path in current.runs]
        for path in runs:
            if not run_status(open_run(str(path))).complete:
                resume_run(str(path), None, live)
    waivers = waivers_of(course, stage.name)
    criteria, text = with_waivers(loaded.criteria, loaded.text, waivers)
    dossier = judged_run(
        open_run(str(runs[0])), criteria, text, runs[1:], rerun=True, live=live, begun=begun
    )
    keep(folder, stage.name, number, dossier.judgement.verdict, dossier.content)


def judge_again(folder: ContractFolder, course: ContractCourse, stage: Stage) -> None:
    """Judge the latest attempt at a stage with the waivers there are now; nothing is run."""
    attempts = course.attempts(stage.name)
    if not attempts or not attempts[-1].ended:
        return
    latest, waivers = attempts[-1], waivers_of(course, stage.name)
    if stage.stability is not None:
        _keep_period(
            folder, stage, latest.number, WatchFolder(folder.path / latest.ledger), waivers
        )
        return
    loaded = started_stage(course, stage, folder)
    criteria, text = with_waivers(loaded.criteria, loaded.text, waivers)
    first, *others = (found_run(folder, path) for path in latest.runs)
    dossier = judged_run(open_run(str(first)), criteria, text, others)
    keep(folder, stage.name, latest.number, dossier.judgement.verdict, dossier.content)


def run_period(folder: ContractFolder, course: ContractCourse, stage: Stage) -> None:
    """Book a look of a period of stability, of a short one all, and judge it once it is over or can
    only fail; one whose outages were given classes since is judged again. Raises AssayError where
    it goes on, with the command that books it."""
    period, attempts = stage.stability, course.attempts(stage.name)
    assert period is not None
    current = attempts[-1] if attempts and not attempts[-1].ended else None
    if current is None and attempts:
        path = folder.path / JUDGEMENTS / f"{attempts[-1].seal}.json"
        sealed = read_judgement(read_whole(path)).files.items()
        if any(digest(folder.path / name) != seal for name, seal in sealed):  # the ledger has grown
            judge_again(folder, course, stage)
            return
    number = current.number if current else len(attempts) + 1
    name = current.ledger if current else f"{stage.name}-{number}"
    ledger = WatchFolder(folder.path / name)
    if current is None:
        folder.append("begun", stage=stage.name, attempt=number, file=name)
    if not _is_over(figures := _figures(ledger)):
        short = period.days * 86400 / period.scale <= LONGEST_S
        book(ledger, _terms(period, course.site), once=not short)
        figures = _figures(ledger)
    if figures is None or not _is_over(figures):
        share = percent(figures.period_s / (period.days * 86400)) if figures else "nothing"
        raise AssayError(
            f"stage {stage.name} goes on: {share} of {period.days:g} days is booked. Let a timer or"
            " scrontab book it (plugins/contract/docs/stability.md): assay contract watch --folder"
            f" {ledger.path} --site {course.site} --once; then judge it: assay contract next"
            f" {stage.name}",
            ExitStatus.INCONCLUSIVE,
        )
    _keep_period(folder, stage, number, ledger, waivers_of(course, stage.name))


def _figures(ledger: WatchFolder) -> Figures | None:
    """Figures that are booked; None where no look is."""
    entries = ledger.entries()
    return Figures(booked(entries)) if any(isinstance(e, ClusterLook) for e in entries) else None


def _is_over(figures: Figures | None) -> bool:
    """True if a period is at its end, or can only fail."""
    return figures is not None and (figures.finished or figures.verdict.word == "FAIL")


def _terms(period: Stability, site: str) -> WatchTerms:
    """Terms of a period that begins now: what is watched and promised."""
    return WatchTerms.filled(
        period,
        at=time.time(),
        site=site,
        length_s=period.days * 86400,
        mtbi_s=period.mtbi_h and period.mtbi_h * 3600,
        mtti_s=period.mtti_h and period.mtti_h * 3600,
    )


def _keep_period(
    folder: ContractFolder, stage: Stage, number: int, ledger: WatchFolder, waivers: list[Waiver]
) -> None:
    """Judge the looks of a period, and keep the judgement."""
    files = {str(ledger.log.relative_to(folder.path)): digest(ledger.log)}
    form = judged_period(ledger.entries(), waivers, datetime.now(UTC).date(), files)
    keep(folder, stage.name, number, form.verdict, as_text(form).encode())


def judged_period(
    entries: Sequence[Entry], waivers: Sequence[Waiver], day: date, files: dict[str, str]
) -> KeptJudgement:
    """The judgement of a period on a day with the waivers that are valid then; it rests on
    `files`, with their checksums."""
    valid = {one.criterion for one in waivers if date.fromisoformat(one.expires) >= day}
    return period_judgement(Figures(booked(entries)), valid, day.isoformat(), files)


def lines_judged(ledger: Path, seal: str) -> int | None:
    """Number of lines of a ledger that together have this SHA-256; None: other ones were judged."""
    so_far = hashlib.sha256()
    for number, (_, line) in enumerate(whole_lines(ledger), 1):
        so_far.update(line + b"\n")
        if so_far.hexdigest() == seal:
            return number
    return None


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
