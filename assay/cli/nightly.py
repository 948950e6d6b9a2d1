# SPDX-License-Identifier: Apache-2.0
"""`assay nightly`: tonight's run, its history and verdict, and the schedule that starts it.

A night that cannot run is kept in the history with its reason, unless no Slurm answers. Those whom
the history names are notified, also of a night that ran and could not be added or judged.
"""

import argparse
import getpass
import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from assay import nightly
from assay.cli.arguments import CHECK_FOLDERS, HISTORY, JSON, NEWEST, argument, flag, site, verbs
from assay.run.start import start_run
from assay.run.status import run_of
from assay.schema.loading import load_campaign
from assay.screens.pages import print_form, show_pages
from assay.sites.loading import add_checks_of
from assay.sites.site_file import chosen, read_site_file
from records.errors import AssayError, ExitStatus, UnreachableError
from records.history import MOST_FINDS, USUAL_FINDS
from records.history.model import Acceptance, Missed
from records.history.reading import read_history
from records.history.store import Store, no_nights
from records.run.run_directory import open_run
from records.text.plain_text import masked
from reports.notation.units import count_text
from reports.render.formats import junit
from reports.verdicts.nightly import forms
from reports.verdicts.nightly.evidence import read_night
from reports.verdicts.nightly.result import night_result


