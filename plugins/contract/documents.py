# SPDX-License-Identifier: Apache-2.0
"""Folder of a contract: read, its documents written, for those who sign and for the vendor, and
all of it verified."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import date
from pathlib import Path

import msgspec

from assay.documents.verify import (
    Check,
    changed_files,
    clipped,
    differences,
    run_checks,
    signature_check,
)
from assay.run.provenance import made_with
from checks.common.registry import checks_with
from plugins.contract.forms import (
    PERIOD,
    ContractFile,
    ContractForm,
    ContractRisksForm,
    KeptJudgement,
    read_judgement,
)
from plugins.contract.loading import contract_from_text, kept_criteria
from plugins.contract.log import ContractCourse, ContractFolder, LogEntry
from plugins.contract.result import contract_result, evidence_result
from plugins.contract.stability.ledger import WatchFolder
from plugins.contract.stages import JUDGEMENTS, found_run, judged_period, lines_judged, waivers_of
from records.errors import AssayError, InfrastructureError
from records.files import write_whole
from records.forms import as_text
from records.input_files import decoded, kind_at, read_whole, whole_lines
from records.run.archive import RawFiles
from records.run.chain import SIGNATURE, digest, read_sums, sums_text
from records.run.provenance import Provenance
from records.run.run_directory import RunDirectory, open_run
from records.site.node_facts import oddities
from reports.render import html
from reports.render.files import find_browser, html_to_pdf
from reports.result import Result
from reports.show.rows import provenance_rows
from reports.verdicts.acceptance.judge import make_dossier

MACHINE, RISKS, SUMS = "contract.json", "risks.json", "SHA256SUMS"
#: The names of a document's files without their endings.
DOCUMENT, VENDOR = "document", "vendor"


def course_of(folder: ContractFolder) -> ContractCourse:
    """The contract of a folder, as started, and its log. Raises AssayError for damage."""
    text = read_whole(folder.file).decode("utf-8", "replace")
    return ContractCourse(contract_from_text(str(folder.file), text), folder.entries())


def contract_file(folder: ContractFolder) -> ContractFile:
    """All that a document shows. Raises AssayError for a judgement that is not the one sealed."""
    course, chain = course_of(folder), folder.chain
    kept, files = dict[str, KeptJudgement](), dict(chain.began_with)
    for entry in course.entries:
        if entry.seal:
            started = entry.what == "started"
            path = folder.path / (RISKS if started else f"{JUDGEMENTS}/{entry.seal}.json")
            if kind_at(path) is None or digest(path) != entry.seal:
                raise AssayError(
                    f"{path}: is not the file that {folder.log.name} has sealed; put that back"
                )
            files[str(path.relative_to(folder.path))] = entry.seal
            if entry.what == "ended":
                content = read_whole(path)
                kept[entry.seal] = decoded(read_judgement, content, str(path), "a judgement")
                files |= _ledger_files(folder, entry, kept[entry.seal])
    runs = _latest_runs(folder, course)
    provenance = next((one.provenance() for _, one in runs), None)
    return ContractFile(
        course,
        folder.path.resolve().name,
        chain.head,
        kept,
        _risks(folder).risks,
        files,
        made_with(),
        provenance_rows(provenance) if provenance else [],
        bool(provenance and provenance.site.virtual),
    )


def results_of(
    folder: ContractFolder, contract: ContractFile
) -> dict[str, Result[ContractForm] | None]:
    """The documents by their names; None for one that is not needed."""
    runs = dict(_latest_runs(folder, contract.course))
    stages: dict[str, Provenance] = {name: run.provenance() for name, run in runs.items()}
    begun = filter(None, (entry.run for entry in contract.course.entries))
    every = [open_run(str(found_run(folder, name))) for name in begun]
    by_id = {run.run_id: run.path for run in every}

    def raw(name: str) -> str | None:
        run, _, path = name.partition("/")
        if run not in by_id:
            return None
        with RawFiles(by_id[run]) as files, suppress(AssayError):
            content = files.read(path)
            return content.decode("utf-8", "replace") if content is not None else None
        return None

    def odd(stage: str, node: str) -> list[str]:
        return oddities(stages[stage].nodes, node) if stage in stages else []

    vendor = evidence_result(contract, raw, odd)
    return {DOCUMENT: contract_result(contract), VENDOR: vendor}


def write_documents(folder: ContractFolder) -> list[Path]:
    """Write the documents and their checksums; those for people come first. The PDFs are left out
    where no browser is installed; what goes to the vendor, where all is met."""
    contract, written = contract_file(folder), list[Path]()
    results = results_of(folder, contract)
    try:
        for old in (SUMS, SUMS + SIGNATURE):
            (folder.path / old).unlink(missing_ok=True)
        for name, result in results.items():
            page, pdf = (folder.path / f"{name}.{kind}" for kind in ("html", "pdf"))
            for path in (page, pdf):
                path.unlink(missing_ok=True)
            if result is not None:
                write_whole(page, html.page(result).encode("utf-8", "replace"))
                if find_browser() is not None:
                    html_to_pdf(page, pdf)
                written += [path for path in (page, pdf) if path.is_file()]
        write_whole(folder.path / MACHINE, as_text(contract.form).encode())
        written.append(folder.path / MACHINE)
        sums = {path.name: digest(path) for path in written} | dict(contract.files)
        write_whole(folder.path / SUMS, sums_text(sums).encode())
    except OSError as error:
        raise InfrastructureError(
            f"{folder.path}: the document could not be written ({error.strerror}); make the folder"
            " writable, with room, then repeat"
        ) from error
    return written


def _ledger_files(folder: ContractFolder, entry: LogEntry, kept: KeptJudgement) -> dict[str, str]:
    """The ledger that a judgement of a period rests on, with lines that came later. Raises
    AssayError where it is another."""
    if kept.kind != PERIOD:
        return {}
    for name, value in kept.files.items():
        path = folder.path / name
        if kind_at(path) is None or lines_judged(path, value) is None:
            raise AssayError(
                f"{folder.path / name}: is not the ledger by which attempt {entry.attempt} at stage"
                f" {entry.stage} was judged; put that back"
            )
    return {name: digest(folder.path / name) for name in kept.files}


def _risks(folder: ContractFolder) -> ContractRisksForm:
    path = folder.path / RISKS
    if kind_at(path) is None:
        return ContractRisksForm(risks=[])
    decode = msgspec.json.Decoder(ContractRisksForm).decode
    return decoded(decode, read_whole(path), str(path), "declared risks")


def _latest_runs(
    folder: ContractFolder, course: ContractCourse
) -> Iterator[tuple[str, RunDirectory]]:
    """The run of the latest attempt at each stage that has one."""
    for stage in course.contract.stages:
        attempts = course.attempts(stage.name)
        if attempts and attempts[-1].runs:
            yield stage.name, open_run(str(found_run(folder, attempts[-1].runs[0])))


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
            entries = ledger.entries()[: lines_judged(ledger.log, seal)]
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
    return Check(what, clipped(differences(said, dossier)), note)


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
