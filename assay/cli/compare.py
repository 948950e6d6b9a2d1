# SPDX-License-Identifier: Apache-2.0
"""`assay compare`: two runs of one campaign side by side."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from assay.cli.options import add_history, add_json
from assay.cli.pictures import add_pictures, tell_pictures
from assay.screens.screen import Screen
from records.errors import ExitStatus
from records.forms import as_text
from records.run.run_directory import open_run
from reports.render import html, markdown
from reports.render.files import write_file
from reports.render.terminal import show
from reports.show.slides import write_pictures
from reports.verdicts.comparison.compare import compare
from reports.verdicts.comparison.result import comparison_result


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
    result = comparison_result(found, every=arguments.all)
    if arguments.json:
        print(as_text(result.data), end="")
    else:
        show(result, Screen())
    for path, render in ((arguments.html, html.page), (arguments.markdown, markdown.text)):
        if path:
            write_file(render(result), path)
            print(path, file=sys.stderr)
    if arguments.pictures:
        written = write_pictures(result.pictures(), {}, arguments.pictures)
        tell_pictures(written, as_json=arguments.json)
    return ExitStatus.PASS
