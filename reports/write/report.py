# SPDX-License-Identifier: Apache-2.0
"""Builds the report of a run: every format is written whole or not at all."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from records.errors import AssayError, InfrastructureError
from records.files import replacing
from records.run.run_directory import refuse_other
from reports.analysis import Analysis, analyse
from reports.checks.sections import CheckPart, check_parts
from reports.load.loading import load_run
from reports.render.pdf import BackgroundPrint, find_browser
from reports.show.listings import listed_with_raw_output
from reports.verdicts.papers.document import study_section
from reports.write.content import Content
from reports.write.exporters import render_json, render_junit
from reports.write.frames import render_csv, render_parquet
from reports.write.html import render_pages
from reports.write.markdown import render_markdown
from reports.write.pieces import FOLDER, INDEX
from reports.write.raw_pages import write_raw_pages

#: A file, whole or in pieces, or several files by name.
_Made = str | bytes | Iterator[str] | Iterator[bytes] | dict[str, str]
_Renderer = Callable[[Content], _Made]
_FORMATS: dict[str, tuple[str, _Renderer]] = {
    "html": (INDEX, render_pages),
    "md": ("report.md", render_markdown),
    "csv": ("summary.csv", lambda content: render_csv(content.analysis)),
    "junit": ("junit.xml", lambda content: render_junit(content.analysis)),
    "json": ("verdicts.json", lambda content: render_json(content.analysis, content.warnings)),
    "parquet": ("values.parquet", lambda content: render_parquet(content.analysis)),
}
#: Printed from index.html by a browser, where there is one.
PDF = "report.pdf"
#: What a report consists of; "pdf" comes on top where a browser is installed.
FORMATS = (*_FORMATS, "pdf")


@dataclass(frozen=True)
class ReportPaths:
    """Where the report is, None for formats not asked for, and what it is made from. `complete`:
    the run is finished."""

    directory: Path
    html: Path | None
    md: Path | None
    csv: Path | None
    junit: Path | None
    json: Path | None
    parquet: Path | None
    pdf: Path | None
    complete: bool
    analysis: Analysis

    @property
    def files(self) -> dict[str, str]:
        """The files written, by format, the page first."""
        names = ("html", "pdf", "md", "csv", "parquet", "json", "junit")
        return {name: str(path) for name in names if (path := getattr(self, name))}


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
    formats: Collection[str] = tuple(_FORMATS),
    checks: Sequence[Path] = (),
) -> ReportPaths:
    """Write the report of `run_dir` into `out_dir` (default: run_dir/report).

    `checks` are folders of checks outside the tree, whose `report.py` make their sections.

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
    root = quote(os.path.relpath(run_dir.resolve(), out_dir.resolve()))
    wanted = {*formats, "html"} if "pdf" in formats else set(formats)
    chosen = {file: renderer for name, (file, renderer) in _FORMATS.items() if name in wanted}
    parts: list[CheckPart] = []
    faults: list[str] = []
    if {"html", "md"} & wanted:
        parts, faults = check_parts(analysis, checks, pictures="html" in wanted)
    study = study_section(analysis) if {"html", "md"} & wanted else None
    files = (*chosen, *([PDF] if "pdf" in formats else []))
    content = Content(analysis, root, parts, (*analysis.run.warnings, *faults), study, files)
    with BackgroundPrint() as printer:
        _write_all(out_dir, chosen, content, printer if "pdf" in formats else None)
        if "pdf" in formats:
            printer.finish()
    paths = {
        name: out_dir / file if name in wanted else None for name, (file, _) in _FORMATS.items()
    }
    paths["pdf"] = out_dir / PDF if "pdf" in formats else None
    return ReportPaths(directory=out_dir, complete=analysis.complete, analysis=analysis, **paths)


def default_formats() -> tuple[str, ...]:
    """All formats; without the PDF where no browser can print it."""
    return FORMATS if find_browser() else tuple(_FORMATS)


def _write_all(
    out_dir: Path,
    renderers: dict[str, _Renderer],
    content: Content,
    printer: BackgroundPrint | None,
) -> None:
    """Write every format and begin to print the page; the files take their places together."""
    beside, kept = out_dir / FOLDER, set[str]()
    refuse_other(beside, folder=True)
    try:
        out_dir.mkdir(parents=True, exist_ok=True)
        with ExitStack() as places:
            for file, renderer in renderers.items():
                made = renderer(content)
                files = made if isinstance(made, dict) else {file: made}
                if len(files) > 1:
                    beside.mkdir(exist_ok=True)
                for name, text in files.items():
                    written = places.enter_context(replacing(out_dir / name))
                    _write(text, written)
                    if printer is not None and name == INDEX:
                        printer.start(written.read_text("utf-8"), out_dir / PDF)
                kept |= {Path(name).name for name in files}
        run = content.analysis.run
        write_raw_pages(out_dir, run, content.links.cases, listed_with_raw_output(run))
        if INDEX in renderers:
            _clear(beside, kept)
    except OSError as error:
        raise InfrastructureError(
            f"{out_dir}: the report could not be written ({error.strerror}). The run itself is"
            " untouched; make room or give another directory, then report again."
        ) from error


def _write(made: str | bytes | Iterator[str] | Iterator[bytes], path: Path) -> None:
    """Write a file, one piece after the other: the largest never stand whole in memory."""
    with path.open("wb") as file:
        for piece in (made,) if isinstance(made, str | bytes) else made:
            file.write(piece if isinstance(piece, bytes) else piece.encode("utf-8", "replace"))


def _clear(beside: Path, kept: Collection[str]) -> None:
    """Remove the pages that an earlier report had beside its own, and the folder if it is empty."""
    for page in beside.glob("*.html"):
        if page.name not in kept:
            page.unlink()
    if beside.is_dir() and not any(beside.iterdir()):
        beside.rmdir()
