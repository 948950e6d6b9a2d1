# SPDX-License-Identifier: Apache-2.0
"""The acceptance folder: every file of it made again from the run, and compared."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

from records.criteria import Criteria
from records.errors import AssayError, InfrastructureError
from records.input_files import decoded, kind_at, read_whole
from reports.acceptance import store
from reports.acceptance.comparison import Check, clipped
from reports.acceptance.digests import digest, made_with, page_made_with, read_sums
from reports.acceptance.document import render_document
from reports.acceptance.dossier import FOLDER, Dossier, make_dossier
from reports.write.pdf import find_browser, html_to_pdf

ReadCriteria = Callable[[str, str], Criteria]
#: Parts of the machine form that are compared separately.
_TOLD_APART = ("results", "files", "manifest_sha256", "criteria")
#: What differs between two prints of one page: dates, where links on this machine lead, offsets.
_VARYING = re.compile(
    rb"/(?:CreationDate|ModDate) \(D:[0-9+'Z-]*\)"
    rb"|/URI \(file://(?:\\.|[^\\()])*\)"
    rb"|\nxref\n[0-9nf \r\n]*"
    rb"|startxref\n[0-9]+"
)


def folder_checks(run_dir: Path, folder: Path, read_criteria: ReadCriteria) -> list[Check]:
    """All comparisons of a folder that holds a machine form."""
    return [_sums(folder), *_judged_again(run_dir, folder, read_criteria)]


def _sums(folder: Path) -> Check:
    """The files of the folder against its SHA256SUMS: all are listed, and no other."""
    what = f"files of {FOLDER}/ against {store.SUMS}"
    if not (folder / store.SUMS).is_file():
        return Check(what, (f"{store.SUMS} is missing",))
    try:
        sums = read_sums(folder / store.SUMS)
    except AssayError as error:
        return Check(what, (str(error),))
    there = {path.name for path in folder.iterdir()} - {store.SUMS, store.RERUN}
    needed = {*store.SEALED} - {store.PRINT}
    faults = [f"{name} is no file of a document" for name in sums if name not in store.SEALED]
    faults += [
        f"{name} was changed"
        for name, value in sums.items()
        if name in store.SEALED
        and (kind_at(folder / name) != "a file" or digest(folder / name) != value)
    ]
    faults += [f"{name} is not listed" for name in sorted((there | needed) - {*sums})]
    return Check(what, clipped(faults))


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
    verdicts = clipped(_verdicts(stored, results, dossier))
    return [
        Check("every file of the run against the document", clipped(files)),
        Check("criteria file against the document", criteria),
        Check("verdicts from the records", verdicts, note=_other_code(dossier)),
        _lists(folder, dossier),
        *_pages(folder, dossier),
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


def _lists(folder: Path, dossier: Dossier) -> Check:
    """The files beside the document that its seal does not cover, against those made again."""
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
    other = _other_code(dossier)
    if other and differ == [store.RERUN]:
        return Check(what, note=f"{other}: {store.RERUN} is not compared", unproven=True)
    return Check(what, tuple(f"{name} is not what the records give" for name in differ))


def _pages(folder: Path, dossier: Dossier) -> list[Check]:
    """The page and, where there is one, its print."""
    page = _page(folder, dossier)
    if kind_at(folder / store.PRINT) is None:
        return [page]
    return [page, _print(folder, proven=page.good and not page.unproven)]


def _page(folder: Path, dossier: Dossier) -> Check:
    """The page: its seal, and every byte; other code cannot make it again."""
    what = f"{store.DOCUMENT} made again from the records"
    try:
        page = read_whole(folder / store.DOCUMENT)
    except AssayError as error:
        return Check(what, (str(error),))
    if digest(folder / store.MACHINE).encode() not in page:
        return Check(what, (f"{store.DOCUMENT} does not bear the seal of {store.MACHINE}",))
    if page == render_document(dossier).text.encode("utf-8", "replace"):
        return Check(what)
    other = _other_code(dossier)
    if not other and page_made_with().encode() not in page:
        other = f"made with other page code; this is {page_made_with()}"
    if other:
        return Check(what, note=f"{other}: not compared", unproven=True)
    return Check(what, (f"{store.DOCUMENT} does not say what the records say",))


def _print(folder: Path, *, proven: bool) -> Check:
    """The print against a new one of the page; another browser or other fonts prove nothing."""
    what, page = f"{store.PRINT} printed again from {store.DOCUMENT}", folder / store.DOCUMENT
    if not proven:
        return Check(what, note=f"{store.DOCUMENT} is not proven: not compared", unproven=True)
    if find_browser() is None:
        return Check(what, note="no browser is installed here: not compared", unproven=True)
    try:
        with tempfile.TemporaryDirectory(prefix="assay-verify-") as place:
            html_to_pdf(page, Path(place) / store.PRINT)
            prints = [read_whole(Path(there) / store.PRINT) for there in (folder, place)]
    except (AssayError, InfrastructureError, OSError) as error:
        return Check(what, note=f"not compared: {error}", unproven=True)
    here, again = (_VARYING.sub(b"", content) for content in prints)
    if here == again:
        return Check(what)
    note = f"another browser or other fonts made it, or it was changed: rely on {store.DOCUMENT}"
    return Check(what, note=note, unproven=True)
