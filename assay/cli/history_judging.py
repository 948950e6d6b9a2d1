# SPDX-License-Identifier: Apache-2.0
"""`assay history check`, `silent` and `show`; what judges nights is slow to load."""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime, timedelta

from assay.cli.pictures import tell_pictures
from assay.nightly.judging import judge_nights, show_night
from assay.nightly.notifying import Notifier, failure_notice, notices_of
from assay.nightly.silence import Heard, duration, heard, silence_notices
from assay.terminal import say
from records.errors import AssayError, ExitStatus
from records.forms import as_text
from records.history import MOST_FINDS
from records.history.reading import read_history
from records.history.store import Store
from reports.show.slides import write_pictures
from reports.verdicts.nightly.forms import CampaignPart, SilentForm
from reports.verdicts.nightly.listing import changes_text, history_form, missed_text, nights_text
from reports.verdicts.nightly.result import night_result


def check(arguments: argparse.Namespace) -> int:
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


def silent(arguments: argparse.Namespace) -> int:
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


def show(arguments: argparse.Namespace) -> int:
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
