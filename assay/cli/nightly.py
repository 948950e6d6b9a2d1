# SPDX-License-Identifier: Apache-2.0
"""`assay nightly`: tonight's run with its verdict, and the schedule that starts it.

A night that cannot run is kept in the history with its reason, unless no Slurm answers. Those whom
the history names are notified, also of a night that ran and could not be added or judged.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress
from pathlib import Path

from assay.cli.arguments import (
    CHECK_FOLDERS,
    HISTORY,
    JSON,
    JUDGING,
    NEWEST,
    Verbs,
    argument,
    flag,
    site,
    span_s,
)
from assay.cli.history import (
    accept_command,
    add_command,
    check_command,
    judge,
    now_text,
    refuse_odd_limits,
    show_command,
    silent_command,
)
from assay.nightly.notifying import Notifier, failure_notice
from assay.nightly.schedule import KINDS, Schedule, parse_time, surroundings_of
from assay.run.start import start_run
from assay.schema import load_campaign
from assay.sites.loading import add_checks_of
from assay.sites.site_file import chosen, read_site_file
from assay.terminal import say
from records.errors import AssayError, ExitStatus, UnreachableError
from records.history.model import Missed
from records.history.store import Store
from records.run.run_directory import open_run
from records.text.plain_text import masked
from reports.verdicts.nightly.night import read_night


def run_command(arguments: argparse.Namespace) -> int:
    """Run the night; gives the exit status of its judgement."""
    refuse_odd_limits(arguments)
    notifier = Notifier(arguments.history)
    try:
        status = start_run(arguments.campaign, arguments.site, False)
    except Exception as error:
        missed = Missed(*_whose(arguments), now_text(), masked(str(error) or type(error).__name__))
        if not isinstance(error, UnreachableError):  # without a cluster no night was due
            _keep(missed, arguments.history)
        name, when = f"{missed.campaign} on {missed.site}", f"{missed.date} UTC."
        notifier.send([failure_notice(f"{name}: no night", missed.reason, when)])
        raise
    try:
        night, values = read_night(open_run(status.run_id).path)
        with Store(arguments.history, create=True) as store:
            store.add(night, values)
            return judge(store, night.site, night.campaign, arguments, notifier)
    except Exception as error:
        site, campaign = _whose(arguments)
        title = f"{campaign} on {site}: night not finished"
        notifier.send([failure_notice(title, error, f"Run {status.run_id}.")])
        raise


def _whose(arguments: argparse.Namespace) -> tuple[str, str]:
    """Site and campaign of the night; where the campaign cannot be read its file's name."""
    site, campaign = arguments.site.partition(":")[0], Path(arguments.campaign).stem
    with suppress(AssayError):
        campaign = load_campaign(arguments.campaign).name
    return site, campaign


def _keep(missed: Missed, history: Path) -> None:
    """Keep in the history that the night could not run; what ended it is what is reported."""
    try:
        with Store(history, create=True) as store:
            store.add_missed(missed)
    except AssayError as error:
        print(f"assay: the night's failure is not in the history: {error}", file=sys.stderr)


def install_command(arguments: argparse.Namespace) -> int:
    """Show the schedule, then write or remove it as asked; gives the exit status."""
    add_checks_of(arguments.site)
    name = load_campaign(arguments.campaign).name
    folder, _, part = arguments.site.partition(":")
    file = read_site_file(folder)
    needed = ((), "") if file.virtual_cluster else surroundings_of(chosen(file, part))
    words = ("nightly", "run", "--campaign", arguments.campaign, "--site", arguments.site)
    schedule = Schedule(
        f"assay-{name}-{arguments.site.replace(':', '-')}",
        *parse_time(arguments.at),
        command=(str(Path(sys.executable).with_name("assay")), *words),
        folder=Path.cwd(),
        job_options=needed[0],
        prologue=needed[1],
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


_NIGHT = (
    argument("--campaign CAMPAIGN", "a name in campaigns/ or a file", default="nightly"),
    site(),
    CHECK_FOLDERS,
)
_LATEST = "default: the one added last"
_NOTIFY = flag("--notify", "tell those whom the history names (docs/monitoring.md)")
_WHOSE = (argument("--campaign CAMPAIGN", _LATEST), site(None, _LATEST))


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the commands below `assay nightly`."""
    verbs = Verbs(parser)
    verbs.add(
        "run",
        "run the campaign, add it to the history, judge it",
        run_command,
        *_NIGHT,
        HISTORY,
        *JUDGING,
        rerun=True,
    )
    verbs.add(
        "install",
        "show a schedule, and with --yes write it",
        install_command,
        argument("--with", "what starts it", dest="kind", required=True, choices=KINDS),
        *_NIGHT,
        argument("--at", "when it starts, e.g. 02:30", default="02:30"),
        flag("--yes", "write it; without, it is only shown"),
        flag("--remove", "remove the schedule"),
    )
    verbs.add(
        "add",
        "add a run to the history",
        add_command,
        *(HISTORY, NEWEST),
        argument("--rerun-of RUN", "it ran suspicious cases of this run again"),
        flag("--elsewhere", "and did so on other nodes"),
        JSON,
    )
    verbs.add(
        "check",
        "judge the nights not judged yet",
        check_command,
        HISTORY,
        *_WHOSE,
        *JUDGING,
        *(CHECK_FOLDERS, _NOTIFY),
    )
    verbs.add(
        "silent",
        "whether a night did not come",
        silent_command,
        HISTORY,
        argument(
            "--after TIME",
            "silent from so long on; default: %(default)s",
            default="36h",
            type=span_s,
        ),
        _NOTIFY,
        argument("--campaign CAMPAIGN", "default: all"),
        site(None, "default: all"),
        JSON,
    )
    verbs.add(
        "show",
        "what the history holds",
        show_command,
        HISTORY,
        *_WHOSE,
        flag("--changes", "the changes that were found"),
        JSON,
    )
    verbs.add(
        "accept-change",
        "take changes as the new reference",
        accept_command,
        HISTORY,
        argument("changes CHANGE", "as check names it", type=int, nargs="+"),
        argument("--author", "who accepts; default: the user's name"),
        argument("--reason", "why the change is accepted; prompted for on a terminal if omitted"),
        JSON,
    )
