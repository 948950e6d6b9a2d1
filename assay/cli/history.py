# SPDX-License-Identifier: Apache-2.0
"""`assay history`: a campaign's nights on disk, their verdicts, what changed, what was accepted."""

from __future__ import annotations

import argparse
import getpass
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from assay.cli.options import add_history, add_json, add_judging, add_run, add_site
from assay.terminal import say
from records.errors import AssayError, ExitStatus
from records.forms import as_text
from records.history.model import Acceptance
from records.history.store import Store
from records.run.run_directory import open_run
from reports.verdicts.nightly.forms import ChangeAcceptedForm, NightAddedForm
from reports.verdicts.nightly.night import read_night


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the subcommands."""
    commands = parser.add_subparsers(dest="history_command", required=True, metavar="COMMAND")
    add = _command(commands, "add", _add, "add a run to the history")
    add_run(add)
    add.add_argument("--rerun-of", metavar="RUN", help="it ran suspicious cases of this run again")
    add.add_argument("--elsewhere", action="store_true", help="and did so on other nodes")
    check = _command(
        commands, "check", "assay.cli.history_judging:check", "judge the nights not judged yet"
    )
    _add_group(check)
    add_judging(check)
    text = "tell those whom the history names (docs/monitoring.md)"
    check.add_argument("--notify", action="store_true", help=text)
    silent = _command(
        commands, "silent", "assay.cli.history_judging:silent", "whether a night did not come"
    )
    silent.add_argument(
        "--after",
        metavar="TIME",
        default="36h",
        help="silent from so long on; default: %(default)s",
    )
    silent.add_argument("--notify", action="store_true", help=text)
    silent.add_argument("--campaign", metavar="CAMPAIGN", help="default: all")
    add_site(silent, None, "default: all")
    show = _command(commands, "show", "assay.cli.history_judging:show", "what the history holds")
    _add_group(show)
    show.add_argument("--changes", action="store_true", help="the changes that were found")
    accept = _command(commands, "accept-change", _accept, "take changes as the new reference")
    accept.add_argument("changes", metavar="CHANGE", type=int, nargs="+", help="as check names it")
    accept.add_argument("--author", help="who accepts; default: the user's name")
    accept.add_argument(
        "--reason", help="why the change is accepted; prompted for on a terminal if omitted"
    )
    for command in (add, silent, show, accept):
        add_json(command)


def _command(
    commands: Any, name: str, run: Callable[[argparse.Namespace], int] | str, text: str
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text)
    add_history(parser)
    parser.set_defaults(run=run)
    return parser


def _add_group(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--campaign", metavar="CAMPAIGN", help="default: the one added last")
    add_site(parser, None, "default: the one added last")


def _add(arguments: argparse.Namespace) -> int:
    if arguments.elsewhere and not arguments.rerun_of:
        raise AssayError("--elsewhere belongs to --rerun-of RUN: elsewhere than that run")
    night, values = read_night(open_run(arguments.run_name).path)
    with Store(arguments.history, create=True) as store:
        first = store.find(Path(arguments.rerun_of).name).id if arguments.rerun_of else None
        store.add(night, values, first, elsewhere=arguments.elsewhere)
    if arguments.json:
        form = NightAddedForm.filled(night, series=len(values), launches=night.statuses)
        print(as_text(form), end="")
        return ExitStatus.PASS
    for warning in night.warnings:
        say(f"warning: {warning}")
    launches = sum(night.statuses.get(word, 0) for word in ("ok", "failed", "wrong", "lost"))
    say(
        f"added {night.run_id} of {night.campaign} on {night.site}: {len(values)} series from"
        f" {night.statuses.get('ok', 0)} ok launches of {launches}"
    )
    return ExitStatus.PASS


def _accept(arguments: argparse.Namespace) -> int:
    author = getpass.getuser() if arguments.author is None else arguments.author
    reason = arguments.reason
    if reason is None and sys.stdin.isatty():
        reason = input(f"{author} accepts, because: ")
    if not author.strip() or not (reason or "").strip():
        raise AssayError("--author and --reason must say something; they are kept")
    now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    with Store(arguments.history) as store:
        count = store.accept(arguments.changes, Acceptance(author, reason, now))
    if arguments.json:
        form = ChangeAcceptedForm(changes=arguments.changes, author=author, reason=reason or "")
        print(as_text(form), end="")
        return ExitStatus.PASS
    say(f"accepted {count} changes; their series have a new reference from that night on")
    return ExitStatus.PASS
