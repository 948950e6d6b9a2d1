# SPDX-License-Identifier: Apache-2.0
"""`assay site init|check`: a site's configuration, written from what is there and proven."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

import msgspec

from assay.onboarding.check import check_site
from assay.onboarding.init import Wishes, Written, init_site
from assay.onboarding.questions import Questions
from assay.onboarding.stopping import Stopping
from assay.terminal import say
from records.errors import ExitStatus

#: Where the text of a finding begins.
_HANG = len("not proven  ")


def init_command(arguments: argparse.Namespace) -> int:
    """Write the site; gives the exit status."""
    access = [
        f"--{key}={value}" for key in ("account", "qos") if (value := getattr(arguments, key))
    ]
    wishes = Wishes(
        name=arguments.name,
        access=[*access, *(arguments.access or [])],
        partitions=arguments.partition or [],
        environments=(arguments.environments or "").replace(",", " ").split(),
        work_dir=arguments.work_dir,
        overwrite=arguments.overwrite,
    )
    with Stopping() as stopping:
        written = init_site(wishes, Questions(guess=arguments.yes), progress, stopping.pause)
    if arguments.json:
        print(json.dumps(as_plain(written), indent=1))
    else:
        say(f"written: {written.file}")
        name, (_, *others) = written.data["name"], written.data["partitions"]
        say(f"next: assay run quick --site {name}")
        if others:
            sites = " or ".join(f"`--site {name}:{one}`" for one in others)
            say(f"on other nodes: {sites}")
    return ExitStatus.PASS


def as_plain(written: Written) -> dict[str, Any]:
    """What was written, for machines."""
    return {
        "schema": 1,
        "site": written.data["name"],
        "file": str(written.file),
        "description": written.data,
        "left_out": written.left_out,
        "proof": msgspec.to_builtins(written.proof),
    }


def progress(text: str) -> None:
    """Progress: not part of what a machine reads."""
    print(text, file=sys.stderr, flush=True)


def check_command(arguments: argparse.Namespace) -> int:
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
