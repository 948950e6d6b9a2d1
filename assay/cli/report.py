# SPDX-License-Identifier: Apache-2.0
"""`assay report`: tables, plots and verdicts of a run."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from assay.cli.options import add_run
from records.errors import ExitStatus
from records.run_directory import latest_run, open_run
from reports.write.report import FORMATS, build_report, default_formats


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_run(parser, optional=True)
    parser.add_argument("--format", action="append", choices=FORMATS)
    parser.add_argument("--out", type=Path, help="folder; default: RUN/report")
    parser.set_defaults(run=_report)


def _report(arguments: argparse.Namespace) -> int:
    run = open_run(arguments.run_name) if arguments.run_name else latest_run()
    formats = tuple(arguments.format or default_formats())
    for path in build_report(run.path, arguments.out, formats).written():
        print(path)
    if not arguments.format and "pdf" not in formats:
        print("no report.pdf: no Chromium found (apt-get install chromium)", file=sys.stderr)
    return ExitStatus.PASS
