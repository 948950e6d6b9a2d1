# SPDX-License-Identifier: Apache-2.0
"""Verification of a run and its acceptance: checksums, signature, and the judgement made again.

What could not be verified is reported as such, and never counts as good. Nothing is repaired. If
the records were changed and the whole folder was written again, the signature shows it.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Literal

from assay.documents import acceptance_files as store
from records.criteria import Criteria
from records.errors import AssayError
from records.input_files import decoded, kind_at, read_whole
from records.run.archive import RawFiles
from records.run.chain import SEAL, SIGNATURE, chain_of, digest, read_sums, signer
from records.run.interims import read_plan
from records.run.plan import Plan
from records.run.provenance import read_provenance
from records.run.record import (
    Belonging,
    Record,
    checksum_of,
    has_torn_tail,
    raw_paths,
    read_records,
)
from reports.verdicts.acceptance.judge import FOLDER, Dossier, as_of, make_dossier

#: At most so many faults of one kind are listed.
MOST_LISTED = 20
#: Keys of sentences.
_SENTENCES = frozenset({"note", "statement", "proposals"})

ReadCriteria = Callable[[str, str], Criteria]
#: Gives how a record differs from its raw output, judged again; raises NotReadError.
Reread = Callable[[RawFiles, Record], Iterable[str]]
_Kind = Literal["raw", "value", "unread", "suite"]


class NotReadError(Exception):
    """A launch cannot be judged again here; the message says why, of one or of several. `suite`: it
    is of a ReFrame suite's test, which only the suite can judge."""

    def __init__(self, why: str, *, suite: bool = False) -> None:
        super().__init__(why)
        self.suite = suite


@dataclass(frozen=True)
class Check:
    """A comparison of the verification and its faults; without faults nothing has changed.

    `unproven`: a change could not have been found.
    """

    what: str
    faults: tuple[str, ...] = ()
    note: str = ""
    unproven: bool = False

    @property
    def good(self) -> bool:
        """Tell that nothing differs."""
        return not self.faults


def clipped(faults: Iterable[str]) -> tuple[str, ...]:
    """The first MOST_LISTED faults, each once, then the number of the others."""
    listed = [*dict.fromkeys(faults)]
    more = len(listed) - MOST_LISTED
    return (*listed[:MOST_LISTED], *([f"and {more} more"] if more > 0 else []))


def run_checks(run_dir: Path, reread: Reread | None) -> list[Check]:
    """The records along their chain, their raw output, and values read again. Raises AssayError for
    a plan, a provenance or records that cannot be read or are not of the run."""
    plan = read_plan(run_dir / "plan.json")
    belonging = Belonging(plan, read_provenance(run_dir / "provenance.json").run_id or "")
    path = run_dir / "records.jsonl"
    faults = dict[_Kind, list[str]]()
    unread, unproven = Counter[str](), False
    with RawFiles(run_dir) as files:
        for record in read_records(path, belonging.fault) if kind_at(path) else ():
            for kind, text in _launch_faults(files, record, reread):
                if kind in ("raw", "value"):
                    faults.setdefault(kind, []).append(text)
                else:
                    unread[f"of {record.check}: {text}"] += 1
                    unproven |= record.status == "ok"
    checks = [
        _records_check(run_dir, plan),
        Check("raw output against the records", clipped(faults.get("raw", ()))),
    ]
    if reread is not None:
        note = "; ".join(f"not read again: {count} launches {why}" for why, count in unread.items())
        what, values = "values read again from raw output", clipped(faults.get("value", ()))
        checks.append(Check(what, values, note, unproven))
    return checks


def unproven(
    run_dir: Path, records: Iterable[Record], reread: Reread, *, suites: bool = False
) -> Iterator[str]:
    """The launches whose raw output is missing or changed, or does not give their record; `suites`
    are believed where theirs is unchanged."""
    with RawFiles(run_dir) as files:
        for record in records:
            for kind, text in _launch_faults(files, record, reread):
                if kind in ("raw", "value"):
                    yield text
                elif record.status == "ok" and not (kind == "suite" and suites):
                    remedy = "; criteria with `unproven: accept` take it" if kind == "suite" else ""
                    yield f"{_launch(record)}: is not read again: {text}{remedy}"


