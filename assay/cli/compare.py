# SPDX-License-Identifier: Apache-2.0
"""`assay compare` and `assay paper`: a run beside another run, or beside a study of the past."""

from __future__ import annotations

import argparse
import sys
from typing import Annotated

from assay.cli.arguments import tell_pictures
from assay.screens.screen import Screen
from assay.terminal import say
from records.errors import ExitStatus
from records.forms import Form, Part, as_text, key
from records.run.run_directory import open_run, refuse_other
from reports.render import html, markdown
from reports.render.files import write_file
from reports.render.terminal import show
from reports.show.slides import write_pictures
from reports.verdicts.comparison.compare import compare
from reports.verdicts.comparison.result import comparison_result
from reports.verdicts.papers.claims import UNTESTABLE
from reports.verdicts.papers.definition import load_study
from reports.verdicts.papers.document import make_document
from reports.write.paper import write_document

#: Folder of the documents of a study in a run directory.
FOLDER = "paper"


class ClaimPart(Part, kw_only=True):
    """A claim of a study, held against the run."""

    claim: Annotated[str, key("What the study says.")]
    verdict: Annotated[
        str,
        key(
            "holds, does not hold, not resolved, cannot be tested here, differs between libraries."
        ),
    ]
    because: Annotated[
        str, key("Value, interval and n of each environment, or why it cannot be tested.")
    ] = ""


class PaperForm(Form, kw_only=True):
    """`assay paper`: a study compared with a run."""

    study: Annotated[str, key("The study.")]
    run: Annotated[str, key("The run directory.")]
    answer: Annotated[str, key("The first sentence.")]
    claims: Annotated[list[ClaimPart], key("Its claims.")]
    files: Annotated[list[str], key("The files written.")]


def compare_command(arguments: argparse.Namespace) -> int:
    """`assay compare`: print and write the comparison of two runs."""
    first, second = (open_run(name).path for name in (arguments.run_a, arguments.run_b))
    found = compare(first, second, arguments.history)
    result = comparison_result(found, every=arguments.all)
    if arguments.json:
        print(as_text(result.data), end="")
    else:
        show(result, Screen())
    for path, render in ((arguments.html, html.page), (arguments.markdown, markdown.text)):
        if path:
            write_file(render(result), path)
            print(path, file=sys.stderr)
    if arguments.pictures:
        written = write_pictures(result.pictures(), {}, arguments.pictures)
        tell_pictures(written, as_json=arguments.json)
    return ExitStatus.PASS


def paper_command(arguments: argparse.Namespace) -> int:
    """`assay paper`: write the documents of a study, and print its claims."""
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
