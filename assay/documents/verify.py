# SPDX-License-Identifier: Apache-2.0
"""Verification: recomputes every checksum and every verdict from the records, and reports faults.

What could not be verified is reported as such, and never counts as good. Nothing is repaired. If
the records were changed and the whole folder was written again, the seal on the signed paper shows
it.
"""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from pathlib import Path

import msgspec

from assay.documents import acceptance_files as store
from assay.documents.acceptance_check import (
    Check,
    ReadCriteria,
    clipped,
    judged_again,
    signature_check,
    sums_check,
)
from records.errors import AssayError
from records.input_files import kind_at
from records.run.archive import RawFiles
from records.run.belonging import Belonging, raw_paths
from records.run.chain import SEAL, chain_of, read_seal
from records.run.checksums import digest
from records.run.extensions import read_plan
from records.run.interims import INTERIMS, asked_blocks, read_interims
from records.run.plan import Plan
from records.run.provenance import read_provenance
from records.run.record import CASE_ID, Record, has_torn_tail, latest_attempts, read_records
from reports.load.raw_state import file_fault, raw_fault
from reports.verdicts.acceptance.dossier import FOLDER

#: Digits of the seal on paper that are enough.
LEAST_SEAL_DIGITS = 8


def verify(
    run_dir: Path,
    read_criteria: ReadCriteria,
    document: Path | None = None,
    seal: str | None = None,
    reread: Reread | None = None,
    *,
    made_with: str = "",
    signers: Path | None = None,
) -> list[Check]:
    """Verify all that the run directory holds: records and raw output always, the document if
    there is one.

    `document` is a copy of the document from elsewhere; `seal` the beginning of the seal on paper;
    `reread` gives how a record differs from its raw output, judged again, and raises NotReadError;
    `made_with` names this Assay; `signers` is a file of allowed signers.
    Raises AssayError for a plan, a provenance or records that cannot be read or are not of the run.
    """
    folder = run_dir / FOLDER
    found = kind_at(folder)
    accepted = found is not None and (found != "a folder" or any(folder.iterdir()))
    checks = run_checks(run_dir, reread, accepted=accepted)
    if not accepted:
        note = "there is no acceptance document yet"
        faults = (f"{folder} holds no {store.MACHINE}",) if document or seal else ()
        return [*checks, Check("document", faults, note)]
    if found != "a folder" or kind_at(folder / store.MACHINE) is None:
        faults = (f"{store.MACHINE} is missing in {folder}, which is not empty",)
        return [*checks, Check("document", faults)]
    checks += [sums_check(folder), signature_check(folder, signers)]
    checks += judged_again(run_dir, folder, read_criteria, made_with)
    return [*checks, *_paper(folder, document, seal and seal.strip().lower())]


def run_checks(run_dir: Path, reread: Reread | None, *, accepted: bool) -> list[Check]:
    """The records along their chain, their raw output, links, and values read again. `accepted`: a
    document covers the files. Raises AssayError as `verify`."""
    plan = read_plan(run_dir / "plan.json")
    belonging = Belonging(plan, read_provenance(run_dir / "provenance.json").run_id or "")
    path = run_dir / "records.jsonl"
    records = [*_named(path, belonging)] if kind_at(path) else []
    checks = [
        _records(run_dir, plan, records, accepted=accepted),
        Check("raw output against the records", clipped(_raw_faults(run_dir, records))),
        Check("no links in its folders", clipped(_links(run_dir))),
    ]
    if reread is not None:
        checks.append(_values(run_dir, read_records(path) if records else (), reread))
    return checks


class NotReadError(Exception):
    """A launch cannot be judged again here; the message says why, of one or of several."""


class SuiteTestError(NotReadError):
    """The launch is of a ReFrame suite's test, which only the suite can judge."""

    def __init__(self) -> None:
        super().__init__("it is a test of a ReFrame suite, which alone can read it")


Reread = Callable[[RawFiles, Record], Iterable[str]]


