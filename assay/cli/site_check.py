# SPDX-License-Identifier: Apache-2.0
"""`assay site check`."""

from __future__ import annotations

import argparse
import json

import msgspec

from assay.cli.site_init import progress
from assay.onboarding.check import check_site
from assay.onboarding.stopping import Stopping
from assay.terminal import say
from records.errors import ExitStatus

#: Where the text of a finding begins.
_HANG = len("not proven  ")


def run(arguments: argparse.Namespace) -> int:
    """Prove the site again; gives the exit status: FAIL where something changed."""
    with Stopping() as stopping:
        found = check_site(arguments.site, progress, stopping.pause, accept=arguments.accept)
    if arguments.json:
        print(json.dumps({"schema": 1, **msgspec.to_builtins(found)}, indent=1))
    else:
        for fault in found.faults:
            say(f"not proven  {fault}", hang=_HANG)
        for change in found.changes:
            say(f"changed     {change.text}", hang=_HANG)
        if not found.faults and not found.changes:
            say(f"site {found.site}: proven, nothing changed")
        elif arguments.accept and found.proof is not None:
            say(f"kept as the proof of site {found.site}")
    return ExitStatus.FAIL if found.faults or found.changes else ExitStatus.PASS
