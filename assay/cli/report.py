# SPDX-License-Identifier: Apache-2.0
"""`assay report`: tables, plots and verdicts of a run."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from assay.cli.options import add_run
from checks.common.sources import FURTHER_CHECKS, further_folders
from records.errors import AssayError, ExitStatus
from records.run_directory import latest_run, open_run
from reports.write.report import FORMATS, build_report, default_formats


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_run(parser, optional=True)
    parser.add_argument("--format", action="append", choices=FORMATS)
    parser.add_argument("--out", type=Path, help="folder; default: RUN/report")
    parser.add_argument(
        "--checks",
        metavar="DIR",
        action="append",
        type=Path,
        default=[],
        help="a folder of checks outside the tree, for the report.py that they bring; may be"
        f" repeated; {FURTHER_CHECKS} names more",
    )
    parser.set_defaults(run=_report)


def _report(arguments: argparse.Namespace) -> int:
    run = open_run(arguments.run_name) if arguments.run_name else latest_run()
    formats = tuple(arguments.format or default_formats())
    folders = [*arguments.checks, *further_folders()]
    for folder in folders:
        if not folder.is_dir():
            raise AssayError(
                f"{folder}: no such folder of checks; give one that holds NAME/report.py"
            )
    for path in build_report(run.path, arguments.out, formats, folders).written():
        print(path)
    if not arguments.format and "pdf" not in formats:
        print("no report.pdf: no Chromium found (apt-get install chromium)", file=sys.stderr)
    return ExitStatus.PASS
