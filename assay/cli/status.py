# SPDX-License-Identifier: Apache-2.0
"""`assay status`: how far a run is."""

import argparse

from assay.cli.arguments import JSON, NEWEST, declared
from assay.run.status import run_of, run_status
from records.errors import ExitStatus
from records.forms import as_text


def status_command(arguments: argparse.Namespace) -> int:
    """`assay status`; FAIL where launches failed."""
    status = run_status(run_of(arguments.run_name))
    if arguments.json:
        print(as_text(status), end="")
    else:
        from assay.screens.screen import Screen  # slow: rich, SciPy
        from assay.screens.status import show_status

        show_status(Screen(), status)
    return ExitStatus.FAIL if status.failed else ExitStatus.PASS


declare = declared(status_command, NEWEST, JSON)
