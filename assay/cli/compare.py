# SPDX-License-Identifier: Apache-2.0
"""`assay compare` and `assay paper`: a run beside another run, or beside a study of the past."""

from __future__ import annotations

import argparse
import sys

import msgspec

from assay.cli.arguments import tell_pictures
from assay.documents.report import write_document
from assay.screens.screen import Screen
from records.errors import ExitStatus
from records.forms import as_text
from records.run.run_directory import open_run, refuse_other
from reports.render import html, markdown
from reports.render.files import write_file
from reports.render.terminal import show
from reports.show.slides import write_pictures
from reports.verdicts.comparison.compare import compare
from reports.verdicts.comparison.result import comparison_result
from reports.verdicts.papers.definition import load_study
from reports.verdicts.papers.document import make_document
from reports.verdicts.papers.result import paper_result
from reports.verdicts.papers.tables import LONG

#: Folder of the documents of a study in a run directory.
FOLDER = "paper"


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
    result = paper_result(make_document(study, run))
    written = write_document(result, folder, study.name, LONG)
    if arguments.pictures is not None:
        written += write_pictures(result.pictures(), result.looks, arguments.pictures)
    files = [str(path) for path in written]
    if arguments.json:
        print(as_text(msgspec.structs.replace(result.data, files=files)), end="")
    else:
        show(result, Screen(), files)
    return ExitStatus.PASS
