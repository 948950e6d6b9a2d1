# SPDX-License-Identifier: Apache-2.0
"""`assay acceptance`: start a contract, walk its stages, waive, sign, and make its document."""

from __future__ import annotations

import argparse
import hashlib
import re
import signal
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta

from assay.contracts.documents import RISKS, SUMS, contract_file, course_of, write_documents
from assay.contracts.judging import STATUS
from assay.contracts.loading import load_contract
from assay.contracts.planning import planned
from assay.contracts.stages import judge_again, refuse_blocked, run_period, run_stage
from assay.schema.document import clipped
from assay.schema.problems import did_you_mean, listed
from assay.screens.screen import Screen
from assay.sites.loading import add_checks_of
from records.contract.course import ContractCourse
from records.contract.log import CONTRACT, ContractFolder, create_contract, open_contract
from records.contract.model import Stage
from records.errors import AssayError, ExitStatus
from records.files import write_whole
from records.forms import as_text
from records.run.checksums import sign
from reports.judgement import Item
from reports.render.terminal import show
from reports.verdicts.contract.forms import ContractRisksForm
from reports.verdicts.contract.result import contract_result

#: How long a waiver holds where no day is given.
WAIVED_DAYS = 365


def start_command(arguments: argparse.Namespace) -> int:
    """`assay acceptance start`: refuse a faulty contract, or make its folder; runs nothing."""
    add_checks_of(arguments.site)
    contract, text, path = load_contract(arguments.name)
    loaded, risks = planned(contract, path.parent, arguments.site)
    texts = {CONTRACT: text} | {name: kept for one in loaded for name, kept in one.files.items()}
    folder = create_contract(contract.name, texts)
    declared = as_text(ContractRisksForm(risks=risks)).encode()
    write_whole(folder.path / RISKS, declared)
    seal = hashlib.sha256(declared).hexdigest()
    folder.append("started", site=arguments.site, file=str(path.resolve()), seal=seal)
    _show(folder, as_json=arguments.json)
    return ExitStatus.PASS


def status_command(arguments: argparse.Namespace) -> int:
    """`assay acceptance status`: print how far a contract is; gives the status of its verdict."""
    return _show(open_contract(arguments.contract), as_json=arguments.json)


def next_command(arguments: argparse.Namespace) -> int:
    """`assay acceptance next`: run the next stage, or the one that is named, once more."""
    folder = open_contract(arguments.contract)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with folder.alone():
        course = course_of(folder)
        add_checks_of(course.site)
        stage = _stage(course, arguments.stage) if arguments.stage else course.next_stage
        if stage is None:
            names = listed(one.name for one in course.contract.stages)
            raise AssayError(
                f"{folder.path}: every stage has run; one is repeated by its name: assay acceptance"
                f" next STAGE ({names})"
            )
        refuse_blocked(course, stage)
        if stage.stability is not None:
            run_period(folder, course, stage)
        else:
            run_stage(folder, course, stage, False if arguments.json else None)
        verdict = course_of(folder).verdict_of(stage.name)
    _show(folder, as_json=arguments.json)
    return STATUS.get(verdict, ExitStatus.INCONCLUSIVE)


def waive_command(arguments: argparse.Namespace) -> int:
    """`assay acceptance waive`: book a waiver, and judge the stage with it; nothing is run."""
    folder = open_contract(arguments.contract)
    by, reason = _said(arguments.by, "--by"), _said(arguments.reason, "--reason")
    with folder.alone():
        course = course_of(folder)
        add_checks_of(course.site)
        stage = _stage(course, arguments.stage)
        until = _day(arguments.until)
        for name in _criteria(folder, course, stage, arguments.criterion, arguments.subject):
            folder.append(
                "waived",
                stage=stage.name,
                criterion=name,
                subject=arguments.subject or "",
                by=by,
                reason=reason,
                until=until,
            )
        judge_again(folder, course_of(folder), stage)
    return _show(folder, as_json=arguments.json)


