# SPDX-License-Identifier: Apache-2.0
"""`assay nightly`: tonight's run with its verdict, and the schedule that starts it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from assay.cli.history import add_check_options, check_night
from records.errors import ExitStatus


def add_parsers(subparsers: Any) -> None:
    """Add `nightly` with its commands."""
    parser = subparsers.add_parser("nightly", help="the nightly run and its schedule")
    commands = parser.add_subparsers(dest="nightly_command", required=True, metavar="COMMAND")
    run = commands.add_parser("run", help="run the campaign, add it to the history, judge it")
    run.add_argument("--campaign", default="nightly", help="a name in campaigns/ or a file")
    run.add_argument("--site", default="virtual", help="a folder of site-config/")
    run.add_argument("--history", type=Path, default=None, help="default: results/history.sqlite")
    add_check_options(run)
    run.set_defaults(run=_run, rerun=True)
    install = commands.add_parser("install", help="show a schedule, and with --yes write it")
    install.add_argument(
        "--with", dest="kind", required=True, choices=_KINDS, help="what starts it"
    )
    install.add_argument("--site", default="virtual", help="a folder of site-config/")
    install.add_argument("--campaign", default="nightly", help="a name in campaigns/ or a file")
    install.add_argument("--at", default="02:30", help="when it starts, e.g. 02:30")
    install.add_argument("--yes", action="store_true", help="write it; without, it is only shown")
    install.add_argument("--remove", action="store_true", help="take the schedule away again")
    install.set_defaults(run=_install)


_KINDS = ("systemd", "scrontab", "cron")


def _run(arguments: argparse.Namespace) -> int:
    from assay.run.start import start_run  # noqa: PLC0415
    from records.history.store import DEFAULT, Store  # noqa: PLC0415
    from records.run_directory import latest_run  # noqa: PLC0415
    from reports.nightly.night import read_night  # noqa: PLC0415

    start_run(arguments.campaign, arguments.site, False)
    night, values = read_night(latest_run().path)
    with Store(arguments.history or DEFAULT, create=True) as store:
        store.add(night, values)
        return check_night(store, night.site, night.campaign, arguments)


def _install(arguments: argparse.Namespace) -> int:
    from assay.nightly.schedule import Schedule, parse_time  # noqa: PLC0415
    from assay.schema import load_campaign  # noqa: PLC0415

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
        print(f"{schedule.name}: {'taken away' if gone else 'there was none'}")
        return ExitStatus.PASS
    for path, text in schedule.texts(arguments.kind).items():
        print(f"--- {path}\n{text}")
    if not arguments.yes and not _agreed():
        print("nothing written; do it with --yes")
        return ExitStatus.PASS
    schedule.install(arguments.kind)
    print(f"written; take it away with: assay nightly install --with {arguments.kind} --remove")
    return ExitStatus.PASS


def _agreed() -> bool:
    return sys.stdin.isatty() and input("write this? [y/N] ").strip().lower() in ("y", "yes")
