# SPDX-License-Identifier: Apache-2.0
"""Writes the folder `acceptance/` of a run directory, each file atomically."""

import json
import os
from pathlib import Path

import msgspec

from assay.documents.report import write_raw_pages
from records.errors import AssayError, InfrastructureError
from records.files import write_whole
from records.input_files import decoded, kind_at, read_whole
from records.run.chain import SIGNATURE, digest, sums_text
from records.run.rerun import rerun_campaign
from records.run.run_directory import refuse_other
from records.text.plain_text import plain
from reports.render import html
from reports.render.files import find_browser, html_to_pdf
from reports.verdicts.acceptance.judge import FOLDER, Dossier
from reports.verdicts.acceptance.result import acceptance_result, raw_links

DOCUMENT, PRINT, MACHINE = "document.html", "document.pdf", "acceptance.json"
CRITERIA, MANIFEST, RERUNS, RERUN = "criteria.yaml", "manifest.sha256", "reruns.json", "rerun.yaml"
SUMS = "SHA256SUMS"
#: All files of a document, in the order of the list of checksums; PRINT may be missing.
SEALED = (MACHINE, CRITERIA, MANIFEST, RERUNS, DOCUMENT, PRINT)
#: Files of the folder that SHA256SUMS does not list.
NOT_LISTED = frozenset({SUMS, SUMS + SIGNATURE, RERUN})
_NAME_LENGTH = 64


def write(dossier: Dossier, criteria_text: str) -> None:
    """Write the folder.

    The PDF is left out where no browser is installed. Raises InfrastructureError when a file cannot
    be written; the files of an earlier judgement are replaced only after all texts are complete.
    """
    folder = dossier.run.directory / FOLDER
    refuse_other(folder, folder=True)
    links = raw_links(dossier)
    page = html.page(acceptance_result(dossier, links=links))
    texts = {
        MACHINE: dossier.content,
        CRITERIA: criteria_text.encode(),
        **lists(dossier),
        DOCUMENT: page.encode("utf-8", "replace"),
    }
    try:
        folder.mkdir(exist_ok=True)
        for name in (PRINT, *NOT_LISTED):
            (folder / name).unlink(missing_ok=True)
        for name, content in texts.items():
            write_whole(folder / name, content)
        for run in (dossier.run, *dossier.reruns):
            write_raw_pages(run.directory / "report", run, links[run.run_id].cases)
        if find_browser() is not None:
            html_to_pdf(folder / DOCUMENT, folder / PRINT)
        sums = {name: digest(folder / name) for name in SEALED if (folder / name).is_file()}
        write_whole(folder / SUMS, sums_text(sums).encode())
    except OSError as error:
        raise InfrastructureError(
            f"{folder}: the document could not be written ({error.strerror}). The run itself is"
            " untouched; make the folder writable, with room, then accept again."
        ) from error


def lists(dossier: Dossier) -> dict[str, bytes]:
    """The texts with the document: checksums, the re-runs, and where something is undecided the
    campaign file (JSON, which is YAML) that runs those cases once more."""
    run, plan, wanted = dossier.run, dossier.run.plan, dossier.judgement.rerun
    here = run.directory.resolve()
    paths = [os.path.relpath(rerun.directory.resolve(), here) for rerun in dossier.reruns]
    texts = {
        MANIFEST: sums_text(dossier.form.files).encode(),
        RERUNS: (json.dumps(paths, indent=1) + "\n").encode(),
    }
    if wanted:
        content = rerun_campaign(
            plan,
            wanted,
            name=f"{plan.campaign[: _NAME_LENGTH - 6]}-rerun",
            question=f"Do the undecided verdicts of run {run.run_id} hold in fresh launches?",
            blocks=dossier.criteria.with_mixes_of(plan.mix_blocks).rerun_blocks,
            seed=plan.seed + 1 + len(dossier.reruns),
        )
        head = (
            "# SPDX-License-Identifier: Apache-2.0\n"
            f"# Written by assay accept: re-runs of {len(wanted)} cases of run {run.run_id}.\n"
        )
        text = head + json.dumps(content, indent=1, ensure_ascii=False) + "\n"
        texts[RERUN] = plain(text).encode()
    return texts


def known_reruns(run_dir: Path) -> list[Path]:
    """The re-runs of the last judgement. Raises AssayError for a damaged list."""
    path = run_dir / FOLDER / RERUNS
    if kind_at(path) is None:
        return []
    decode = msgspec.json.Decoder(list[str]).decode
    names = decoded(decode, read_whole(path), str(path), "a list of run directories")
    reruns = [Path(os.path.normpath(run_dir.resolve() / name)) for name in names]
    for name, rerun in zip(names, reruns, strict=True):
        if not rerun.is_dir():
            raise AssayError(f"{path}: the re-run {name} is not there; bring it back to {rerun}")
    return reruns
