# SPDX-License-Identifier: Apache-2.0
"""`assay nightly`: tonight's run with its verdict, and the schedule that starts it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from assay.cli.history import add_judging, judge
from assay.cli.options import add_checks, add_site
from assay.nightly.schedule import KINDS, Schedule, parse_time
from assay.run.start import start_run
from assay.schema import load_campaign
from assay.sites.loading import add_checks_of
from records.errors import ExitStatus
from records.history.store import DEFAULT, Store
from records.run_directory import latest_run
from reports.nightly.night import read_night


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the subcommands."""
    commands = parser.add_subparsers(dest="nightly_command", required=True, metavar="COMMAND")
    run = commands.add_parser("run", help="run the campaign, add it to the history, judge it")
    _add_night(run)
    run.add_argument("--history", type=Path, default=DEFAULT, help=f"default: {DEFAULT}")
    add_judging(run)
    run.set_defaults(run=_run, rerun=True)
    install = commands.add_parser("install", help="show a schedule, and with --yes write it")
    install.add_argument("--with", dest="kind", required=True, choices=KINDS, help="what starts it")
    _add_night(install)
    install.add_argument("--at", default="02:30", help="when it starts, e.g. 02:30")
    install.add_argument("--yes", action="store_true", help="write it; without, it is only shown")
    install.add_argument("--remove", action="store_true", help="remove the schedule")
    install.set_defaults(run=_install)


def _add_night(parser: argparse.ArgumentParser) -> None:
    text = "a name in campaigns/ or a file"
    parser.add_argument("--campaign", metavar="CAMPAIGN", default="nightly", help=text)
    add_site(parser)
    add_checks(parser)


def _run(arguments: argparse.Namespace) -> int:
    start_run(arguments.campaign, arguments.site, False)
    night, values = read_night(latest_run().path)
    with Store(arguments.history, create=True) as store:
        store.add(night, values)
        return judge(store, night.site, night.campaign, arguments)


def _install(arguments: argparse.Namespace) -> int:
    add_checks_of(arguments.site)
    name = load_campaign(arguments.campaign).name
    words = ("nightly", "run", "--campaign", arguments.campaign, "--site", arguments.site)
    schedule = Schedule(
        f"assay-{name}-{arguments.site.replace(':', '-')}",
        *parse_time(arguments.at),
        command=(str(Path(sys.executable).with_name("assay")), *words),
        folder=Path.cwd(),
    )
    if arguments.remove:
        gone = schedule.remove(arguments.kind)
        print(f"{schedule.name}: {'removed' if gone else 'there was none'}")
        return ExitStatus.PASS
    for path, text in schedule.texts(arguments.kind).items():
        print(f"--- {path}\n{text}")
    agreed = arguments.yes or (
        sys.stdin.isatty() and input("write this? [y/N] ").strip().lower() in ("y", "yes")
    )
    if not agreed:
        print("nothing written; do it with --yes")
        return ExitStatus.PASS
    schedule.install(arguments.kind)
    print(f"written; remove it with: assay nightly install --with {arguments.kind} --remove")
    return ExitStatus.PASS
