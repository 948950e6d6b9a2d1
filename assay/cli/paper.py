# SPDX-License-Identifier: Apache-2.0
"""`assay paper`: a published study compared with a run: its tables, figures and claims."""

from __future__ import annotations

import argparse
from pathlib import Path

from assay.cli.options import add_json
from assay.cli.pictures import add_pictures
from assay.forms import ClaimPart, PaperForm
from assay.terminal import say
from records.errors import ExitStatus
from records.forms import as_text
from records.run.run_directory import open_run, refuse_other
from reports.show.slides import write_pictures
from reports.verdicts.papers.claims import UNTESTABLE
from reports.verdicts.papers.definition import load_study
from reports.verdicts.papers.document import make_document
from reports.write.paper import write_document

#: Folder of the documents in a run directory.
FOLDER = "paper"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "study",
        metavar="STUDY",
        help="a year, as 2003, a name, as ornl-1996, or a folder with a study.yaml",
    )
    parser.add_argument("run_directory", metavar="RUN")
    parser.add_argument("--output", type=Path, metavar="DIR", help=f"default: RUN/{FOLDER}")
    add_pictures(parser, "of the document")
    add_json(parser)
    parser.set_defaults(run=_paper)


def _paper(arguments: argparse.Namespace) -> int:
    study = load_study(arguments.study)
    run = open_run(arguments.run_directory).path
    folder = arguments.output or run / FOLDER
    refuse_other(folder, folder=True)
    document = make_document(study, run)
    written = write_document(document, folder)
    if arguments.pictures is not None:
        pictures = [picture for part in document.parts for picture in part.pictures]
        written += write_pictures(pictures, document.analysis.looks, arguments.pictures)
    if arguments.json:
        claims = [
            ClaimPart(claim=one.claim.said, verdict=one.word, because=one.because)
            for one in document.claims
        ]
        files = [str(path) for path in written]
        form = PaperForm(
            study=study.name, run=str(run), answer=document.answer, claims=claims, files=files
        )
        print(as_text(form), end="")
        return ExitStatus.PASS
    say(f"{study.authors} {study.year}: {document.answer}")
    for text in document.warnings:
        say(f"  note: {text}")
    for one in document.claims:
        why = f" ({one.because})" if one.word == UNTESTABLE else ""
        say(f"  {one.word}: {one.claim.said}{why}")
    for path in written:
        say(str(path))
    return ExitStatus.PASS