def _launch_faults(
    files: RawFiles, record: Record, reread: Reread | None
) -> Iterator[tuple[_Kind, str]]:
    """Faults of a launch: raw files that are not what its record says, else how they do not give
    its values, or why they cannot be read again."""
    name, has_output = _launch(record), bool(raw_paths(record.artifacts))
    if fault := _raw_fault(files, record.artifacts):
        yield "raw", f"{name}: {fault}"
    elif record.status == "ok" and not has_output:
        yield "raw", f"{name}: the record names no raw output"
    elif reread is not None and has_output and record.block:
        try:
            yield from (("value", f"{name}: {fault}") for fault in reread(files, record))
        except NotReadError as error:
            yield "suite" if error.suite else "unread", str(error)


def _launch(record: Record) -> str:
    return f"{record.case_id}, block {record.block}, attempt {record.attempt}"


def _records_check(run_dir: Path, plan: Plan) -> Check:
    """The records along their chain: none changed, none missing."""
    what, path = "records along their chain", run_dir / "records.jsonl"
    try:
        chain = chain_of(run_dir)
    except AssayError as error:
        return Check(what, (str(error),))
    faults = [
        f"plan.json: case {case.id} has not the id of its check, environment and parameters"
        for case in plan.cases
        if not case.has_its_id
    ]
    remedy = f"assay run --resume {run_dir}"
    if kind_at(path) and has_torn_tail(path):
        torn = f"{path}:{chain.records + 1}: the last line is torn; it does not count"
        faults.append(f"{torn}. If a kill of the run did that, say: {remedy}")
    if chain.seal is None:
        faults.append(f"{SEAL} is missing: the run was not ended, or records are missing")
    elif chain.seal.records < chain.records:
        more = f"the last {chain.records - chain.seal.records} records are not sealed"
        faults.append(f"{more}: the run was killed; end it with: {remedy}")
    return Check(what, tuple(faults))


def verify(
    run_dir: Path,
    read_criteria: ReadCriteria,
    reread: Reread | None = None,
    *,
    made_with: str = "",
    signers: Path | None = None,
) -> list[Check]:
    """Verify all that the run directory holds: records and raw output always, the document if
    there is one.

    `made_with` names this Assay; `signers` is a file of allowed signers. Raises AssayError for a
    plan, a provenance or records that cannot be read or are not of the run.
    """
    folder, checks = run_dir / FOLDER, run_checks(run_dir, reread)
    kind = kind_at(folder)
    if kind is None or (kind == "a folder" and not any(folder.iterdir())):
        return [*checks, Check("document", note="there is no acceptance document yet")]
    if kind != "a folder" or kind_at(folder / store.MACHINE) is None:
        faults = (f"{store.MACHINE} is missing in {folder}, which is not empty",)
        return [*checks, Check("document", faults)]
    checks += [sums_check(folder), signature_check(folder, signers)]
    return [*checks, *_judged_again(run_dir, folder, read_criteria, made_with)]


def sums_check(folder: Path) -> Check:
    """The files of the folder against its SHA256SUMS: all are listed, and no other."""
    what = f"files of {FOLDER}/ against {store.SUMS}"
    if not (folder / store.SUMS).is_file():
        return Check(what, (f"{store.SUMS} is missing",))
    try:
        sums = read_sums(folder / store.SUMS)
    except AssayError as error:
        return Check(what, (str(error),))
    there = {path.name for path in folder.iterdir()} - store.NOT_LISTED
    needed = there | ({*store.SEALED} - {store.PRINT})
    faults = [f"{name} is not listed" for name in sorted(needed - {*sums})]
    return Check(what, (*changed_files(folder, sums), *faults))


