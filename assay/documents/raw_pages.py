# SPDX-License-Identifier: Apache-2.0
"""Pages of raw output from archives: one a case, for what a report or document links to.

They are copies for readers, with secrets withheld, and as private as the archives; checksums are
those of the members.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

import numpy as np

from records.errors import AssayError
from records.files import write_whole
from records.run.archive import RawFiles, is_member
from records.run.record import checksum_of, raw_paths
from records.run.run_directory import refuse_other
from records.text.plain_text import masked, plain
from reports.load.launches import Launch, Mask
from reports.load.loading import Run
from reports.render.html import fill_in
from reports.show.tables import PAGES, page_of

#: The artifact that has the site's preparation and variables.
#: Characters at the begin and at the end of a file that are searched for secrets: what a page shows
#: of it, and so much beyond that none is cut.
_SEARCHED = 1 << 16
#: Characters of a file that a page shows: of its begin, and of its end.
HEAD, TAIL = 6144, 2048


@dataclass(frozen=True)
class Shown:
    """A member as a page shows it; `left_out` characters of its middle are not there."""

    kind: str
    name: str
    sha256: str
    head: str
    tail: str
    left_out: int


def write_raw_pages(
    report: Path, run: Run, cases: Collection[str], marked: Mask | bool = True
) -> None:
    """Write the pages of these cases, by their ids, below the folder of a report; of their launches
    those that are marked.

    Cases without a member in an archive have none. Raises OSError.
    """
    wanted = [place for place, case in enumerate(run.plan.cases) if case.id in cases]
    listed = run.launches.where(np.isin(run.launches.case, wanted) & marked)
    launches = [one for one in listed if any(map(is_member, (one.artifacts or {}).values()))]
    if not launches:
        return
    shown: dict[int, list[tuple[Launch, list[Shown]]]] = {}
    with RawFiles(run.directory) as files:
        for launch in sorted(launches, key=attrgetter("block")):
            shown.setdefault(launch.case, []).append((launch, _members(files, launch)))
    folder = report / PAGES
    for there in (report, folder):
        refuse_other(there, folder=True)
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    for place, told in shown.items():
        case = run.plan.cases[place]
        text = fill_in("raw.html.j2", {"run": run, "case": case, "launches": told})
        write_whole(folder / page_of(case.id), text.encode("utf-8", "replace"), 0o600)


def _members(files: RawFiles, launch: Launch) -> list[Shown]:
    """The files of a launch; of one that is missing or damaged, that."""
    shown, artifacts = [], launch.artifacts or {}
    paths = {kind: path for kind, path in raw_paths(artifacts).items() if is_member(path)}
    texts = {kind: _read(files, path) for kind, path in paths.items()}
    for kind, path in paths.items():
        head, tail, left_out = _ends(texts[kind])
        name, sha256 = path.rpartition("/")[2], checksum_of(artifacts, kind)
        shown.append(Shown(kind, name, sha256, plain(head), plain(tail), left_out))
    return shown


def _ends(text: str) -> tuple[str, str, int]:
    """The begin and the end of a text, secrets withheld, and the characters between them."""
    cut = max(0, len(text) - 2 * _SEARCHED)
    parts = (text[:_SEARCHED], text[-_SEARCHED:]) if cut else (text,)
    text = "".join(masked(part) for part in parts)
    if len(text) <= HEAD + TAIL:
        return text, "", 0
    return text[:HEAD], text[-TAIL:], cut + len(text) - HEAD - TAIL


def _read(files: RawFiles, path: str) -> str:
    """The text of a member; where it is missing or damaged, that."""
    try:
        content = files.read(path)
    except AssayError as error:
        return f"({error})"
    return "(it is missing)" if content is None else content.decode("utf-8", "replace")
