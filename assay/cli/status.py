# SPDX-License-Identifier: Apache-2.0
"""`assay status`: progress, failures by reason, time left of a run."""

from __future__ import annotations

import argparse

from assay.cli.options import add_json, add_run
from assay.run.status import run_status
from records.errors import ExitStatus
from records.forms import as_text
from records.run.run_directory import latest_run, open_run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_run(parser, optional=True)
    add_json(parser)
    parser.set_defaults(run=_status)


def _status(arguments: argparse.Namespace) -> int:
    run = open_run(arguments.run_name) if arguments.run_name else latest_run()
    status = run_status(run)
    if arguments.json:
        from assay.forms import status_form  # slow: the analysis of runs

        print(as_text(status_form(status)), end="")
    else:
        from assay.screens.screen import Screen  # slow: rich
        from assay.screens.status import show_status

        show_status(Screen(), status)
    return ExitStatus.FAIL if status.failed else ExitStatus.PASS
