# SPDX-License-Identifier: Apache-2.0
"""`assay nightly`: a campaign's nights on disk, their verdicts, what changed, what was accepted."""

from __future__ import annotations

import argparse
import getpass
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from assay.nightly.judging import judge_nights, show_night
from assay.nightly.notifying import Notifier, failure_notice, notices_of
from assay.nightly.silence import heard, sentence_of, silence_notices
from assay.run.named_runs import run_of
from assay.screens.pages import tell_pictures
from assay.terminal import say
from records.errors import AssayError, ExitStatus
from records.forms import Form, as_text
from records.history import MOST_FINDS
from records.history.model import Acceptance
from records.history.reading import read_history
from records.history.store import Store, no_nights
from reports.notation.units import count_text
from reports.show.slides import write_pictures
from reports.verdicts.nightly.check import read_night
from reports.verdicts.nightly.forms import ChangeAcceptedForm, NightAddedForm, SilentForm
from reports.verdicts.nightly.result import night_result
from reports.verdicts.nightly.wording import changes_text, history_form, missed_text, nights_text


def now_text() -> str:
    """The time (UTC) as histories keep it."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def add_command(arguments: argparse.Namespace) -> int:
    """`assay nightly add`: keep a run as a night."""
    if arguments.elsewhere and not arguments.rerun_of:
        raise AssayError("--elsewhere belongs to --rerun-of RUN: elsewhere than that run")
    night, values = read_night(run_of(arguments.run_name).path)
    with Store(arguments.history, create=True) as store:
        first = store.find(Path(arguments.rerun_of).name).id if arguments.rerun_of else None
        store.add(night, values, first, elsewhere=arguments.elsewhere)
    launches = sum(night.statuses.get(word, 0) for word in ("ok", "failed", "wrong", "lost"))
    return end(
        arguments,
        NightAddedForm.filled(night, series=len(values), launches=night.statuses),
        *(f"warning: {warning}" for warning in night.warnings),
        f"added {night.run_id} of {night.campaign} on {night.site}:"
        f" {count_text(len(values), 'series')} from {night.statuses.get('ok', 0)} ok launches of"
        f" {launches}",
    )


def accept_command(arguments: argparse.Namespace) -> int:
    """`assay nightly accept-change`: keep who accepts changes, and why."""
    author = getpass.getuser() if arguments.author is None else arguments.author
    reason = arguments.reason
    if reason is None and sys.stdin.isatty():
        reason = input(f"{author} accepts, because: ")
    reason = reason or ""
    if not author.strip() or not reason.strip():
        raise AssayError("--author and --reason must not be empty: the history keeps both")
    with Store(arguments.history) as store:
        count = store.accept(arguments.changes, Acceptance(author, reason, now_text()))
    form = ChangeAcceptedForm(changes=arguments.changes, author=author, reason=reason)
    told = count_text(count, "change")
    text = f"accepted {told}; a new reference is learnt for their series from that night on"
    return end(arguments, form, text)


def end(arguments: argparse.Namespace, form: Form, *lines: str) -> int:
    """Print the machine form or the lines; PASS."""
    if arguments.json:
        print(as_text(form), end="")
    for line in () if arguments.json else filter(None, lines):
        say(line)
    return ExitStatus.PASS


def check_command(arguments: argparse.Namespace) -> int:
    """`assay nightly check`: judge the nights; gives the exit status."""
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
    """`assay nightly silent`: which nights did not come; FAIL where one did not."""
    after = timedelta(seconds=arguments.after)
    notifier = Notifier(arguments.history) if arguments.notify else None
    try:
        with Store(arguments.history) as store:
            whose = arguments.site, arguments.campaign
            found = list(heard(store, *whose, after, datetime.now(UTC)))
        if not found:
            raise no_nights(arguments.history)
    except AssayError as error:
        if notifier is not None:
            notifier.send([failure_notice("history: no night to be found", error, "")])
        raise
    form = SilentForm(after_s=after.total_seconds(), campaigns=found)
    end(arguments, form, "\n".join(map(sentence_of, found)))
    if notifier is not None:
        notifier.send(silence_notices(found))
    return ExitStatus.FAIL if any(one.silent for one in found) else ExitStatus.PASS


def show_command(arguments: argparse.Namespace) -> int:
    """`assay nightly show`: print nights or changes."""
    with Store(arguments.history) as store:
        groups, missed = store.groups(), store.missed(arguments.site, arguments.campaign)
        history = None
        # A history may know nothing but nights that could not run.
        if groups or not (arguments.json or (missed and not arguments.changes)):
            history = read_history(store, *_group(arguments, store))
    lines = [
        f"{campaign} on {site}: {count_text(count, 'night')}" for site, campaign, count in groups
    ]
    if history:
        lines.append(changes_text(history) if arguments.changes else nights_text(history))
    lost = "" if arguments.changes else missed_text(missed)
    return end(arguments, history_form(groups, history, missed), *lines, lost)


def _group(arguments: argparse.Namespace, store: Store) -> tuple[str, str]:
    """Site and campaign that the arguments mean: of those that match, the one added last."""
    groups = store.groups(arguments.site, arguments.campaign)
    if not groups:
        raise no_nights(store.path)
    return groups[-1][:2]
