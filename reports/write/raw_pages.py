# SPDX-License-Identifier: Apache-2.0
"""Pages of raw output that lies in archives: one a case, for what a report or document links to.

They are copies for readers; checksums are those of the members, which `assay raw` prints whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

from records.archive import RawFiles
from records.belonging import CHECKSUM
from records.errors import AssayError
from records.files import write_whole
from records.plain_text import plain
from records.run_directory import refuse_other
from reports.load.run import Launch, Run
from reports.show.raw_links import PAGES, page_of
from reports.write.page import fill_in

#: Characters of a file that a page shows: of its begin, and of its end.
HEAD, TAIL = 6144, 2048


@dataclass(frozen=True)
class Shown:
    """A member as a page shows it; `left_out` bytes of its middle are not there."""

    kind: str
    name: str
    sha256: str
    head: str
    tail: str
    left_out: int


def write_raw_pages(report: Path, run: Run, cases: Iterable[int]) -> None:
    """Write the pages of these cases, by their places in the plan, below the folder of a report.

    Cases without a member in an archive have none. Raises OSError.
    """
    wanted = {*cases}
    launches = [one for one in run.launches if one.case in wanted and _archived(one)]
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
    for place, told in shown.items():
        case = run.plan.cases[place]
        text = fill_in("raw.html.j2", {"run": run, "case": case, "launches": told})
        name = page_of(f"{case.id}.b")
        write_whole(folder / name, text.encode("utf-8", "replace"))


def _archived(launch: Launch) -> bool:
    return any(".zip/" in path for path in (launch.artifacts or {}).values())


def _members(files: RawFiles, launch: Launch) -> list[Shown]:
    """The files of a launch; of one that is missing or damaged, that."""
    found, artifacts = [], launch.artifacts or {}
    for kind, path in artifacts.items():
        if kind.endswith(CHECKSUM) or ".zip/" not in path:
            continue
        try:
            content = files.read(path)
            text = b"(it is missing)" if content is None else content
        except AssayError as error:
            text = f"({error})".encode()
        left_out = max(0, len(text) - HEAD - TAIL)
        head = text[:HEAD] if left_out else text
        tail = text[-TAIL:] if left_out else b""
        name, sha256 = path.rpartition("/")[2], artifacts.get(f"{kind}{CHECKSUM}", "")
        found.append(Shown(kind, name, sha256, _text(head), _text(tail), left_out))
    return found


def _text(content: bytes) -> str:
    return plain(content.decode("utf-8", "replace"))
