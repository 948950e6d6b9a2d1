# SPDX-License-Identifier: Apache-2.0
"""The acceptance folder: its checksums, their signature, and the judgement made again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from assay.documents import acceptance_files as store
from records.criteria import Criteria
from records.errors import AssayError
from records.input_files import decoded, kind_at, read_whole
from records.run.checksums import SIGNATURE, digest, read_sums, signer
from reports.render import html
from reports.verdicts.acceptance.dossier import FOLDER, Dossier, make_dossier
from reports.verdicts.acceptance.forms import as_of
from reports.verdicts.acceptance.result import acceptance_result

ReadCriteria = Callable[[str, str], Criteria]
#: At most so many faults of one kind are listed.
MOST_LISTED = 20
#: Parts of the machine form that are compared separately.
_APART = ("results", "files", "manifest_sha256", "criteria")
#: Keys of sentences, which another Assay may word otherwise.
_SENTENCES = frozenset({"note", "statement", "proposals"})


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


def clipped(faults: Iterable[str]) -> tuple[str, ...]:
    """The first MOST_LISTED faults, then the number of the others."""
    found = list(faults)
    more = len(found) - MOST_LISTED
    return (*found[:MOST_LISTED], *([f"and {more} more"] if more > 0 else []))


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
        said = signer(folder / store.SUMS, signers)
    except AssayError as error:
        return Check(what, (str(error),))
    return Check(what, note=said if signers else f"{said}; whose key it is: --signers FILE")


def judged_again(
    run_dir: Path, folder: Path, read_criteria: ReadCriteria, made_with: str
) -> list[Check]:
    """Manifest, criteria, verdicts and page, each made again and compared with the stored one."""
    machine = folder / store.MACHINE
    try:
        stored = decoded(json.loads, read_whole(machine), str(machine), "a machine form")
        day = date.fromisoformat(stored["judged_on"])
        recorded = dict(stored["files"])
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
    now, criteria = dossier.form.files, stored.get("criteria")
    files = [
        f"{name} was changed" if name in now else f"{name} is missing"
        for name, value in recorded.items()
        if name not in now or now[name] != value
    ]
    files += [f"{name} was added" for name in now if name not in recorded]
    same = (
        isinstance(criteria, dict) and criteria.get("sha256") == dossier.form.criteria_file.sha256
    )
    note = (
        ""
        if (other := dossier.form.made_with) == made_with
        else f"made with {other}; this is {made_with}"
    )
    return [
        Check("every file of the run against the document", clipped(files)),
        Check("criteria file against the document", () if same else ("criteria.yaml was changed",)),
        Check(
            "verdicts from the records",
            clipped(differences(stored, dossier, note)),
            f"{note}: sentences are not compared" if note else "",
        ),
        _lists(folder, dossier, note),
        _page(folder, dossier, note),
    ]


def _by_id(form: Mapping[str, Any]) -> dict[str, Any]:
    return {result["id"]: result for result in form["results"]}


def _without_words(value: Any) -> Any:
    """A form without its sentences."""
    if isinstance(value, dict):
        return {k: _without_words(one) for k, one in value.items() if k not in _SENTENCES}
    return [_without_words(one) for one in value] if isinstance(value, list) else value


def differences(stored: Mapping[str, Any], dossier: Dossier, other: str) -> Iterator[str]:
    """What of a stored machine form differs from the dossier's but for its files; `other`: another
    Assay made it, and sentences are not compared."""
    fresh = json.loads(dossier.content)
    if other:
        stored, fresh = _without_words(stored), _without_words(fresh)
    results, fresh = _by_id(stored), as_of(stored.get("schema"), fresh)
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
        if key not in _APART and stored.get(key) != fresh.get(key):
            old, new = repr(stored.get(key))[:80], repr(fresh.get(key))[:80]
            yield f"{key} differs: {old} in the document, {new} now"


def _lists(folder: Path, dossier: Dossier, other: str) -> Check:
    """The files of the folder that its seal does not cover, against those made again. `other` says
    that another Assay made them."""
    what = f"{store.MANIFEST}, {store.RERUNS} and {store.RERUN} made again from the records"
    wanted = store.lists(dossier)
    there = {name: kind_at(folder / name) for name in (store.MANIFEST, store.RERUNS, store.RERUN)}
    try:
        differ = [
            name
            for name, kind in there.items()
            if (read_whole(folder / name) if kind else None) != wanted.get(name)
        ]
    except AssayError as error:
        return Check(what, (str(error),))
    if other and differ == [store.RERUN]:
        return Check(what, note=f"{other}: {store.RERUN} is not compared", unproven=True)
    return Check(what, tuple(f"{name} is not what the records give" for name in differ))


def _page(folder: Path, dossier: Dossier, other: str) -> Check:
    """The page bears the seal; one of this Assay is made again. That of another is proven by its
    checksum, as is the print."""
    what = f"{store.DOCUMENT} against the records"
    try:
        page = read_whole(folder / store.DOCUMENT)
    except AssayError as error:
        return Check(what, (str(error),))
    if digest(folder / store.MACHINE).encode() not in page:
        return Check(what, (f"{store.DOCUMENT} does not bear the seal of {store.MACHINE}",))
    if other or page == html.page(acceptance_result(dossier)).encode("utf-8", "replace"):
        return Check(what, note=f"{other}: its checksum alone is compared" if other else "")
    return Check(what, (f"{store.DOCUMENT} does not say what the records say",))
