# SPDX-License-Identifier: Apache-2.0
"""`assay compare` and `assay paper`: a run beside another run, or beside a study of the past."""

from __future__ import annotations

import argparse
from pathlib import Path

import msgspec

from assay.documents.report import write_document
from assay.run.named_runs import MOST_OFFERED, fitting, run_of, unsaid
from assay.screens.pages import show_as_asked
from assay.screens.screen import Screen
from plugins.papers.definition import load_study, read_study, studies
from plugins.papers.document import make_document
from plugins.papers.result import paper_result
from plugins.papers.tables import LONG
from records.errors import ExitStatus
from records.forms import as_text
from records.run.run_directory import RunDirectory, open_run, refuse_other
from reports.render.terminal import show
from reports.show.slides import write_pictures
from reports.verdicts.comparison.compare import compare
from reports.verdicts.comparison.result import comparison_result

#: Folder of the documents of a study in a run directory.
FOLDER = "paper"


def compare_command(arguments: argparse.Namespace) -> int:
    """`assay compare`: print and write the comparison of two runs."""
    found = compare(*_two_runs(arguments), arguments.history)
    result = comparison_result(found, every=arguments.all)
    show_as_asked(result, arguments)
    return ExitStatus.PASS


def _two_runs(arguments: argparse.Namespace) -> tuple[Path, Path]:
    """The runs that are compared. Raises AssayError with pairs that could be."""
    if arguments.run_a is None:
        newest, pairs = dict[str, str](), list[tuple[str, str]]()
        for run in fitting():
            campaign, name = run.plan().campaign, run.path.name
            if campaign in newest:
                pairs.append((f"assay compare {name} {newest[campaign]}", campaign))
            newest[campaign] = name
        none = "" if pairs else " No campaign has two runs below results/."
        raise unsaid(f"compare: which runs?{none}", ("runs of one campaign", pairs[:MOST_OFFERED]))
    first = open_run(arguments.run_a)
    campaign = first.plan().campaign

    def fits(other: RunDirectory) -> bool:
        return other.plan().campaign == campaign and not other.path.samefile(first.path)

    kind = f"other run of {campaign}"
    return first.path, run_of(arguments.run_b, fits, kind, f"assay run {campaign}").path


def paper_command(arguments: argparse.Namespace) -> int:
    """`assay paper`: write the documents of a study, and print its claims."""
    if arguments.study is None:
        run_before = {run.plan().campaign for run in fitting()}
        offered = [
            (f"assay {'paper' if name in run_before else 'run'} {name}", read_study(file).title)
            for name, file in studies().items()
        ]
        raise unsaid("paper: which STUDY?", ("studies", offered))
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
