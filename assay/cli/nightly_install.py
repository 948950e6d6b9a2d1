# SPDX-License-Identifier: Apache-2.0
"""`assay nightly install`: the schedule that starts the nightly run."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from assay.nightly.schedule import Schedule, parse_time
from assay.nightly.surroundings import Surroundings, surroundings_of
from assay.schema import load_campaign
from assay.sites.loading import add_checks_of
from assay.sites.site_file import chosen, read_site_file
from assay.terminal import say
from records.errors import ExitStatus


def run(arguments: argparse.Namespace) -> int:
    """Show the schedule, then write or remove it as asked; gives the exit status."""
    add_checks_of(arguments.site)
    name = load_campaign(arguments.campaign).name
    folder, _, part = arguments.site.partition(":")
    file = read_site_file(folder)
    needed = Surroundings() if file.virtual_cluster else surroundings_of(chosen(file, part))
    words = ("nightly", "run", "--campaign", arguments.campaign, "--site", arguments.site)
    schedule = Schedule(
        f"assay-{name}-{arguments.site.replace(':', '-')}",
        *parse_time(arguments.at),
        command=(str(Path(sys.executable).with_name("assay")), *words),
        folder=Path.cwd(),
        job_options=needed.job_options,
        prologue=needed.prologue,
    )
    if arguments.remove:
        gone = schedule.remove(arguments.kind)
        say(f"{schedule.name}: {'removed' if gone else 'there was none'}")
        return ExitStatus.PASS
    for path, text in schedule.texts(arguments.kind).items():
        print(f"--- {path}\n{text}")
    agreed = arguments.yes or (
        sys.stdin.isatty() and input("write this? [y/N] ").strip().lower() in ("y", "yes")
    )
    if not agreed:
        say("nothing written; do it with --yes")
        return ExitStatus.PASS
    schedule.install(arguments.kind)
    say(f"written; remove it with: assay nightly install --with {arguments.kind} --remove")
    return ExitStatus.PASS
