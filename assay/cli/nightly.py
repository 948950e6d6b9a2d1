# SPDX-License-Identifier: Apache-2.0
"""`assay nightly`: tonight's run with its verdict, and the schedule that starts it."""

from __future__ import annotations

import argparse

from assay.cli.options import add_checks, add_history, add_judging, add_site
from assay.nightly.schedule import KINDS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the subcommands."""
    commands = parser.add_subparsers(dest="nightly_command", required=True, metavar="COMMAND")
    run = commands.add_parser("run", help="run the campaign, add it to the history, judge it")
    _add_night(run)
    add_history(run)
    add_judging(run)
    run.set_defaults(run="assay.cli.nightly_run:run", rerun=True)
    install = commands.add_parser("install", help="show a schedule, and with --yes write it")
    install.add_argument("--with", dest="kind", required=True, choices=KINDS, help="what starts it")
    _add_night(install)
    install.add_argument("--at", default="02:30", help="when it starts, e.g. 02:30")
    install.add_argument("--yes", action="store_true", help="write it; without, it is only shown")
    install.add_argument("--remove", action="store_true", help="remove the schedule")
    install.set_defaults(run="assay.cli.nightly_install:run")


def _add_night(parser: argparse.ArgumentParser) -> None:
    text = "a name in campaigns/ or a file"
    parser.add_argument("--campaign", metavar="CAMPAIGN", default="nightly", help=text)
    add_site(parser)
    add_checks(parser)
