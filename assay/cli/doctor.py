# SPDX-License-Identifier: Apache-2.0
"""`assay doctor`: what is missing, and the command that mends it."""

from __future__ import annotations

import argparse
import json

from assay.cli.options import add_json, add_site
from assay.doctor import Finding, examine, render
from records.errors import ExitStatus


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_site(parser, None, "also look at this site")
    add_json(parser)
    parser.set_defaults(run=_doctor)


def _doctor(arguments: argparse.Namespace) -> int:
    return tell(examine(arguments.site), as_json=arguments.json)


def tell(findings: list[Finding], *, as_json: bool = False) -> int:
    """Print the findings; gives the exit status."""
    if as_json:
        print(json.dumps([finding.__dict__ for finding in findings], indent=1))
    else:
        print(render(findings))
    missing = any(not finding.found for finding in findings)
    return ExitStatus.INFRASTRUCTURE if missing else ExitStatus.PASS
