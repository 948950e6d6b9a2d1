# SPDX-License-Identifier: Apache-2.0
"""Builds the report of a run: every format is written whole or not at all."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from campaigns.errors import AssayError, InfrastructureError
from reports.analysis import Analysis, analyse
from reports.exporters import render_csv, render_json, render_junit
from reports.load import load_run
from reports.markdown import render_markdown
from reports.render import render_html

_Renderer = Callable[[Analysis, str], str]
_FORMATS: dict[str, tuple[str, _Renderer]] = {
    "html": ("index.html", render_html),
    "md": ("report.md", render_markdown),
    "csv": ("summary.csv", lambda analysis, _: render_csv(analysis)),
    "junit": ("junit.xml", lambda analysis, _: render_junit(analysis)),
    "json": ("verdicts.json", lambda analysis, _: render_json(analysis)),
}


@dataclass(frozen=True)
class ReportPaths:
    """Where the report is; None for formats not asked for. `complete`: the run is finished."""

    directory: Path
    html: Path | None
    md: Path | None
    csv: Path | None
    junit: Path | None
    json: Path | None
    complete: bool


def build_report(
    run_dir: Path,
    out_dir: Path | None = None,
    formats: Collection[str] = ("html", "md", "csv", "junit", "json"),
) -> ReportPaths:
    """Write the report of `run_dir` into `out_dir` (default: run_dir/report).

    Works on unfinished runs, and says so. Raises AssayError for a directory that is no run,
    damaged records or an unknown format; InfrastructureError when a file cannot be written.
    Files of an earlier report are replaced only after all new ones are complete.
    """
    unknown = sorted(set(formats) - set(_FORMATS))
    if unknown:
        raise AssayError(f"report format {unknown[0]!r}; allowed: {', '.join(_FORMATS)}.")
    run_dir = Path(run_dir)
    out_dir = run_dir / "report" if out_dir is None else Path(out_dir)
    with _no_cycle_search():
        return _build(run_dir, out_dir, formats)


@contextmanager
def _no_cycle_search() -> Iterator[None]:
    """Millions of small objects without cycles: searching them for cycles doubles the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _build(run_dir: Path, out_dir: Path, formats: Collection[str]) -> ReportPaths:
    analysis = analyse(load_run(run_dir))
    root = quote(os.path.relpath(run_dir.resolve(), out_dir.resolve()))
    _write_all(out_dir, {_FORMATS[name][0]: _FORMATS[name][1] for name in formats}, analysis, root)
    paths = {
        name: out_dir / file if name in formats else None for name, (file, _) in _FORMATS.items()
    }
    return ReportPaths(directory=out_dir, complete=analysis.complete, **paths)


def _write_all(
    out_dir: Path, renderers: dict[str, _Renderer], analysis: Analysis, root: str
) -> None:
    unfinished: dict[Path, Path] = {}
    try:
        out_dir.mkdir(parents=True, exist_ok=True)
        for file, renderer in renderers.items():
            temporary = out_dir / f".{file}.{os.getpid()}.part"
            unfinished[temporary] = out_dir / file
            text = renderer(analysis, root)
            temporary.write_text(text, encoding="utf-8", errors="replace", newline="\n")
        for temporary, final in unfinished.items():
            temporary.replace(final)
    except OSError as error:
        raise InfrastructureError(
            f"{out_dir}: the report could not be written ({error.strerror}). The run itself is"
            " untouched; make room or give another directory, then report again."
        ) from error
    finally:
        for temporary in unfinished:
            temporary.unlink(missing_ok=True)