def now_text() -> str:
    """The time (UTC) as histories keep it."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def run_command(arguments: argparse.Namespace) -> int:
    """Run the night; gives the exit status of its judgement."""
    refuse_odd_limits(arguments)
    notifier = nightly.Notifier(arguments.history)
    try:
        status = start_run(arguments.campaign, arguments.site, False)
    except Exception as error:
        missed = Missed(*_whose(arguments), now_text(), masked(str(error) or type(error).__name__))
        if not isinstance(error, UnreachableError):  # without a cluster no night was due
            _keep(missed, arguments.history)
        name, when = f"{missed.campaign} on {missed.site}", f"{missed.date} UTC."
        notifier.send([nightly.failure_notice(f"{name}: no night", missed.reason, when)])
        raise
    try:
        night, values = read_night(open_run(status.run_id).path)
        with Store(arguments.history, create=True) as store:
            store.add(night, values)
            return _judge(store, night.site, night.campaign, arguments, notifier, rerun=True)
    except Exception as error:
        site, campaign = _whose(arguments)
        title = f"{campaign} on {site}: night not finished"
        notifier.send([nightly.failure_notice(title, error, f"Run {status.run_id}.")])
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


def schedule_command(arguments: argparse.Namespace) -> int:
    """Print the text of a schedule."""
    add_checks_of(arguments.site)
    name = load_campaign(arguments.campaign).name
    folder, _, part = arguments.site.partition(":")
    file = read_site_file(folder)
    needed = ((), "") if file.virtual_cluster else nightly.surroundings_of(chosen(file, part))
    words = ("nightly", "run", "--campaign", arguments.campaign, "--site", arguments.site)
    schedule = nightly.Schedule(
        f"assay-{name}-{arguments.site.replace(':', '-')}",
        *nightly.parse_time(arguments.at),
        command=(str(Path(sys.executable).with_name("assay")), *words),
        folder=Path.cwd(),
        job_options=needed[0],
        prologue=needed[1],
    )
    print(schedule.text(arguments.kind), end="")
    return ExitStatus.PASS


def add_command(arguments: argparse.Namespace) -> int:
    """`assay nightly add`: keep a run as a night."""
    if arguments.elsewhere and not arguments.rerun_of:
        raise AssayError("--elsewhere belongs to --rerun-of RUN: elsewhere than that run")
    night, values = read_night(run_of(arguments.run_name).path)
    with Store(arguments.history, create=True) as store:
        first = store.find(Path(arguments.rerun_of).name).id if arguments.rerun_of else None
        store.add(night, values, first, elsewhere=arguments.elsewhere)
    launches = sum(night.statuses.get(word, 0) for word in ("ok", "failed", "wrong", "lost"))
    return print_form(
        forms.NightAddedForm.filled(night, series=len(values), launches=night.statuses),
        *(f"warning: {warning}" for warning in night.warnings),
        f"added {night.run_id} of {night.campaign} on {night.site}:"
        f" {count_text(len(values), 'series')} from {night.statuses.get('ok', 0)} ok launches of"
        f" {launches}",
        as_json=arguments.json,
    )


def accept_command(arguments: argparse.Namespace) -> int:
    """`assay nightly accept-change`: keep who accepts changes, and why."""
    author = getpass.getuser() if arguments.author is None else arguments.author
    reason = arguments.reason
    if reason is None:
        reason = input(f"{author} accepts, because: ") if sys.stdin.isatty() else ""
    if not author.strip() or not reason.strip():
        raise AssayError("--author and --reason must not be empty: the history keeps both")
    with Store(arguments.history) as store:
        count = store.accept(arguments.changes, Acceptance(author, reason, now_text()))
    return print_form(
        forms.ChangeAcceptedForm(changes=arguments.changes, author=author, reason=reason),
        f"accepted {count_text(count, 'change')}; a new reference is learnt for their series from"
        " that night on",
        as_json=arguments.json,
    )


def check_command(arguments: argparse.Namespace) -> int:
    """`assay nightly check`: judge the nights; gives the exit status."""
    refuse_odd_limits(arguments)
    notifier = nightly.Notifier(arguments.history) if arguments.notify else None
    with Store(arguments.history) as store:
        return _judge(store, *_group(arguments, store), arguments, notifier, rerun=arguments.rerun)


def refuse_odd_limits(arguments: argparse.Namespace) -> None:
    """Raise AssayError for options of judging that no night can be judged by."""
    if not 0 < arguments.alarms_a_month <= 100:
        raise AssayError("--alarms-a-month must be above 0 and at most 100")
    if not 0 < arguments.find <= 100 * MOST_FINDS:
        raise AssayError(f"--find must be above 0 and at most {100 * MOST_FINDS:g} (per cent)")


def _judge(
    store: Store,
    site: str,
    campaign: str,
    arguments: argparse.Namespace,
    notifier: nightly.Notifier | None,
    *,
    rerun: bool,
) -> int:
    """Judge the nights as the options of `_JUDGING` say; gives the exit status.

    Notices go out before the pages are written. A re-run that failed gives its own exit status.
    """
    checked, failure = nightly.judge_nights(
        store,
        site,
        campaign,
        alarms_a_month=arguments.alarms_a_month,
        finds=arguments.find / 100,
        rerun=rerun,
        quiet=arguments.json,
    )
    if failure is not None:
        print(f"assay: not run again: {failure}", file=sys.stderr)
    if notifier is not None:
        notifier.send(nightly.notices_of(checked, failure))
    status = checked.status if failure is None else failure.status
    result, name = night_result(checked, status), f"{campaign}-nightly-{site}"
    folder = arguments.out or Path(checked.history_file).parent / name
    tests = junit(result.tests, f"{campaign} on {site}, {checked.night.date}")
    further = {"junit.xml": "".join(tests)}
    show_pages(result, folder, as_json=arguments.json, name="night", further=further)
    return status


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
        lines.append(
            forms.changes_text(history) if arguments.changes else forms.nights_text(history)
        )
    lost = "" if arguments.changes else forms.missed_text(missed)
    form = forms.history_form(groups, history, missed)
    return print_form(form, *lines, lost, as_json=arguments.json)


def _group(arguments: argparse.Namespace, store: Store) -> tuple[str, str]:
    """Site and campaign that the arguments mean: of those that match, the one added last."""
    groups = store.groups(arguments.site, arguments.campaign)
    if not groups:
        raise no_nights(store.path)
    return groups[-1][:2]


_NIGHT = (
    argument("--campaign CAMPAIGN", "a name in campaigns/ or a file", default="nightly"),
    site(),
    CHECK_FOLDERS,
)
_LATEST = "default: the one added last"
_WHOSE = (argument("--campaign CAMPAIGN", _LATEST), site(None, _LATEST))
#: How nights are judged, and where the findings are written.
_JUDGING = (
    argument("--alarms-a-month", "false ones, at most", type=float, default=1.0),
    argument(
        "--find",
        "the least change to be found, %%; PASS needs limits of this size; default: 10",
        type=float,
        default=100 * USUAL_FINDS,
    ),
    argument("--out", "folder for pages, JSON and JUnit XML", type=Path),
    JSON,
)


declare = verbs(
    (
        "run",
        "run the campaign, add it to the history, judge it",
        run_command,
        *(*_NIGHT, HISTORY, *_JUDGING),
    ),
    (
        "schedule",
        "print a schedule of the nightly run",
        schedule_command,
        argument("--with", "what starts it", dest="kind", required=True, choices=nightly.KINDS),
        *_NIGHT,
        argument("--at", "when it starts, e.g. 02:30", default="02:30"),
    ),
    (
        "add",
        "add a run to the history",
        add_command,
        *(HISTORY, NEWEST),
        argument("--rerun-of RUN", "it ran suspicious cases of this run again"),
        flag("--elsewhere", "and did so on other nodes"),
        JSON,
    ),
    (
        "check",
        "judge the nights not judged yet",
        check_command,
        *(HISTORY, *_WHOSE, *_JUDGING, CHECK_FOLDERS),
        flag("--rerun", "run suspicious cases again, now"),
        flag("--notify", "tell those whom the history names (docs/monitoring.md)"),
    ),
    (
        "show",
        "what the history holds",
        show_command,
        *(HISTORY, *_WHOSE, flag("--changes", "the changes that were found"), JSON),
    ),
    (
        "accept-change",
        "take changes as the new reference",
        accept_command,
        HISTORY,
        argument("changes CHANGE", "as check names it", type=int, nargs="+"),
        argument("--author", "who accepts; default: the user's name"),
        argument("--reason", "why the change is accepted; prompted for on a terminal if omitted"),
        JSON,
    ),
)
