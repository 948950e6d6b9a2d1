# SPDX-License-Identifier: Apache-2.0
"""`assay history`: a campaign's nights on disk, their verdicts, what changed, what was accepted."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from records.errors import AssayError, ExitStatus

if TYPE_CHECKING:
    from records.history.store import Store
    from reports.nightly.check import Checked


def add_parsers(subparsers: Any) -> None:
    """Add `history` with its commands."""
    parser = subparsers.add_parser("history", help="nightly series: is tonight worse, since when")
    commands = parser.add_subparsers(dest="history_command", required=True, metavar="COMMAND")
    add = _command(commands, "add", _add, "add a run to the history")
    add.add_argument("run_name", metavar="RUN", help="path or id of a run directory")
    add.add_argument("--rerun-of", metavar="RUN", help="it ran suspicious cases of this run again")
    add.add_argument("--elsewhere", action="store_true", help="and did so on other nodes")
    check = _command(commands, "check", _check, "judge the nights not judged yet")
    _campaign(check)
    add_check_options(check)
    show = _command(commands, "show", _show, "what the history holds")
    _campaign(show)
    show.add_argument("--changes", action="store_true", help="the changes that were found")
    accept = _command(commands, "accept-change", _accept, "take changes as the new reference")
    accept.add_argument("changes", metavar="CHANGE", type=int, nargs="+", help="as check names it")
    accept.add_argument("--author", required=True, help="who accepts")
    accept.add_argument("--reason", required=True, help="why it is as it should be")


def add_check_options(parser: argparse.ArgumentParser) -> None:
    """How a check judges, and where it writes."""
    parser.add_argument("--rerun", action="store_true", help="run suspicious cases again, now")
    parser.add_argument("--alarms-a-month", type=float, default=1.0, help="false ones, at most")
    parser.add_argument("--out", type=Path, help="folder for pages, JSON and JUnit XML")
    parser.add_argument("--json", action="store_true", help="for machines")


def _command(
    commands: Any, name: str, run: Callable[[argparse.Namespace], int], text: str
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text)
    parser.add_argument(
        "--history", type=Path, default=None, help="default: results/history.sqlite"
    )
    parser.set_defaults(run=run)
    return parser


def _campaign(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--campaign", help="default: the one added last")
    parser.add_argument("--site", help="default: the one added last")


def _store(arguments: argparse.Namespace, *, create: bool = False) -> Store:
    from records.history.store import DEFAULT, Store  # noqa: PLC0415

    return Store(arguments.history or DEFAULT, create=create)


def _add(arguments: argparse.Namespace) -> int:
    from records.run_directory import open_run  # noqa: PLC0415
    from reports.nightly.night import read_night  # noqa: PLC0415

    if arguments.elsewhere and not arguments.rerun_of:
        raise AssayError("--elsewhere belongs to --rerun-of RUN: elsewhere than that run")
    night, values = read_night(open_run(arguments.run_name).path)
    with _store(arguments, create=True) as store:
        first = store.find(Path(arguments.rerun_of).name).id if arguments.rerun_of else None
        store.add(night, values, first, elsewhere=arguments.elsewhere)
        launches = sum(night.statuses.get(word, 0) for word in ("ok", "failed", "wrong", "lost"))
        print(
            f"added {night.run_id} of {night.campaign} on {night.site}: {len(values)} series from"
            f" {night.statuses.get('ok', 0)} ok launches of {launches}"
        )
    return ExitStatus.PASS


def _group(arguments: argparse.Namespace, store: Store) -> tuple[str, str]:
    groups = [
        (site, campaign)
        for site, campaign, _ in store.groups()
        if arguments.site in (None, site) and arguments.campaign in (None, campaign)
    ]
    if not groups:
        raise AssayError(f"{store.path} holds no nights of this; see: assay history show")
    return groups[-1]


def _check(arguments: argparse.Namespace) -> int:
    if not 0 < arguments.alarms_a_month <= 100:
        raise AssayError("--alarms-a-month must be above 0 and at most 100")
    with _store(arguments) as store:
        site, campaign = _group(arguments, store)
        return check_night(store, site, campaign, arguments)


def check_night(store: Store, site: str, campaign: str, arguments: argparse.Namespace) -> int:
    """Judge; run suspicious cases again if asked; write and print what was found."""
    from reports.nightly.check import check_history  # noqa: PLC0415
    from reports.nightly.exports import as_json  # noqa: PLC0415
    from reports.nightly.pages import write_pages  # noqa: PLC0415
    from reports.nightly.wording import short_text  # noqa: PLC0415

    def checked_now() -> Checked:
        return check_history(store, site, campaign, arguments.alarms_a_month)

    checked = checked_now()
    if arguments.rerun:
        for elsewhere in (False, True):
            cases = _to_run_again(checked, elsewhere=elsewhere)
            if cases and _run_again(store, checked, cases, elsewhere, plain=arguments.json):
                checked = checked_now()
    elif checked.judgement.of("suspect"):
        print("run suspicious cases again with: assay history check --rerun", file=sys.stderr)
    out = arguments.out or store.path.parent / f"{campaign}-nightly-{site}"
    page = write_pages(checked, out)
    print(as_json(checked) if arguments.json else short_text(checked, f"Trends: {page}"))
    return checked.status


def _to_run_again(checked: Checked, *, elsewhere: bool) -> set[str]:
    """Cases to run again: suspects; then, on other nodes, what the re-run has just confirmed."""
    if not elsewhere:
        wanted = checked.judgement.of("suspect")
    else:
        wanted = [
            item
            for item in checked.judgement.of("regression")
            if item.rerun is not None and item.elsewhere is None
        ]
    return {checked.history.series[item.series].case_id for item in wanted}


def _run_again(
    store: Store, checked: Checked, cases: set[str], elsewhere: bool, *, plain: bool
) -> bool:
    """Run cases of the newest night again and add that; False when no other nodes are there."""
    from assay.nightly.rerun import nodes_of, rerun_campaign  # noqa: PLC0415
    from assay.run.start import start_run  # noqa: PLC0415
    from records.run_directory import open_run  # noqa: PLC0415
    from reports.nightly.night import read_night  # noqa: PLC0415

    run = open_run(checked.night.run_path)
    provenance, plan = run.provenance()["site"], run.plan()
    left_out = nodes_of(run, cases) if elsewhere else set()
    needed = {case.id: case.nodes for case in plan.cases if case.id in cases}
    others = int(provenance.get("nodes") or 0) - len(left_out)
    fitting = {case for case in cases if needed[case] <= others} if elsewhere else cases
    if not fitting:
        print(
            f"{len(cases)} cases not run on other nodes: there are {max(others, 0)} of them",
            file=sys.stderr,
        )
        return False
    file = rerun_campaign(run, fitting, plan.seed + 1 + elsewhere)
    asked_as = provenance.get("asked_as", checked.night.site)
    status = start_run(str(file), asked_as, False, provenance.get("builds"), left_out)
    night, values = read_night(open_run(status.run_id).path)
    store.add(night, values, checked.night.id, elsewhere=elsewhere)
    if not plain:
        where = f" on other nodes ({' '.join(night.nodes)})" if elsewhere else ""
        print(f"run again{where}: {len(fitting)} cases as run {night.run_id}")
    return True


def _show(arguments: argparse.Namespace) -> int:
    from records.history.reading import read_history  # noqa: PLC0415
    from reports.nightly.listing import changes_text, nights_text  # noqa: PLC0415

    with _store(arguments) as store:
        for site, campaign, count in store.groups():
            print(f"{campaign} on {site}: {count} nights")
        history = read_history(store, *_group(arguments, store))
    print(changes_text(history) if arguments.changes else nights_text(history))
    return ExitStatus.PASS


def _accept(arguments: argparse.Namespace) -> int:
    from records.history.model import Acceptance  # noqa: PLC0415

    if not arguments.author.strip() or not arguments.reason.strip():
        raise AssayError("--author and --reason must say something; they are kept")
    now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    with _store(arguments) as store:
        count = store.accept(arguments.changes, Acceptance(arguments.author, arguments.reason, now))
    print(f"accepted {count} changes; their series have a new reference from that night on")
    return ExitStatus.PASS
