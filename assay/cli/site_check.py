# SPDX-License-Identifier: Apache-2.0
"""`assay site check`."""

from __future__ import annotations

import argparse
import json

import msgspec

from assay.cli.site_init import say
from assay.onboarding.check import check_site
from assay.onboarding.stopping import Stopping
from records.errors import ExitStatus


def run(arguments: argparse.Namespace) -> int:
    """Prove the site again; gives the exit status: FAIL where something changed."""
    with Stopping() as stopping:
        found = check_site(arguments.site, say, stopping.pause, accept=arguments.accept)
    if arguments.json:
        print(json.dumps({"schema": 1, **msgspec.to_builtins(found)}, indent=1))
    else:
        for fault in found.faults:
            print(f"not proven  {fault}")
        for change in found.changes:
            print(f"changed     {change.text}")
        if not found.faults and not found.changes:
            print(f"site {found.site}: proven, nothing changed")
        elif arguments.accept and found.proof is not None:
            print(f"kept as the proof of site {found.site}")
    return ExitStatus.FAIL if found.faults or found.changes else ExitStatus.PASS