def changed_files(folder: Path, sums: Mapping[str, str]) -> list[str]:
    """The files of a list of checksums that are missing or have others."""
    return [
        f"{name} was changed"
        for name, value in sums.items()
        if kind_at(folder / name) != "a file" or digest(folder / name) != value
    ]


def signature_check(folder: Path, signers: Path | None) -> Check:
    """The signature of SHA256SUMS; without one a user who can write the folder could replace it."""
    what = f"signature of {store.SUMS}"
    if kind_at(folder / (store.SUMS + SIGNATURE)) is None:
        fault = (f"{store.SUMS + SIGNATURE} is missing",) if signers else ()
        return Check(what, fault, "not signed")
    try:
        name = signer(folder / store.SUMS, signers)
    except AssayError as error:
        return Check(what, (str(error),))
    return Check(what, note=name if signers else f"{name}; whose key it is: --signers FILE")


def _judged_again(
    run_dir: Path, folder: Path, read_criteria: ReadCriteria, made_with: str
) -> list[Check]:
    """Manifest and verdicts, made again and compared with the stored ones."""
    machine = folder / store.MACHINE
    try:
        stored = decoded(json.loads, read_whole(machine), str(machine), "a machine form")
        day, recorded = date.fromisoformat(stored["judged_on"]), dict(stored["files"])
        _by_id(stored)  # each result must have an id
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
    now, other = dossier.form.files, dossier.form.made_with
    files = [
        f"{name} was {'changed' if name in recorded else 'added'}"
        for name, value in now.items()
        if recorded.get(name) != value
    ]
    files += [f"{name} is missing" for name in recorded if name not in now]
    note = "" if other == made_with else f"made with {other}; this is {made_with}"
    return [
        Check("every file of the run against the document", clipped(files)),
        Check("verdicts from the records", clipped(differences(stored, dossier)), note),
    ]


def _by_id(form: Mapping[str, Any]) -> dict[str, Any]:
    return {result["id"]: result for result in form["results"]}


def _without_words(value: Any) -> Any:
    """A form without its sentences."""
    if isinstance(value, dict):
        return {k: _without_words(inner) for k, inner in value.items() if k not in _SENTENCES}
    return [*map(_without_words, value)] if isinstance(value, list) else value


def differences(stored: Mapping[str, Any], dossier: Dossier) -> Iterator[str]:
    """Differences of a stored machine form from the dossier's but for its files; sentences, which
    another Assay may word otherwise, are not compared."""
    stored, fresh = _without_words(stored), _without_words(json.loads(dossier.content))
    fresh = as_of(stored.get("schema"), fresh)
    results, again = _by_id(stored), _by_id(fresh)
    for name in dict.fromkeys([*again, *results]):
        before, now = results.get(name), again.get(name)
        if before is None:
            yield f"criterion {name} is not in the document"
        elif now is None:
            yield f"criterion {name} of the document is not in the criteria file"
        elif before != now:
            old, new = before.get("verdict"), now["verdict"]
            change = f"{old} in the document, {new} now" if old != new else "its numbers differ"
            yield f"criterion {name}: {change}"
    for key in sorted((fresh.keys() | stored.keys()) - {"results", "files", "manifest_sha256"}):
        if stored.get(key) != fresh.get(key):
            old, new = repr(stored.get(key))[:80], repr(fresh.get(key))[:80]
            yield f"{key} differs: {old} in the document, {new} now"


def _raw_fault(files: RawFiles, artifacts: Mapping[str, str]) -> str | None:
    """The first fault of a launch's raw files: missing, damaged, or not what the record says."""
    try:
        for kind, name in raw_paths(artifacts).items():
            if not (wanted := checksum_of(artifacts, kind)):
                return f"{name} has no checksum in its record"
            with files.open(name) or nullcontext() as file:
                if file is None:
                    return f"{name} is missing"
                if hashlib.file_digest(file, "sha256").hexdigest() != wanted:
                    return f"{name} is not what its record says"
    except AssayError as error:
        return str(error)
    return None
