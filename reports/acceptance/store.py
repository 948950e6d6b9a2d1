# SPDX-License-Identifier: Apache-2.0
"""The folder `acceptance/` of a run directory: what is written there, whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from records.errors import AssayError, InfrastructureError
from records.files import write_whole
from reports.acceptance.document import render_document
from reports.acceptance.dossier import FOLDER, Dossier
from reports.acceptance.manifest import digest, sums_text
from reports.acceptance.reruns import rerun_file
from reports.write.pdf import find_browser, html_to_pdf

DOCUMENT, PRINT, MACHINE = "document.html", "document.pdf", "acceptance.json"
CRITERIA, MANIFEST, RERUNS, RERUN = "criteria.yaml", "manifest.sha256", "reruns.json", "rerun.yaml"
SUMS = "SHA256SUMS"
_SEALED = (MACHINE, CRITERIA, MANIFEST, RERUNS, DOCUMENT, PRINT)


def write(dossier: Dossier, criteria_text: str) -> list[Path]:
    """Write the folder; returns the files for people and machines, the document first.

    The PDF is left out where no browser is installed. Raises InfrastructureError when a file cannot
    be written; the files of an earlier judgement are replaced only after all texts are complete.
    """
    folder = dossier.run.directory / FOLDER
    texts = {
        MACHINE: dossier.content,
        CRITERIA: criteria_text.encode(),
        MANIFEST: sums_text(dossier.files).encode(),
        RERUNS: _reruns_text(dossier).encode(),
        DOCUMENT: render_document(dossier).encode("utf-8", "replace"),
    }
    if dossier.judgement.rerun:
        texts[RERUN] = rerun_file(dossier).encode()
    try:
        folder.mkdir(exist_ok=True)
        for name in (SUMS, PRINT, RERUN):
            (folder / name).unlink(missing_ok=True)
        for name, content in texts.items():
            write_whole(folder / name, content)
        if find_browser() is not None:
            html_to_pdf(folder / DOCUMENT, folder / PRINT)
        sums = {name: digest(folder / name) for name in _SEALED if (folder / name).is_file()}
        write_whole(folder / SUMS, sums_text(sums).encode())
    except OSError as error:
        raise InfrastructureError(
            f"{folder}: the document could not be written ({error.strerror}). The run itself is"
            " untouched; make room, then accept again."
        ) from error
    names = [DOCUMENT, PRINT, MACHINE, *([RERUN] if RERUN in texts else [])]
    return [folder / name for name in names if (folder / name).is_file()]


def _reruns_text(dossier: Dossier) -> str:
    here = dossier.run.directory.resolve()
    paths = [os.path.relpath(rerun.directory.resolve(), here) for rerun in dossier.reruns]
    return json.dumps(paths, indent=1) + "\n"


def known_reruns(run_dir: Path) -> list[Path]:
    """The re-runs that the last judgement took in. Raises AssayError for a damaged list."""
    path = run_dir / FOLDER / RERUNS
    if not path.is_file():
        return []
    try:
        names = json.loads(path.read_bytes())
        return [_rerun_path(run_dir, name) for name in names]
    except (ValueError, TypeError) as error:
        raise AssayError(
            f"{path}: is no list of run directories ({error}); remove it and name the re-runs with"
            " --with"
        ) from error


def _rerun_path(run_dir: Path, name: str) -> Path:
    path = Path(os.path.normpath(run_dir.resolve() / name))
    if not path.is_dir():
        raise AssayError(
            f"{run_dir / FOLDER / RERUNS}: the re-run {name} is not there; bring it back to {path}"
        )
    return path


def merged_reruns(known: Sequence[Path], added: Sequence[Path]) -> list[Path]:
    """The re-runs in the order they came, each once."""
    found: Mapping[Path, None] = dict.fromkeys(path.resolve() for path in [*known, *added])
    return list(found)
