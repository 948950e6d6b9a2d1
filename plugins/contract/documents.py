# SPDX-License-Identifier: Apache-2.0
"""The folder of a contract read, and its documents written: for those who sign, for the vendor."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from assay.run.provenance import made_with
from plugins.contract.course import ContractCourse
from plugins.contract.evidence import evidence_result
from plugins.contract.forms import (
    PERIOD,
    ContractFile,
    ContractForm,
    ContractRisksForm,
    KeptJudgement,
    read_judgement,
)
from plugins.contract.loading import contract_from_text
from plugins.contract.log import ContractFolder, LogEntry
from plugins.contract.mixes import mix_facts
from plugins.contract.result import contract_result
from plugins.contract.stages import JUDGEMENTS, found_run, lines_judged
from records.errors import AssayError, InfrastructureError
from records.files import write_whole
from records.forms import as_text
from records.input_files import decoded, kind_at, read_whole
from records.run.archive import RawFiles
from records.run.checksums import SIGNATURE, digest, sums_text
from records.run.provenance import Provenance
from records.run.run_directory import RunDirectory, open_run
from records.site.node_facts import oddities
from reports.analysis.mix import mix_of
from reports.render import html
from reports.render.pdf import find_browser, html_to_pdf
from reports.result import Result
from reports.show.provenance import provenance_rows

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
        _mixes(folder, course),
    )


def results_of(
    folder: ContractFolder, contract: ContractFile
) -> dict[str, Result[ContractForm] | None]:
    """The documents by their names; None for one that is not needed."""
    runs = dict(_latest_runs(folder, contract.course))
    stages: dict[str, Provenance] = {name: run.provenance() for name, run in runs.items()}
    by_id = {run.run_id: run.path for run in _every_run(folder, contract.course)}

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


def _every_run(folder: ContractFolder, course: ContractCourse) -> Iterator[RunDirectory]:
    for entry in course.entries:
        if entry.run:
            yield open_run(str(found_run(folder, entry.run)))


def _mixes(folder: ContractFolder, course: ContractCourse) -> dict[str, list[tuple[str, str]]]:
    """Results of the mixes among the runs; those that are under way or were cut short have none."""
    found = {}
    for name in filter(None, (entry.run for entry in course.entries)):
        with suppress(AssayError):
            run = open_run(str(found_run(folder, name)))
            if run.plan().mix_blocks:
                found[name] = mix_facts(mix_of(run))
    return found
