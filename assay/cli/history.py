# SPDX-License-Identifier: Apache-2.0
"""`assay history`: a campaign's nights on disk, their verdicts, what changed, what was accepted."""

from __future__ import annotations

import argparse
import getpass
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from assay.cli.arguments import tell_pictures
from assay.nightly.judging import judge_nights, show_night
from assay.nightly.notifying import Notifier, failure_notice, notices_of
from assay.nightly.silence import Heard, duration, heard, silence_notices
from assay.terminal import say
from records.errors import AssayError, ExitStatus
from records.forms import as_text
from records.history import MOST_FINDS
from records.history.model import Acceptance
from records.history.reading import read_history
from records.history.store import Store
from records.run.run_directory import open_run
from reports.show.slides import write_pictures
from reports.verdicts.nightly.forms import (
    CampaignPart,
    ChangeAcceptedForm,
    NightAddedForm,
    SilentForm,
)
from reports.verdicts.nightly.listing import changes_text, history_form, missed_text, nights_text
from reports.verdicts.nightly.night import read_night
from reports.verdicts.nightly.result import night_result


def add_command(arguments: argparse.Namespace) -> int:
    """`assay history add`: keep a run as a night."""
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


def accept_command(arguments: argparse.Namespace) -> int:
    """`assay history accept-change`: keep who accepts changes, and why."""
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


def check_command(arguments: argparse.Namespace) -> int:
    """`assay history check`: judge the nights; gives the exit status."""
    refuse_odd_limits(arguments)
    notifier = Notifier(arguments.history) if arguments.notify else None
    with Store(arguments.history) as store:
        return judge(store, *_group(arguments, store), arguments, notifier)


def refuse_odd_limits(arguments: argparse.Namespace) -> None:
    """Raise AssayError for options of `add_judging` that no night can be judged by."""
    if not 0 < arguments.alarms_a_month <= 100:
        raise AssayError("--alarms-a-month must be above 0 and at most 100")
    if not 0 < arguments.find <= 100 * MOST_FINDS:
        raise AssayError(f"--find must be above 0 and at most {100 * MOST_FINDS:g} (per cent)")


def judge(
    store: Store,
    site: str,
    campaign: str,
    arguments: argparse.Namespace,
    notifier: Notifier | None,
) -> int:
    """Judge the nights as the options of `add_judging` say; gives the exit status.

    Notices go out before the pages are written. A re-run that failed gives its own exit status.
    """
    checked, failure = judge_nights(
        store,
        site,
        campaign,
        alarms_a_month=arguments.alarms_a_month,
        finds=arguments.find / 100,
        rerun=arguments.rerun,
        quiet=arguments.json,
    )
    if failure is not None:
        print(f"assay: not run again: {failure}", file=sys.stderr)
    if notifier is not None:
        notifier.send(notices_of(checked, failure))
    status = checked.status if failure is None else failure.status
    show_night(checked, arguments.out, status, json=arguments.json)
    if arguments.pictures is not None:
        written = write_pictures(night_result(checked).pictures(), {}, arguments.pictures)
        tell_pictures(written, as_json=arguments.json)
    return status


def silent_command(arguments: argparse.Namespace) -> int:
    """`assay history silent`: which nights did not come; FAIL where one did not."""
    after = duration(arguments.after)
    notifier = Notifier(arguments.history) if arguments.notify else None
    try:
        found = _heard(arguments, after)
    except AssayError as error:
        if notifier is not None:
            notifier.send([failure_notice("history: no night to be found", error, "")])
        raise
    if arguments.json:
        silent_for = after.total_seconds()
        parts = [CampaignPart.filled(one) for one in found]
        print(as_text(SilentForm(after_s=silent_for, campaigns=parts)), end="")
    else:
        say("\n".join(one.sentence for one in found))
    if notifier is not None:
        notifier.send(silence_notices(found))
    return ExitStatus.FAIL if any(one.silent for one in found) else ExitStatus.PASS


def _heard(arguments: argparse.Namespace, after: timedelta) -> list[Heard]:
    """The campaigns that are meant. Raises AssayError when the history tells of none."""
    with Store(arguments.history) as store:
        found = list(heard(store, arguments.site, arguments.campaign, after, datetime.now(UTC)))
    if not found:
        raise AssayError(f"{arguments.history} holds no nights of this; see: assay history show")
    return found


def show_command(arguments: argparse.Namespace) -> int:
    """`assay history show`: print nights or changes."""
    with Store(arguments.history) as store:
        groups = store.groups()
        if arguments.json:
            history = read_history(store, *_group(arguments, store)) if groups else None
            lost = store.missed(arguments.site, arguments.campaign)
            print(as_text(history_form(groups, history, lost)), end="")
            return ExitStatus.PASS
        for site, campaign, count in groups:
            say(f"{campaign} on {site}: {count} nights")
        missed = missed_text(store.missed(arguments.site, arguments.campaign))
        if missed and not arguments.changes and not groups:
            say(missed)
            return ExitStatus.PASS
        history = read_history(store, *_group(arguments, store))
    say(changes_text(history) if arguments.changes else nights_text(history))
    if missed and not arguments.changes:
        say(missed)
    return ExitStatus.PASS


def _group(arguments: argparse.Namespace, store: Store) -> tuple[str, str]:
    """Site and campaign that the arguments mean: of those that match, the one added last."""
    groups = [
        (site, campaign)
        for site, campaign, _ in store.groups()
        if arguments.site in (None, site) and arguments.campaign in (None, campaign)
    ]
    if not groups:
        raise AssayError(f"{store.path} holds no nights of this; see: assay history show")
    return groups[-1]
