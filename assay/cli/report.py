# SPDX-License-Identifier: Apache-2.0
"""`assay report` and the end of `assay run`: a run's answer, its tables and plots in files."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from assay.cli import arguments as shared
from assay.cli.arguments import JSON, NEWEST, argument, pictures
from assay.documents.report import FORMATS, Report, build_report, default_formats, take_out
from assay.run.status import BAD, Bad, ReasonPart, StatusForm, failed_for, run_of
from assay.screens.screen import Screen
from assay.screens.status import reasons, show_status
from records.errors import AssayError, ExitStatus
from records.flags import INVALID_ON_PURPOSE
from records.forms import Form, as_text, key
from reports.analysis.run import Analysis
from reports.render.terminal import show
from reports.result import ON_TERMINAL, Section
from reports.verdicts.choice.forms import ReportForm, report_form


class RunForm(Form, kw_only=True):
    """`assay run`: how the run ended, and what it says."""

    status: Annotated[StatusForm, key("Progress of the run.")]
    report: Annotated[ReportForm | None, key("The answer and the report; null: none was written.")]
    exit_status: Annotated[
        int, key("0: every launch ended well; 1: some did not, or some are missing.")
    ]


def report_command(arguments: argparse.Namespace) -> int:
    """`assay report`: write the files, print the answer."""
    run = run_of(arguments.run_name)
    if arguments.pictures is not None:
        if arguments.json:
            raise AssayError("--pictures writes no report, of which --json tells; leave one out")
        written = take_out(run.path, arguments.pictures)
        print(*written, sep="\n")
        return ExitStatus.PASS
    formats = tuple(arguments.format or default_formats())
    made = build_report(run.path, arguments.out, formats)
    if arguments.json:
        print(as_text(report_form(made.analysis, made.files)), end="")
    else:
        _show(made, failed_for(_bad(made.analysis)))
    if not arguments.format and "pdf" not in formats:
        print("no report.pdf: no Chromium found (apt-get install chromium)", file=sys.stderr)
    return ExitStatus.PASS


def _show(made: Report, failed: Sequence[ReasonPart]) -> None:
    """The answer with what carries it, bad launches by reason, the page and the files with it."""
    screen, run = Screen(), str(made.analysis.run.directory)
    why = reasons(failed, run, screen.width)
    section = Section("reasons", "", lambda: why, shown_on=ON_TERMINAL)
    show(replace(made.result, sections=[*made.result.sections, section]), screen)
    page = made.files.get("html")
    others = [path for name, path in made.files.items() if name != "html"]
    if page:
        screen.line(("page: ", "quiet"), page, indent=2, hang=2)
        names = ", ".join(Path(path).name for path in others)
        if names:
            screen.line(("with it: ", "quiet"), names, indent=2, hang=2)
        return
    for path in others:
        screen.line(path, indent=2)


def _bad(analysis: Analysis) -> list[Bad]:
    """The counted launches that ended badly, those on purpose left out."""
    found = []
    for launch in analysis.bad_launches:
        if launch.counted and launch.status in BAD and INVALID_ON_PURPOSE not in launch.flags:
            case = analysis.run.case(launch)
            output = (launch.artifacts or {}).get("stderr")
            found.append(Bad(launch.status, launch.reason, case.environment, case.check, output))
    return found


def end(status: StatusForm, code: ExitStatus, *, report: bool, as_json: bool) -> None:
    """Tell how a run ended and what it says; it stays as it is if its report cannot be written."""
    made = _report_of(status.run) if report else None
    if as_json:
        told = report_form(made.analysis, made.files) if made else None
        form = RunForm(status=status, report=told, exit_status=int(code))
        print(as_text(form), end="")
    elif made is None:
        show_status(Screen(), status)
    else:
        _show(made, status.reasons)


def _report_of(run: str) -> Report | None:
    """All files but the PDF, which takes a browser's time: `assay report` prints it."""
    try:
        return build_report(Path(run))
    except AssayError as error:
        print(f"assay: no report: {error}; try again: assay report {run}", file=sys.stderr)
        return None


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `assay report`."""
    shared.declare(
        parser,
        report_command,
        NEWEST,
        argument("--format", None, action="append", choices=FORMATS),
        argument("--out", "folder; default: RUN/report", type=Path),
        pictures("of the page", only=True),
        JSON,
    )
