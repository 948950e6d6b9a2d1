# SPDX-License-Identifier: Apache-2.0
"""A contract's folder verified: its log, its runs, every judgement made again, its documents."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

from assay.documents.verify import (
    Check,
    changed_files,
    clipped,
    differences,
    run_checks,
    signature_check,
)
from checks.common.brought import checks_with
from plugins.contract.documents import MACHINE, SUMS, contract_file, results_of
from plugins.contract.forms import PERIOD, ContractFile
from plugins.contract.loading import kept_criteria
from plugins.contract.log import ContractFolder, LogEntry
from plugins.contract.stability.ledger import WatchFolder
from plugins.contract.stages import (
    JUDGEMENTS,
    found_run,
    judged_period,
    lines_judged,
    waivers_of,
)
from records.errors import AssayError
from records.forms import as_text
from records.input_files import decoded, kind_at, read_whole, whole_lines
from records.run.checksums import digest, read_sums
from records.run.run_directory import open_run
from reports.render import html
from reports.verdicts.acceptance.dossier import make_dossier


def verify_contract(
    folder: ContractFolder, document: Path | None, seal: str | None, signers: Path | None
) -> list[Check]:
    """The checks of a contract: the log along its chain with all that it seals, each run with its
    raw output, each judgement made again from the records, the documents. `document` is a copy of
    one, `seal` the beginning of the seal on paper, `signers` a file of allowed signers."""
    what = "the log along its chain, and all files that it seals"
    try:
        contract = contract_file(folder)
    except AssayError as error:
        return [Check(what, (str(error),))]
    checks = [Check(what)]
    for number, entry in enumerate(contract.course.entries):
        if entry.what == "begun" and entry.run:
            checks.append(_run(folder, entry))
        elif entry.what == "ended":
            then = replace(contract.course, entries=contract.course.entries[:number])
            checks.append(_judgement(folder, replace(contract, course=then), entry))
    checks += _documents(folder, contract, document, signers)
    if seal is not None:
        heads = [hashlib.sha256(line).hexdigest() for _, line in whole_lines(folder.log)]
        known = len(seal) >= 8 and any(head.startswith(seal.strip().lower()) for head in heads)
        fault = f"no line of {folder.log.name} ends the log with {seal!r} (eight digits or more)"
        checks.append(Check("seal", () if known else (fault,)))
    return checks


def _run(folder: ContractFolder, entry: LogEntry) -> Check:
    """A run of an attempt: its records, its raw output, its values read again."""
    from assay.run.rereading import Rereader  # slow: ReFrame

    what = f"stage {entry.stage}, attempt {entry.attempt}: run {Path(entry.run).name}"
    try:
        run = open_run(str(found_run(folder, entry.run)))
        reread = Rereader(run.plan(), run.provenance()).faults
        found = run_checks(run.path, reread)
    except AssayError as error:
        return Check(what, (str(error),))
    faults = [f"{one.what}: {fault}" for one in found for fault in one.faults]
    notes = "; ".join(filter(None, (one.note for one in found)))
    return Check(what, clipped(faults), notes, any(one.unproven for one in found))


def _judgement(folder: ContractFolder, then: ContractFile, entry: LogEntry) -> Check:
    """A kept judgement against the one that the records give, with the waivers of `then`."""
    what = f"stage {entry.stage}, attempt {entry.attempt}: {entry.verdict}, judged again"
    stored = read_whole(folder.path / JUDGEMENTS / f"{entry.seal}.json")
    kept = then.kept[entry.seal]
    attempt = next(a for a in then.course.attempts(entry.stage) if a.number == entry.attempt)
    waivers, day = waivers_of(then.course, entry.stage), date.fromisoformat(kept.judged_on)
    try:
        if kept.kind == PERIOD:
            ledger = WatchFolder(folder.path / attempt.ledger)
            (seal,) = kept.files.values()
            entries = ledger.entries()[: lines_judged(ledger.ledger, seal)]
            again = judged_period(entries, waivers, day, {})
            verdicts = [
                [(o.id, o.verdict, o.effective) for o in one.results] for one in (kept, again)
            ]
            return Check(what, () if verdicts[0] == verdicts[1] else ("its ledger gives others",))
        first, *others = (found_run(folder, path) for path in attempt.runs)
        checks = checks_with(open_run(str(first)).plan().brought)
        criteria, text = kept_criteria(folder, entry.stage, waivers, checks)
        said = json.loads(stored)
        dossier = make_dossier(
            first,
            others,
            criteria=criteria,
            criteria_text=text,
            day=day,
            made_with=said["made_with"],
        )
    except AssayError as error:
        return Check(what, (str(error),))
    note = "" if said["made_with"] == then.made_with else f"made with {said['made_with']}"
    faults = differences(said, dossier, note)
    return Check(what, clipped(faults), f"{note}: sentences are not compared" if note else "")


def _documents(
    folder: ContractFolder, contract: ContractFile, document: Path | None, signers: Path | None
) -> Iterator[Check]:
    """The documents against their checksums, and those of the log as it is now made again."""
    what, path = f"documents against {SUMS}", folder.path / SUMS
    if kind_at(path) is None:
        faults = [f"{SUMS} is missing"] if document or signers else []
        yield Check(what, tuple(faults), "no document yet; write it with: assay contract report")
        return
    try:
        sums, machine = read_sums(path), read_whole(folder.path / MACHINE)
        grown = decoded(json.loads, machine, MACHINE, "a contract's form")["head"] != contract.head
        faults = changed_files(folder.path, sums)
        if not grown and not faults:
            faults = [*_odd_pages(folder, contract, machine)]
    except (AssayError, KeyError, TypeError) as error:
        yield Check(what, (str(error),))
        return
    note = "the log has grown since; write them anew with: assay contract report" if grown else ""
    yield Check(what, clipped(faults), note)
    yield signature_check(folder.path, signers)
    if document is not None:
        same = digest(document) in sums.values()
        fault = f"{document} is none of the contract's documents"
        yield Check(f"the document {document.name}", () if same else (fault,))


def _odd_pages(folder: ContractFolder, contract: ContractFile, machine: bytes) -> Iterator[str]:
    """Documents that do not say what the log says; pages of another Assay are worded by it."""
    if machine != as_text(contract.form).encode():
        yield f"{MACHINE} does not say what the log says"
    for name, result in results_of(folder, contract).items():
        page = folder.path / f"{name}.html"
        there = read_whole(page) if kind_at(page) else b""
        made = html.page(result).encode("utf-8", "replace") if result else b""
        if there != made and (contract.made_with.encode() in there or not (there and made)):
            yield f"{page.name} does not say what the log says"
