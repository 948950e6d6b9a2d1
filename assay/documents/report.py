# SPDX-License-Identifier: Apache-2.0
"""Builds the report of a run: every format is written whole or not at all; and the pages of raw
output from archives, one a case, for what a report or document links to.

Such pages are copies for readers, with secrets withheld, and as private as the archives; checksums
are those of the members.
"""

import gc
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from urllib.parse import quote

import numpy as np

from records.errors import AssayError, InfrastructureError
from records.files import replacing, write_whole
from records.forms import as_text
from records.plugins import hooks
from records.run.archive import RawFiles, is_member
from records.run.record import checksum_of, raw_paths
from records.run.run_directory import refuse_other
from records.text.plain_text import masked, plain
from reports.analysis.run import Analysis, analyse
from reports.checks.sections import CheckPart, check_parts
from reports.load.launches import Launch, Mask
from reports.load.loading import Run, load_run
from reports.render import formats, html, markdown
from reports.render.files import print_page
from reports.render.formats import junit
from reports.render.html import fill_in
from reports.result import Result, Section
from reports.show.draw import write_pictures
from reports.show.tables import PAGES, RawLinks, page_of
from reports.verdicts.choice.forms import VerdictsForm
from reports.verdicts.choice.result import choice_result, run_pictures
from reports.verdicts.choice.tables import listed_with_raw_output

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
    for kind, path in paths.items():
        try:
            content = files.read(path)
        except AssayError as error:
            content = f"({error})".encode()
        text = "(it is missing)" if content is None else content.decode("utf-8", "replace")
        head, tail, left_out = _ends(text)
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


#: The file of each format, and what it has; the page is printed where there is a browser.
FILES = {
    "html": ("index.html", "pictures, every table, every launch with its raw output"),
    "md": ("report.md", "the report in short, as text"),
    "csv": ("summary.csv", "each metric at each point with its statistics, SI units"),
    "junit": ("junit.xml", "a test case a launch, with the reason of each that is not ok"),
    "json": ("verdicts.json", "the answer, places, every comparison"),
    "parquet": ("values.parquet", "the value of each launch"),
    "pdf": ("report.pdf", "the page, printed"),
}
#: Content of a file, whole or in pieces.
_Made = str | bytes | Iterator[str] | Iterator[bytes]
#: What a report consists of; "pdf" only where a browser is installed.
FORMATS = tuple(FILES)


@dataclass(frozen=True)
class Report:
    """The files written, by format, the page first, and what they were made from."""

    files: dict[str, str]
    analysis: Analysis
    result: Result[VerdictsForm]


@contextmanager
def _without_cycle_search() -> Iterator[None]:
    """Millions of small objects without cycles: searching them for cycles doubles the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@_without_cycle_search()
def build_report(
    run_dir: Path,
    out_dir: Path | None = None,
    formats: Collection[str] = FORMATS[:-1],
) -> Report:
    """Write the report of `run_dir` into `out_dir` (default: run_dir/report).

    Works on unfinished runs, and says so. Raises AssayError for a directory that is no run,
    damaged records or an unknown format; InfrastructureError when a file cannot be written.
    Files of an earlier report are replaced only after all new ones are complete.
    """
    unknown = sorted(set(formats) - set(FORMATS))
    if unknown:
        raise AssayError(f"report format {unknown[0]!r}; allowed: {', '.join(FORMATS)}.")
    run_dir = Path(run_dir)
    if out_dir is None:
        out_dir = run_dir / "report"
        refuse_other(out_dir, folder=True)
    out_dir = Path(out_dir)
    analysis = analyse(load_run(run_dir))
    wanted = [name for name in FORMATS if name in formats or (name == "html" and "pdf" in formats)]
    links = RawLinks(quote(os.path.relpath(run_dir.resolve(), out_dir.resolve())))
    parts, further = list[CheckPart](), list[Section]()
    if {"html", "md"} & {*wanted}:
        parts = check_parts(analysis, pictures="html" in wanted)
        made = (section_of(analysis, links) for section_of in hooks("report_section"))
        further += [section for section in made if section is not None]
    result = choice_result(analysis, parts, links, analysis.run.warnings, further)
    try:
        _write_all(out_dir, wanted, analysis, result, links)
    except OSError as error:
        raise InfrastructureError(
            f"{out_dir}: the report could not be written ({error.strerror}). The run itself is"
            " untouched; make room or give another directory, then report again."
        ) from error
    order = ("html", "pdf", "md", "csv", "parquet", "json", "junit")
    files = {name: str(out_dir / FILES[name][0]) for name in order if name in wanted}
    return Report(files, analysis, result)


def take_out(run_dir: Path, folder: Path) -> list[Path]:
    """Write each picture of the run's report into `folder` as SVG and PNG; gives the files.

    Raises AssayError as load_run does, InfrastructureError when a file cannot be written.
    """
    analysis = analyse(load_run(run_dir))
    return write_pictures(run_pictures(analysis, check_parts(analysis)), analysis.looks, folder)


def _write_all(
    out_dir: Path,
    wanted: Sequence[str],
    analysis: Analysis,
    result: Result[VerdictsForm],
    links: RawLinks,
) -> None:
    """Write every format, whose files take their places together, and print the page."""
    out_dir.mkdir(parents=True, exist_ok=True)
    run = analysis.run

    def others(own: str) -> dict[str, str]:
        return dict(FILES[name] for name in wanted if name != own)

    made: dict[str, Callable[[], _Made]] = {
        "html": lambda: html.page(result, others("html"), links.root),
        "md": lambda: markdown.text(result, others("md")),
        "csv": lambda: formats.csv(analysis),
        "parquet": lambda: formats.parquet(analysis),
        "json": lambda: as_text(result.data),
        "junit": lambda: junit(result.tests, f"{run.plan.campaign} on {run.plan.site}"),
    }
    with ExitStack() as places:
        for name in (name for name in wanted if name in made):
            _write(made[name](), places.enter_context(replacing(out_dir / FILES[name][0])))
    write_raw_pages(out_dir, run, links.cases, listed_with_raw_output(run))
    if "pdf" in wanted:
        page = (out_dir / FILES["html"][0]).read_text("utf-8")
        print_page(page, out_dir / FILES["pdf"][0])


def _write(made: _Made, path: Path) -> None:
    """Write a file, one piece after the other: the largest are never whole in memory."""
    with path.open("wb") as file:
        for piece in (made,) if isinstance(made, str | bytes) else made:
            file.write(piece if isinstance(piece, bytes) else piece.encode("utf-8", "replace"))
