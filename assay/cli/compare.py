# SPDX-License-Identifier: Apache-2.0
"""`assay compare`: two runs of one campaign side by side."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from records.errors import ExitStatus
from records.run_directory import open_run
from reports.comparison.compare import compare
from reports.comparison.page import write_page


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("run_a", metavar="RUN")
    parser.add_argument("run_b", metavar="RUN")
    parser.add_argument("--html", type=Path, metavar="FILE", help="also write it as a page")
    parser.set_defaults(run=_compare)


def _compare(arguments: argparse.Namespace) -> int:
    found = compare(open_run(arguments.run_a).path, open_run(arguments.run_b).path)
    print(found.markdown())
    if arguments.html:
        write_page(found, arguments.html)
        print(arguments.html, file=sys.stderr)
    return ExitStatus.PASS
