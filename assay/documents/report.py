# SPDX-License-Identifier: Apache-2.0
"""Builds the report of a run: every format is written whole or not at all."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from assay.documents.raw_pages import write_raw_pages
from records.errors import AssayError, InfrastructureError
from records.files import replacing
from records.forms import as_text
from records.plugins import hooks
from records.run.run_directory import refuse_other
from reports.analysis.run import Analysis, analyse
from reports.checks.sections import CheckPart, check_parts
from reports.load.loading import load_run
from reports.render import formats, html, markdown
from reports.render.files import find_browser, print_page, write_folder
from reports.render.formats import junit
from reports.result import Result, Section
from reports.show.draw import write_pictures
from reports.show.tables import RawLinks
from reports.verdicts.choice.forms import VerdictsForm
from reports.verdicts.choice.result import choice_result, run_pictures
from reports.verdicts.choice.tables import listed_with_raw_output

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


def default_formats() -> tuple[str, ...]:
    """All formats; without the PDF where no browser can print it."""
    return FORMATS if find_browser() else FORMATS[:-1]


def take_out(run_dir: Path, folder: Path) -> list[Path]:
    """Write each picture of the run's report into `folder` as SVG and PNG; gives the files.

    Raises AssayError as load_run does, InfrastructureError when a file cannot be written.
    """
    analysis = analyse(load_run(run_dir))
    return write_pictures(run_pictures(analysis, check_parts(analysis)), analysis.looks, folder)


def write_document(result: Result[Any], folder: Path, stem: str) -> list[Path]:
    """Write a result as page, text and, where a browser prints, PDF; gives the files. Raises
    InfrastructureError when one cannot be written."""
    page = html.page(result)
    write_folder(folder, {f"{stem}.html": page, f"{stem}.md": markdown.text(result)})
    kinds = ["html", "md"]
    if find_browser():
        print_page(page, folder / f"{stem}.pdf")
        kinds.append("pdf")
    return [folder / f"{stem}.{kind}" for kind in kinds]


def _write_all(
    out_dir: Path,
    wanted: Sequence[str],
    analysis: Analysis,
    result: Result[VerdictsForm],
    links: RawLinks,
) -> None:
    """Write every format, whose files take their places together, and print the page."""
    out_dir.mkdir(parents=True, exist_ok=True)
    data = {FILES[name][0]: FILES[name][1] for name in wanted}
    with ExitStack() as places:
        for name in (name for name in wanted if name != "pdf"):
            made = _made(name, analysis, result, data, links.root)
            _write(made, places.enter_context(replacing(out_dir / FILES[name][0])))
    write_raw_pages(out_dir, analysis.run, links.cases, listed_with_raw_output(analysis.run))
    if "pdf" in wanted:
        page = (out_dir / FILES["html"][0]).read_text("utf-8")
        print_page(page, out_dir / FILES["pdf"][0])


def _made(
    name: str,
    analysis: Analysis,
    result: Result[VerdictsForm],
    data: Mapping[str, str],
    root: str,
) -> str | bytes | Iterator[str] | Iterator[bytes]:
    """The file of a format, whole or in pieces."""
    file, plan = FILES[name][0], analysis.run.plan
    others = {other: what for other, what in data.items() if other != file}
    made: dict[str, Callable[[], str | bytes | Iterator[str] | Iterator[bytes]]] = {
        "html": lambda: html.page(result, others, root),
        "md": lambda: markdown.text(result, others),
        "csv": lambda: formats.csv(analysis),
        "parquet": lambda: formats.parquet(analysis),
        "json": lambda: as_text(result.data),
        "junit": lambda: junit(result.tests, f"{plan.campaign} on {plan.site}"),
    }
    return made[name]()


def _write(made: str | bytes | Iterator[str] | Iterator[bytes], path: Path) -> None:
    """Write a file, one piece after the other: the largest are never whole in memory."""
    with path.open("wb") as file:
        for piece in (made,) if isinstance(made, str | bytes) else made:
            file.write(piece if isinstance(piece, bytes) else piece.encode("utf-8", "replace"))
