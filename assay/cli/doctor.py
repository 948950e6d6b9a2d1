# SPDX-License-Identifier: Apache-2.0
"""`assay doctor`: what is missing, and the command that mends it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from typing import Any

from assay.cli.options import add_json
from assay.doctor import Finding, everywhere_findings, render, virtual_findings
from assay.terminal import say
from records.errors import ExitStatus

#: Where the text of a finding begins.
HANG = len("MISSING  ")


class _AtSite(argparse.Action):
    """Takes the site, and the command that also looks at it: what reads sites is slow to load."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, site: Any, *_: Any
    ) -> None:
        del parser
        namespace.site, namespace.run = site, "assay.cli.doctor_site:run"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--site", metavar="SITE", action=_AtSite, help="look at what this site needs"
    )
    add_json(parser)
    parser.set_defaults(run=_doctor)


def _doctor(arguments: argparse.Namespace) -> int:
    findings = [*everywhere_findings(), *virtual_findings(needed=False)]
    status = tell(findings, as_json=arguments.json)
    if not arguments.json and not all(finding.found for finding in findings):
        say("what is absent is for virtual clusters only; --site SITE looks at what a site needs")
    return status


def tell(findings: Iterable[Finding], *, as_json: bool = False) -> int:
    """Print the findings; gives the exit status."""
    findings = list(findings)
    if as_json:
        told = [finding.__dict__ for finding in findings]
        print(json.dumps({"schema": 1, "findings": told}, indent=1))
    else:
        say(render(findings), hang=HANG)
    missing = any(not finding.found for finding in findings if finding.needed)
    return ExitStatus.INFRASTRUCTURE if missing else ExitStatus.PASS
