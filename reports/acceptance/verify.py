# SPDX-License-Identifier: Apache-2.0
"""Verification: recomputes every checksum and every verdict from the records, and reports faults.

What could not be verified is told as such, and never counts as good. Nothing is repaired. If
somebody changed the records and wrote the whole folder again, the seal on the signed paper still
shows it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from records.belonging import CHECKSUM, Belonging
from records.chain import SEAL, chain_of, read_seal
from records.criteria import Criteria
from records.errors import AssayError
from records.input_files import decoded, kind_at, opened_below, read_whole
from records.plan import Plan, read_plan
from records.provenance import read_provenance
from records.record import CASE_ID, Record, latest_attempts, read_records
from reports.acceptance import store
from reports.acceptance.digests import digest, made_with, page_made_with, read_sums
from reports.acceptance.document import render_document
from reports.acceptance.dossier import FOLDER, Dossier, make_dossier

ReadCriteria = Callable[[str, str], Criteria]
#: At most so many faults of one kind are listed.
MOST_LISTED = 20
#: Parts of the machine form that are compared separately.
_TOLD_APART = ("results", "files", "manifest_sha256", "criteria")


@dataclass(frozen=True)
class Check:
    """One comparison of the verification and its faults; without faults nothing has changed.

    `unproven`: a change could not have been found.
    """

    what: str
    faults: tuple[str, ...] = ()
    note: str = ""
    unproven: bool = False

    @property
    def good(self) -> bool:
        """Whether nothing differs."""
        return not self.faults


def verify(
    run_dir: Path,
    read_criteria: ReadCriteria,
    document: Path | None = None,
    seal: str | None = None,
) -> list[Check]:
    """Verify all that the run directory holds: records and raw output always, the document if
    there is one.

    `document` is a copy of the document from elsewhere; `seal` the beginning of the seal on paper.
    Raises AssayError for a plan, a provenance or records that cannot be read or are not of the run.
    """
    folder = run_dir / FOLDER
    accepted = kind_at(folder / store.MACHINE) is not None
    plan = read_plan(run_dir / "plan.json")
    belonging = Belonging(plan, read_provenance(run_dir / "provenance.json").run_id or "")
    path = run_dir / "records.jsonl"
    records = list(read_records(path, belonging.fault)) if kind_at(path) else []
    checks = [
        _records(run_dir, plan, records, accepted=accepted),
        Check("raw output against the records", _clipped(_raw_faults(run_dir, records))),
    ]
    if not accepted:
        note = "there is no acceptance document yet"
        told = (f"{folder} holds no {store.MACHINE}",) if document or seal else ()
        return [*checks, Check("document", told, note)]
    checks += [_folder(folder), *_judged_again(run_dir, folder, read_criteria)]
    if document is not None and document.resolve().parent != folder.resolve():
        kept = [folder / name for name in (store.PRINT, store.DOCUMENT, store.MACHINE)]
        same = digest(document) in [digest(path) for path in kept if path.is_file()]
        told = () if same else (f"{document} is none of the run's documents",)
        checks.append(Check(f"the copy {document.name}", told))
    if seal is not None:
        found = digest(folder / store.MACHINE)
        same = len(seal) >= 8 and found.startswith(seal.strip().lower())
        told = () if same else (f"the seal of this document is {found}, not {seal}",)
        checks.append(Check("seal", told))
    return checks


def _records(run_dir: Path, plan: Plan, records: list[Record], *, accepted: bool) -> Check:
    """The records: none changed, none missing; without a chain only a document can tell."""
    what = "records along their chain"
    try:
        chain, seal = chain_of(run_dir), read_seal(run_dir)
    except AssayError as error:
        return Check(what, (str(error),))
    launched = latest_attempts((record for record in records if record.block > 0), CASE_ID)
    planned = plan.blocks * sum(case.skipped is None for case in plan.cases)
    lacking = f"{planned - len(launched)} of {planned} planned launches have no record"
    notes = [f"{lacking} (not finished)"] if len(launched) < planned else []
    if chain.unchained:
        notes.append(f"{chain.unchained} without chain: an Assay of record schema 1 wrote them")
    faults: list[str] = []
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


def _raw_faults(run_dir: Path, records: list[Record]) -> Iterator[str]:
    named: set[str] = set()
    for record in records:
        where = f"{record.case_id}, block {record.block}, attempt {record.attempt}"
        paths = {k: name for k, name in record.artifacts.items() if not k.endswith(CHECKSUM)}
        named |= {*paths.values()}
        if record.status == "ok" and not paths:
            yield f"the record of {where} names no raw output"
        for kind, name in paths.items():
            wanted = record.artifacts.get(f"{kind}{CHECKSUM}")
            if wanted is None:
                yield f"{name} of {where} has no checksum in its record"
            elif not (run_dir / name).exists():
                yield f"{name} of {where} is missing"
            else:
                try:
                    with opened_below(run_dir, name) as file:
                        if hashlib.file_digest(file, "sha256").hexdigest() != wanted:
                            yield f"{name} is not what the record of {where} says"
                except AssayError as error:
                    yield str(error)
    raw = run_dir / "raw"
    for there in sorted(raw.iterdir()) if raw.is_dir() else ():
        unfinished = there.name.startswith(".") and there.suffix == ".part"  # a killed driver's
        if f"raw/{there.name}" not in named and not unfinished:
            yield f"raw/{there.name} belongs to no record"


def _folder(folder: Path) -> Check:
    """The files of the acceptance folder against its SHA256SUMS."""
    what = f"files of {FOLDER}/ against {store.SUMS}"
    if not (folder / store.SUMS).is_file():
        return Check(what, (f"{store.SUMS} is missing",))
    try:
        sums = read_sums(folder / store.SUMS)
    except AssayError as error:
        return Check(what, (str(error),))
    faults = [
        f"{name} was changed"
        for name, value in sums.items()
        if not (folder / name).is_file() or digest(folder / name) != value
    ]
    needed = (store.MACHINE, store.CRITERIA)
    faults += [f"{name} is not listed" for name in needed if name not in sums]
    return Check(what, tuple(faults))


def _judged_again(run_dir: Path, folder: Path, read_criteria: ReadCriteria) -> list[Check]:
    """Manifest, criteria, verdicts and page, each made again and compared with the stored one."""
    machine = folder / store.MACHINE
    try:
        stored = decoded(json.loads, read_whole(machine), str(machine), "a machine form")
        day = date.fromisoformat(stored["judged_on"])
        recorded = dict(stored["files"])
        results = {result["id"]: result for result in stored["results"]}
    except (AssayError, ValueError, KeyError, TypeError, AttributeError) as error:
        return [Check(store.MACHINE, (f"{store.MACHINE} cannot be read: {error}",))]
    try:
        text = read_whole(folder / store.CRITERIA).decode()
        dossier = make_dossier(
            run_dir,
            store.known_reruns(run_dir),
            criteria=read_criteria(str(folder / store.CRITERIA), text),
            criteria_text=text,
            day=day,
            made_with=str(stored.get("made_with")),
        )
    except (AssayError, UnicodeDecodeError) as error:
        return [Check("verdicts from the records", (f"cannot be judged again: {error}",))]
    now, told = dossier.files, stored.get("criteria")
    files = [
        f"{name} was changed" if name in now else f"{name} is missing"
        for name, value in recorded.items()
        if name not in now or now[name] != value
    ]
    files += [f"{name} was added" for name in now if name not in recorded]
    same = isinstance(told, dict) and told.get("sha256") == dossier.criteria_sha256
    criteria = () if same else (f"{store.CRITERIA} was changed",)
    verdicts = _clipped(_verdicts(stored, results, dossier))
    return [
        Check("every file of the run against the document", _clipped(files)),
        Check("criteria file against the document", criteria),
        Check("verdicts from the records", verdicts, note=_other_code(dossier)),
        _page(folder, dossier),
    ]


def _verdicts(
    stored: Mapping[str, Any], results: Mapping[str, Any], dossier: Dossier
) -> Iterator[str]:
    fresh = json.loads(dossier.content)
    if stored.get("schema") == 1:
        fresh["schema"] = 1
        del fresh["records"]
    for result in fresh["results"]:
        before = results.get(result["id"])
        if before is None:
            yield f"criterion {result['id']} is not in the document"
        elif before != result:
            old, new = before.get("verdict"), result["verdict"]
            change = f"{old} in the document, {new} now" if old != new else "its numbers differ"
            yield f"criterion {result['id']}: {change}"
    for name in results.keys() - {result["id"] for result in fresh["results"]}:
        yield f"criterion {name} of the document is not in the criteria file"
    for key in sorted(fresh.keys() | stored.keys()):
        if key not in _TOLD_APART and stored.get(key) != fresh.get(key):
            old, new = repr(stored.get(key))[:80], repr(fresh.get(key))[:80]
            yield f"{key} differs: {old} in the document, {new} now"


def _other_code(dossier: Dossier) -> str:
    """Names the code if the document was made by another version, which may explain a fault."""
    here = made_with()
    return "" if dossier.made_with == here else f"made with {dossier.made_with}; this is {here}"


def _page(folder: Path, dossier: Dossier) -> Check:
    """The page: its seal, and, if this code made it, every byte."""
    what = "document.html made again from the records"
    try:
        page = read_whole(folder / store.DOCUMENT)
    except AssayError as error:
        return Check(what, (str(error),))
    if digest(folder / store.MACHINE).encode() not in page:
        return Check(what, (f"{store.DOCUMENT} does not bear the seal of {store.MACHINE}",))
    other = _other_code(dossier)
    if not other and page_made_with().encode() not in page:
        other = f"made with other page code; this is {page_made_with()}"
    if other:
        return Check(what, note=f"{other}: not compared")
    same = page == render_document(dossier).encode("utf-8", "replace")
    return Check(what, () if same else (f"{store.DOCUMENT} does not say what the records say",))


def _clipped(faults: Iterable[str]) -> tuple[str, ...]:
    """The first MOST_LISTED faults, then the number of the others."""
    found = list(faults)
    more = len(found) - MOST_LISTED
    return (*found[:MOST_LISTED], *([f"and {more} more"] if more > 0 else []))
