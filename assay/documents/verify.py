# SPDX-License-Identifier: Apache-2.0
"""Verification of a run and its acceptance: checksums, signature, and the judgement made again.

What could not be verified is reported as such, and never counts as good. Nothing is repaired. If
the records were changed and the whole folder was written again, the seal on the signed paper shows
it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

from assay.documents import acceptance_files as store
from assay.documents.run_checks import Check, Reread, clipped, run_checks
from records.criteria import Criteria
from records.errors import AssayError
from records.input_files import decoded, kind_at, read_whole
from records.run.checksums import SIGNATURE, digest, read_sums, signer
from reports.render import html
from reports.verdicts.acceptance.dossier import FOLDER, Dossier, as_of, make_dossier
from reports.verdicts.acceptance.result import acceptance_result

#: Digits of the seal on paper that are enough.
LEAST_SEAL_DIGITS = 8
#: Keys of sentences, which another Assay may word otherwise.
_SENTENCES = frozenset({"note", "statement", "proposals"})

ReadCriteria = Callable[[str, str], Criteria]


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
    `made_with` names this Assay; `signers` is a file of allowed signers.
    Raises AssayError for a plan, a provenance or records that cannot be read or are not of the run.
    """
    folder, checks = run_dir / FOLDER, run_checks(run_dir, reread)
    kind = kind_at(folder)
    if kind is None or (kind == "a folder" and not any(folder.iterdir())):
        faults = (f"{folder} holds no {store.MACHINE}",) if document or seal else ()
        return [*checks, Check("document", faults, "there is no acceptance document yet")]
    if kind != "a folder" or kind_at(folder / store.MACHINE) is None:
        faults = (f"{store.MACHINE} is missing in {folder}, which is not empty",)
        return [*checks, Check("document", faults)]
    checks += [sums_check(folder), signature_check(folder, signers)]
    checks += _judged_again(run_dir, folder, read_criteria, made_with)
    return [*checks, *_paper(folder, document, seal and seal.strip().lower())]


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
    needed = {*store.SEALED} - {store.PRINT}
    faults = [f"{name} is no file of a document" for name in sums if name not in store.SEALED]
    faults += changed_files(folder, {n: value for n, value in sums.items() if n in store.SEALED})
    faults += [f"{name} is not listed" for name in sorted((there | needed) - {*sums})]
    return Check(what, clipped(faults))


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
    """Manifest, verdicts, lists and page, each made again and compared with the stored one."""
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
    verdicts, told = clipped(differences(stored, dossier, note)), "sentences are not compared"
    return [
        Check("every file of the run against the document", clipped(files)),
        Check("verdicts from the records", verdicts, f"{note}: {told}" if note else ""),
        _made_again(folder, dossier, note),
    ]


def _by_id(form: Mapping[str, Any]) -> dict[str, Any]:
    return {result["id"]: result for result in form["results"]}


def _without_words(value: Any) -> Any:
    """A form without its sentences."""
    if isinstance(value, dict):
        return {k: _without_words(inner) for k, inner in value.items() if k not in _SENTENCES}
    return [*map(_without_words, value)] if isinstance(value, list) else value


def differences(stored: Mapping[str, Any], dossier: Dossier, other: str) -> Iterator[str]:
    """Differences of a stored machine form from the dossier's but for its files; `other`: another
    Assay made it, and sentences are not compared."""
    fresh = json.loads(dossier.content)
    if other:
        stored, fresh = _without_words(stored), _without_words(fresh)
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


def _made_again(folder: Path, dossier: Dossier, other: str) -> Check:
    """The lists and the page, made again from the records. The page bears the seal; of another
    Assay (`other`) only its checksum proves it, and the campaign of a re-run is not compared."""
    what = f"{store.DOCUMENT} and the lists beside it, made again from the records"
    wanted = store.lists(dossier)
    page = html.page(acceptance_result(dossier)).encode("utf-8", "replace")
    faults = list[str]()
    try:
        if digest(folder / store.MACHINE).encode() not in read_whole(folder / store.DOCUMENT):
            faults.append(f"{store.DOCUMENT} does not bear the seal of {store.MACHINE}")
        elif not other and page != read_whole(folder / store.DOCUMENT):
            faults.append(f"{store.DOCUMENT} does not say what the records say")
        for name in (store.MANIFEST, store.RERUNS, *([] if other else [store.RERUN])):
            there = read_whole(folder / name) if kind_at(folder / name) else None
            if there != wanted.get(name):
                faults.append(f"{name} is not what the records give")
    except AssayError as error:
        faults.append(str(error))
    note = f"{other}: of {store.DOCUMENT} its checksum alone is compared" if other else ""
    return Check(what, tuple(faults), note)


def _paper(folder: Path, document: Path | None, seal: str | None) -> Iterator[Check]:
    """A document from elsewhere, and the beginning of a seal on paper, against the folder's."""
    if document is not None:
        kept = [folder / name for name in (store.PRINT, store.DOCUMENT, store.MACHINE)]
        same = digest(document) in [digest(path) for path in kept if path.is_file()]
        faults = () if same else (f"{document} is none of the run's documents",)
        yield Check(f"the document {document.name}", faults)
    if seal is None:
        return
    own = digest(folder / store.MACHINE)
    if not re.fullmatch(rf"[0-9a-f]{{{LEAST_SEAL_DIGITS},64}}", seal):
        fault = f"{seal!r} is no seal; it has {LEAST_SEAL_DIGITS} to 64 hexadecimal digits"
        yield Check("seal", (fault,))
    else:
        other = (f"the seal of this document is {own}, not {seal}",)
        yield Check("seal", () if own.startswith(seal) else other)
