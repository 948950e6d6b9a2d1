# SPDX-License-Identifier: Apache-2.0
"""`assay paper`: a run beside a study of the past."""

import argparse
from pathlib import Path

import msgspec

from assay.cli.arguments import JSON, argument, declared, pictures
from assay.run.status import fitting, run_of
from assay.screens.screen import Screen
from assay.terminal import WIDTH
from plugins.papers.result import paper_result
from plugins.papers.study import load_study, studies
from records.errors import AssayError, ExitStatus
from records.forms import as_text
from records.run.run_directory import refuse_other
from reports.analysis.run import analyse
from reports.load.loading import load_run
from reports.notation.labels import shortened
from reports.render import html, markdown
from reports.render.files import find_browser, print_page, write_folder
from reports.render.terminal import show
from reports.show.draw import write_pictures

#: Folder of the documents of a study in a run directory.
FOLDER = "paper"


def paper_command(arguments: argparse.Namespace) -> int:
    """`assay paper`: write the documents of a study, and print its claims."""
    if arguments.study is None:
        run_before = {run.plan().campaign for run in fitting()}
        offered = [
            (f"assay {'paper' if name in run_before else 'run'} {name}", load_study(name).title)
            for name in studies()
        ]
        widest = max(len(command) for command, _ in offered)
        lines = (
            f"  {command:{widest}}  {shortened(title, WIDTH - 4 - widest)}"
            for command, title in offered
        )
        raise AssayError("\n".join(["paper: which STUDY?", "studies:", *lines]))
    study = load_study(arguments.study)
    name = study.name
    run = run_of(
        arguments.run_name,
        lambda run: run.plan().campaign == name,
        f"run of {name}",
        f"assay run {name}",
    ).path
    folder = arguments.output or run / FOLDER
    refuse_other(folder, folder=True)
    result = paper_result(study, analyse(load_run(run)))
    page, name = html.page(result), study.name
    files_of_text = {f"{name}.html": page, f"{name}.md": markdown.text(result)}
    write_folder(folder, files_of_text)
    written = [folder / file for file in files_of_text]
    if find_browser():
        written.append(folder / f"{name}.pdf")
        print_page(page, written[-1])
    if arguments.pictures is not None:
        written += write_pictures(result.pictures(), result.looks, arguments.pictures)
    files = [str(path) for path in written]
    if arguments.json:
        print(as_text(msgspec.structs.replace(result.data, files=files)), end="")
    else:
        show(result, Screen(), files)
    return ExitStatus.PASS


declare = declared(
    paper_command,
    argument(
        "study STUDY",
        "a year, as 2003, or a name, as ornl-1996; without it they are listed",
        nargs="?",
    ),
    argument("run_name RUN", "default: the newest of the study's campaign", nargs="?"),
    argument("--output DIR", "default: RUN/paper", type=Path),
    *(pictures("of the document"), JSON),
)