def _values(run_dir: Path, records: Iterable[Record], reread: Reread) -> Check:
    """What the records say against what their raw output says, read again."""
    faults, unread, lacking = list[str](), Counter[str](), False
    with RawFiles(run_dir) as files:
        for record in records:
            if record.block == 0 or not raw_paths(record.artifacts):
                continue  # not launched; a launch that is ok without raw output is found elsewhere
            try:
                faults += [f"{_launch(record)}: {fault}" for fault in reread(files, record)]
            except NotReadError as error:
                unread[f"of {record.check}: {error}"] += 1
                lacking |= record.status == "ok" and record.chain is not msgspec.UNSET
            except AssayError:  # damage, which is found elsewhere
                continue
    note = "; ".join(f"not read again: {count} launches {why}" for why, count in unread.items())
    return Check("values read again from raw output", clipped(faults), note, unproven=lacking)


def unproven(
    run_dir: Path, records: Iterable[Record], reread: Reread, *, suites: bool = False
) -> Iterator[str]:
    """The launches whose raw output is missing or changed, or does not give their record; `suites`
    are believed where theirs is unchanged. What an Assay of record schema 1 wrote is not proven by
    it."""
    with RawFiles(run_dir) as files:
        for record in records:
            if record.chain is msgspec.UNSET:
                continue
            try:
                fault = raw_fault(files, record.artifacts)
                again = reread(files, record) if raw_paths(record.artifacts) and not fault else ()
                yield from (f"{_launch(record)}: {one}" for one in ([fault] if fault else again))
            except NotReadError as error:
                of_suite = isinstance(error, SuiteTestError)
                if record.status == "ok" and not (of_suite and suites):
                    remedy = "; criteria with `unproven: accept` take it" if of_suite else ""
                    yield f"{_launch(record)}: is not read again: {error}{remedy}"


def _launch(record: Record | _NamedRaw) -> str:
    return f"{record.case_id}, block {record.block}, attempt {record.attempt}"


class _NamedRaw(msgspec.Struct, gc=False):
    """A record as far as it is verified here: its launch, and the raw output that it names."""

    case_id: str
    block: int
    attempt: int
    status: str
    artifacts: dict[str, str]


def _named(path: Path, belonging: Belonging) -> Iterator[_NamedRaw]:
    for record in read_records(path, belonging.fault):
        named = record.case_id, record.block, record.attempt, record.status
        yield _NamedRaw(*named, record.artifacts)


def _paper(folder: Path, document: Path | None, seal: str | None) -> Iterator[Check]:
    """A document from elsewhere, and the beginning of a seal on paper, against the folder's."""
    if document is not None:
        kept = [folder / name for name in (store.PRINT, store.DOCUMENT, store.MACHINE)]
        same = digest(document) in [digest(path) for path in kept if path.is_file()]
        faults = () if same else (f"{document} is none of the run's documents",)
        yield Check(f"the document {document.name}", faults)
    if seal is None:
        return
    found = digest(folder / store.MACHINE)
    if not re.fullmatch(rf"[0-9a-f]{{{LEAST_SEAL_DIGITS},64}}", seal):
        fault = f"{seal!r} is no seal; it has {LEAST_SEAL_DIGITS} to 64 hexadecimal digits"
        yield Check("seal", (fault,))
    else:
        other = (f"the seal of this document is {found}, not {seal}",)
        yield Check("seal", () if found.startswith(seal) else other)


