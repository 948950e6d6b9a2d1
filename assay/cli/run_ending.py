# SPDX-License-Identifier: Apache-2.0
"""The end of `assay run`: the report is written, and its answer printed."""

from __future__ import annotations

import sys
from pathlib import Path

from assay.cli.report import make_report
from assay.forms import RunForm, status_form
from assay.run.status import RunStatus
from assay.screens.answer import show_report
from assay.screens.screen import Screen
from assay.screens.status import show_status
from checks.common.registry import FOLDERS
from records.errors import AssayError, ExitStatus
from records.forms import as_text
from reports.answer.forms import ReportForm, report_form
from reports.write.report import FORMATS


def end(status: RunStatus, code: ExitStatus, *, report: bool, as_json: bool) -> None:
    """Tell how a run ended and what it says; it stays as it is if its report cannot be written."""
    told = _report(status.path) if report else None
    if as_json:
        form = RunForm(status=status_form(status), report=told, exit_status=int(code))
        print(as_text(form), end="")
        return
    screen = Screen()
    if told is None:
        show_status(screen, status)
        return
    show_report(screen, told, status.reasons)


def _report(run: str) -> ReportForm | None:
    """All files but the PDF, which takes a browser's time: `assay report` prints it."""
    try:
        formats = [name for name in FORMATS if name != "pdf"]
        made = make_report(Path(run), None, formats, FOLDERS)
        return report_form(made.analysis, made.files)
    except AssayError as error:
        print(f"assay: no report: {error}; try again: assay report {run}", file=sys.stderr)
        return None