def sign_command(arguments: argparse.Namespace) -> int:
    """`assay acceptance sign`: book who signs a stage, or the whole contract, as it is now."""
    folder = open_contract(arguments.contract)
    by = _said(arguments.by, "--by")
    with folder.alone():
        course = course_of(folder)
        roles = [party.role for party in course.contract.parties]
        if arguments.role not in roles:
            raise AssayError(
                f"--role: found {arguments.role!r}{did_you_mean(arguments.role, roles)}; the"
                f" parties of {folder.file} are {listed(roles)}"
            )
        stages = [_stage(course, arguments.stage)] if arguments.stage else course.contract.stages
        for stage in stages:
            if course.verdict_of(stage.name) == "NOT RUN":
                raise AssayError(
                    f"stage {stage.name} has not ended: nothing can be signed for it; run it with:"
                    f" assay acceptance next {stage.name}"
                )
        name = arguments.stage or ""
        verdict = course.verdict_of(name) if name else course.verdict
        told = {"by": by, "role": arguments.role, "reason": arguments.reason or ""}
        folder.append("signed", stage=name, verdict=verdict, **told)
        if arguments.key is not None:
            write_documents(folder)
            sign(folder.path / SUMS, arguments.key)
    return _show(folder, as_json=arguments.json)


def report_command(arguments: argparse.Namespace) -> int:
    """`assay acceptance report`: write the documents; gives the status of the verdict."""
    folder = open_contract(arguments.contract)
    with folder.alone():
        written = write_documents(folder)
    return _show(folder, [str(path) for path in written], as_json=arguments.json)


def _show(folder: ContractFolder, files: list[str] | None = None, *, as_json: bool) -> int:
    """Print the contract as it is now; gives the status of its verdict."""
    contract = contract_file(folder)
    if as_json:
        print(as_text(contract.form), end="")
    else:
        show(contract_result(contract), Screen(), files or [])
    return STATUS.get(contract.course.verdict, ExitStatus.INCONCLUSIVE)


def _stage(course: ContractCourse, name: str) -> Stage:
    """The stage of a command line."""
    stage, names = course.contract.stage(name), [one.name for one in course.contract.stages]
    if stage is None:
        raise AssayError(
            f"STAGE: found {clipped(name)!r}{did_you_mean(name, names)}; the contract has"
            f" {listed(names)}"
        )
    return stage


def _criteria(
    folder: ContractFolder,
    course: ContractCourse,
    stage: Stage,
    name: str | None,
    subject: str | None,
) -> list[str]:
    """The criterion that is waived, or without a name all that are not met; of a `subject` those in
    which it is not met."""
    attempts = course.attempts(stage.name)
    kept = contract_file(folder).judgement(attempts[-1]) if attempts else None
    judged = {one.id: one for one in kept.criteria} if kept else {}
    if name is not None and name not in judged:
        has = f"has {listed(judged)}" if judged else "has not been judged yet"
        raise AssayError(f"CRITERION: found {clipped(name)!r}; stage {stage.name} {has}")
    found = [name] if name else [key for key, one in judged.items() if one.effective != "PASS"]
    if not found:
        raise AssayError(f"stage {stage.name}: nothing is to be waived: no criterion is open")
    if subject is None:
        return found
    bad = {key: [one for one in judged[key].items if one.verdict != "PASS"] for key in found}
    mine = [key for key in found if any(subject in _names(item) for item in bad[key])]
    if not mine:
        subjects = listed(dict.fromkeys(item.subject for items in bad.values() for item in items))
        raise AssayError(
            f"--subject: found {clipped(subject)!r}; not met or not decided in stage {stage.name}:"
            f" {subjects or 'nothing'}"
        )
    return mine


def _names(item: Item) -> set[str]:
    """What a waiver may call an item, as "node n2" or "n1–n2": so, a node of it, or n1-n2."""
    return {item.subject, *re.split("[ –]", item.subject), item.subject.replace("–", "-")}


def _said(text: str | None, option: str) -> str:
    """Who or why; never blank, for the log keeps it."""
    if text is None or not text.strip():
        raise AssayError(f"{option} is missing or blank; a contract keeps who decided, and why")
    return " ".join(text.split())


def _day(text: str | None) -> str:
    """The last day of a waiver."""
    if text is None:
        return (datetime.now(UTC).date() + timedelta(days=WAIVED_DAYS)).isoformat()
    today = datetime.now(UTC).date()
    with suppress(ValueError):
        if (day := date.fromisoformat(text)) >= today:
            return day.isoformat()
    raise AssayError(f"--until: found {text!r:.40}; allowed is a day from {today} on")
