# SPDX-License-Identifier: Apache-2.0
"""`assay compare`: two runs of one campaign side by side."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from assay.cli.options import add_history, add_json
from assay.cli.pictures import add_pictures, tell_pictures
from assay.machine.comparing import compared_told
from assay.screens.compare import show_comparison
from assay.screens.screen import Screen
from records.errors import ExitStatus
from records.run_directory import open_run
from reports.comparison.compare import compare
from reports.comparison.page import write_file, write_page
from reports.comparison.picture import changes_picture
from reports.show.slides import write_pictures


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("run_a", metavar="RUN")
    parser.add_argument("run_b", metavar="RUN")
    parser.add_argument("--all", action="store_true", help="every value, what is not resolved too")
    parser.add_argument("--html", type=Path, metavar="FILE", help="also write it as a page")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="also write it as Markdown")
    add_pictures(parser, "of the page")
    add_history(parser)
    add_json(parser)
    parser.set_defaults(run=_compare)


def _compare(arguments: argparse.Namespace) -> int:
    first, second = (open_run(name).path for name in (arguments.run_a, arguments.run_b))
    found = compare(first, second, arguments.history)
    told = compared_told(found)
    if arguments.json:
        print(told.text())
    else:
        show_comparison(Screen(), told, every=arguments.all)
    if arguments.html:
        write_page(found, arguments.html)
        print(arguments.html, file=sys.stderr)
    if arguments.markdown:
        write_file(found.markdown(), arguments.markdown)
        print(arguments.markdown, file=sys.stderr)
    if arguments.pictures:
        picture = changes_picture(found)
        written = write_pictures([picture] if picture else [], {}, arguments.pictures)
        tell_pictures(written, as_json=arguments.json)
    return ExitStatus.PASS
