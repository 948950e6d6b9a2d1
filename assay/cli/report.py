# SPDX-License-Identifier: Apache-2.0
"""`assay report`: the answer of a run, with tables, plots and verdicts in files."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from assay.cli.options import add_json, add_run
from assay.cli.pictures import add_pictures, tell_pictures
from assay.run.status import BAD, Bad, failed_for
from assay.screens.answer import show_report
from assay.screens.screen import Screen
from checks.common.sources import FURTHER_CHECKS, further_folders
from records.errors import AssayError, ExitStatus
from records.flags import INVALID_ON_PURPOSE
from records.forms import as_text
from records.run.run_directory import latest_run, open_run
from reports.analysis import Analysis
from reports.answer.forms import report_form
from reports.write.pictures import take_out
from reports.write.report import FORMATS, ReportPaths, build_report, default_formats


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_run(parser, optional=True)
    parser.add_argument("--format", action="append", choices=FORMATS)
    parser.add_argument("--out", type=Path, help="folder; default: RUN/report")
    add_pictures(parser, "of the page", only=True)
    parser.add_argument(
        "--checks",
        metavar="DIR",
        action="append",
        type=Path,
        default=[],
        help="a folder of checks outside the tree, for the report.py that they bring; may be"
        f" repeated; {FURTHER_CHECKS} names more",
    )
    add_json(parser)
    parser.set_defaults(run=_report)


def _report(arguments: argparse.Namespace) -> int:
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
