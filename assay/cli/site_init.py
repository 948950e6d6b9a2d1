# SPDX-License-Identifier: Apache-2.0
"""`assay site init`."""

from __future__ import annotations

import argparse
import json
import sys

from assay.onboarding.init import Wishes, init_site
from assay.onboarding.proof import as_data
from assay.onboarding.questions import Questions
from assay.onboarding.stopping import Stopping
from records.errors import ExitStatus


def run(arguments: argparse.Namespace) -> int:
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
        written = init_site(wishes, Questions(guess=arguments.yes), say, stopping.pause)
    if arguments.json:
        plain = {
            "schema": 1,
            "site": written.data["name"],
            "file": str(written.file),
            "description": written.data,
            "left_out": written.left_out,
            "proof": as_data(written.proof),
        }
        print(json.dumps(plain, indent=1))
    else:
        print(f"written: {written.file}")
        name, (_, *others) = written.data["name"], written.data["partitions"]
        print(f"next: assay run quick --site {name}")
        if others:
            print("on other nodes: --site", " or --site ".join(f"{name}:{one}" for one in others))
    return ExitStatus.PASS


def say(text: str) -> None:
    """Progress: not part of what a machine reads."""
    print(text, file=sys.stderr, flush=True)