def _records(run_dir: Path, plan: Plan, records: list[_NamedRaw], *, accepted: bool) -> Check:
    """The records: none changed, none missing; without a chain only a document can tell."""
    what = "records along their chain"
    try:
        chain, seal = chain_of(run_dir), read_seal(run_dir)
        asked = asked_blocks(plan, read_interims(run_dir / INTERIMS, plan))
    except AssayError as error:
        return Check(what, (str(error),))
    launched = latest_attempts((record for record in records if record.block > 0), CASE_ID)
    feasible = (case for case in plan.cases if case.skipped is None)
    planned = sum(asked[case.environment, case.check] for case in feasible)
    lacking = f"{planned - len(launched)} of {planned} planned launches have no record"
    notes = [f"{lacking} (not finished)"] if len(launched) < planned else []
    if chain.unchained:
        notes.append(f"{chain.unchained} without chain: an Assay of record schema 1 wrote them")
    faults = [*_attempts_lost(records, launched)]
    faults += [
        f"plan.json: case {case.id} has not the id of its check, environment and parameters"
        for case in plan.cases
        if not case.has_its_id
    ]
    path = run_dir / "records.jsonl"
    if kind_at(path) and has_torn_tail(path):
        torn = f"{path}:{chain.records + 1}: the last line is torn; it does not count. If a kill"
        faults.append(f"{torn} of the run did that, say: assay run --resume {run_dir}")
    unproven = seal is None and chain.unchained == chain.records
    if unproven and accepted:
        notes.append("the document's list of files covers them")
    elif unproven:
        notes.append("nothing shows whether they were changed")
        if len(launched) < planned:
            faults.append(f"{lacking}: records are missing, or the run is not finished")
    elif seal is None:
        faults.append(f"{SEAL} is missing: the run was not ended, or records are missing")
    elif seal.records < chain.records:
        more = f"the last {chain.records - seal.records} records are not sealed: the run was killed"
        faults.append(f"{more}; end it with: assay run --resume {run_dir}")
    return Check(what, tuple(faults), "; ".join(notes), unproven=unproven and not accepted)


def _attempts_lost(
    records: Iterable[_NamedRaw], launched: Mapping[tuple[str, int], _NamedRaw]
) -> Iterator[str]:
    """Launches whose latest attempt is not the last of as many records."""
    made = Counter((record.case_id, record.block) for record in records)
    for place, one in launched.items():
        if one.attempt != made[place]:
            yield (
                f"{place[0]}, block {place[1]}: attempt {one.attempt} is there, of {one.attempt}"
                f" attempts {made[place]} have a record"
            )


def _links(run_dir: Path) -> Iterator[str]:
    """What is no regular file of one name in the run's own folders."""
    for folder, folders, files in os.walk(run_dir):
        for name in sorted([*folders, *files]):
            path = Path(folder, name)
            kind, found = kind_at(path), path.lstat()
            if kind not in ("a folder", "a file"):
                yield f"{path.relative_to(run_dir)} is {kind}"
            elif stat.S_ISREG(found.st_mode) and found.st_nlink > 1:
                yield f"{path.relative_to(run_dir)} has {found.st_nlink} names (hard links)"
        if Path(folder) == run_dir and "work" in folders:
            folders.remove("work")  # what jobs write while the run goes on


def _raw_faults(run_dir: Path, records: Sequence[_NamedRaw]) -> list[str]:
    """Raw files that are not what records say, and others; all behind a damage have one message."""
    faults, named = list[str](), set[str]()
    with RawFiles(run_dir) as files:
        for record in sorted(records, key=attrgetter("block")):
            paths = raw_paths(record.artifacts)
            named |= {*paths.values()}
            if record.status == "ok" and not paths:
                faults.append(f"{_launch(record)}: the record names no raw output")
            for kind in paths:
                try:
                    if fault := file_fault(files, record.artifacts, kind):
                        faults.append(f"{_launch(record)}: {fault}")
                except AssayError as error:
                    faults.append(str(error))
        faults += _further(run_dir, files, named)
    return list(dict.fromkeys(faults))


def _further(run_dir: Path, files: RawFiles, named: set[str]) -> Iterator[str]:
    """Files next to the raw files that records name."""
    raw = run_dir / "raw"
    archives = {name.rpartition("/")[0] for name in named}
    for there in sorted(raw.iterdir()) if raw.is_dir() else ():
        name = f"raw/{there.name}"
        unfinished = there.name.startswith(".") and there.suffix == ".part"  # a killed driver's
        if name in archives:
            try:
                members = [f"{name}/{member}" for member in files.members(name)]
            except AssayError as error:  # behind the last member that records name
                yield str(error)
                continue
            yield from (f"{one} belongs to no record" for one in members if one not in named)
            if behind := files.behind(name):
                yield (
                    f"{name} has {behind} bytes that are of none of its members. If a kill of the"
                    f" run did that, say: assay run --resume {run_dir}"
                )
            elif not files.is_listed(name):
                yield f"{name} has a directory that is not of its members"
        elif name not in named and not unfinished:
            yield f"{name} belongs to no record"
