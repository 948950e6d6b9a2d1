# SPDX-License-Identifier: Apache-2.0
"""`assay report` and the end of `assay run`: a run's answer, its tables and plots in files."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from assay.cli.arguments import tell_pictures
from assay.forms import RunForm, status_form
from assay.run.status import BAD, Bad, RunStatus, failed_for
from assay.screens.answer import show_report
from assay.screens.screen import Screen
from assay.screens.status import show_status
from checks.common.registry import FOLDERS
from checks.common.sources import further_folders
from records.errors import AssayError, ExitStatus
from records.flags import INVALID_ON_PURPOSE
from records.forms import as_text
from records.run.run_directory import latest_run, open_run
from reports.analysis import Analysis
from reports.answer.forms import ReportForm, report_form
from reports.write.pictures import take_out
from reports.write.report import FORMATS, ReportPaths, build_report, default_formats


def report_command(arguments: argparse.Namespace) -> int:
    """`assay report`: write the files, print the answer."""
    run = open_run(arguments.run_name) if arguments.run_name else latest_run()
    if arguments.pictures is not None:
        if arguments.json:
            raise AssayError("--pictures writes no report, of which --json tells; leave one out")
        written = take_out(run.path, arguments.pictures, _folders(arguments.checks))
        tell_pictures(written, as_json=False)
        return ExitStatus.PASS
    formats = tuple(arguments.format or default_formats())
    made = make_report(run.path, arguments.out, formats, arguments.checks)
    told = report_form(made.analysis, made.files)
    if arguments.json:
        print(as_text(told), end="")
    else:
        show_report(Screen(), told, failed_for(_bad(made.analysis)))
    if not arguments.format and "pdf" not in formats:
        print("no report.pdf: no Chromium found (apt-get install chromium)", file=sys.stderr)
    return ExitStatus.PASS


def make_report(
    run: Path, out: Path | None, formats: Sequence[str], checks: Sequence[Path]
) -> ReportPaths:
    """Write a run's report, with the sections that folders of checks bring."""
    return build_report(run, out, formats, _folders(checks))


def _bad(analysis: Analysis) -> list[Bad]:
    """The counted launches that ended badly, those on purpose left out."""
    found = []
    for launch in analysis.bad_launches:
        if launch.counted and launch.status in BAD and INVALID_ON_PURPOSE not in launch.flags:
            case = analysis.run.case(launch)
            output = (launch.artifacts or {}).get("stderr")
            found.append(Bad(launch.status, launch.reason, case.environment, case.check, output))
    return found


def _folders(checks: Sequence[Path]) -> list[Path]:
    folders = list(dict.fromkeys([*checks, *further_folders()]))
    for folder in folders:
        if not folder.is_dir():
            raise AssayError(
                f"{folder}: no such folder of checks; give one that holds NAME/report.py"
            )
    return folders


def end(status: RunStatus, code: ExitStatus, *, report: bool, as_json: bool) -> None:
    """Tell how a run ended and what it says; it stays as it is if its report cannot be written."""
    told = _report_of(status.path) if report else None
    if as_json:
        form = RunForm(status=status_form(status), report=told, exit_status=int(code))
        print(as_text(form), end="")
        return
    screen = Screen()
    if told is None:
        show_status(screen, status)
        return
    show_report(screen, told, status.reasons)


def _report_of(run: str) -> ReportForm | None:
    """All files but the PDF, which takes a browser's time: `assay report` prints it."""
    try:
        formats = [name for name in FORMATS if name != "pdf"]
        made = make_report(Path(run), None, formats, FOLDERS)
        return report_form(made.analysis, made.files)
    except AssayError as error:
        print(f"assay: no report: {error}; try again: assay report {run}", file=sys.stderr)
        return None
