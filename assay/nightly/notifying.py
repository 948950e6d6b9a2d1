# SPDX-License-Identifier: Apache-2.0
"""Notifications of a history: regression, recovery, silence, to mail, webhooks, Slack or Teams.

Where they go are addresses of `apprise` (https://github.com/caronc/apprise), an optional extra. An
address may hold a password or a token: none is printed, kept, or seen by a job. A notification that
fails is said and changes nothing else.
"""

from __future__ import annotations

import logging
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from assay.sites.slurm import ADDRESSES
from records.errors import AssayError
from records.text.plain_text import masked, one_line
from records.waiting import NOTIFY_S
from reports.notation.units import count_text
from reports.verdicts.nightly.answer import answer_of_night
from reports.verdicts.nightly.check import Checked

Event = Literal["regression", "recovery", "silence"]
EVENTS: tuple[Event, ...] = get_args(Event)
#: Ends the name of the file beside a history that holds addresses, one a line.
SUFFIX = ".notify"
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*(?=:)")
_HOW_TO_INSTALL = "apprise is not installed; .venv/bin/pip install 'assay[notify]' brings it"


@dataclass(frozen=True, slots=True)
class Target:
    """An address and its subjects; its text names the kind of the address alone."""

    address: str = field(repr=False)
    events: frozenset[Event] = frozenset(EVENTS)

    def __str__(self) -> str:
        scheme = _SCHEME.match(self.address)
        return f"{scheme[0]}://…" if scheme else "an address without a kind"


@dataclass(frozen=True, slots=True)
class Notice:
    """Something to tell."""

    event: Event
    title: str
    body: str


def targets_of(history: Path) -> list[Target]:
    """Where a history's notices go: the variable ASSAY_NOTIFY and the file HISTORY.notify.

    The variable is taken out of the environment. A line of the file is
    `[EVENT,…] ADDRESS`. Raises AssayError for a file that others may read, or a line that is none.
    """
    found = [Target(word) for word in os.environ.pop(ADDRESSES, "").split()]
    file = history.parent / f"{history.stem}{SUFFIX}"
    try:
        status = file.stat()
        if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO) or status.st_uid != os.geteuid():
            raise AssayError(
                f"{file}: others may read it or it is another user's, and addresses hold"
                f" passwords; do: chmod 600 {file}"
            )
        lines = file.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return found
    except (OSError, UnicodeDecodeError) as error:
        raise AssayError(f"{file}: cannot be read ({type(error).__name__})") from error
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        *before, address = line.split()
        events = [word for part in before for word in part.split(",") if word]
        if odd := [word for word in events if word not in EVENTS]:
            shown = odd[0] if odd[0].isalpha() else "a word that is no event"
            raise AssayError(
                f"{file}:{number}: {shown}; a line is `[EVENT,…] ADDRESS`, events are"
                f" {', '.join(EVENTS)}"
            )
        if not _SCHEME.match(address):
            raise AssayError(
                f"{file}:{number}: the address begins with no kind, as in mailto://… or slack://…"
            )
        found.append(Target(address, frozenset(one for one in EVENTS if one in (events or EVENTS))))
    return found


def failure_notice(title: str, error: Exception | str, where: str) -> Notice:
    """That a night, or a part of it, did not come; secrets in the error are withheld."""
    text = masked(str(error) or type(error).__name__)
    return Notice("silence", title, f"{text}\n{where}".strip())


def notices_of(checked: Checked, failure: AssayError | None = None) -> Iterator[Notice]:
    """Notices of a judged night: regressions found that night, recoveries, silent series.

    `failure`: why suspicious cases could not be run again.
    """
    night, found = checked.night, checked.judgement.of
    name = f"{night.campaign} on {night.site}"
    where = f"Night of {night.date} UTC, run {night.run_id}."
    if found("regression"):
        sentence = answer_of_night(checked).sentence
        yield Notice("regression", f"{name}: regression", f"{sentence}\n{where}")
    if recovered := found("recovered"):
        text = f"{count_text(len(recovered), 'series')} went back to their former level."
        yield Notice("recovery", f"{name}: recovered", f"{text}\n{where}")
    if silent := found("silent"):
        text = f"{len(silent)} series have no value tonight."
        yield Notice("silence", f"{name}: silent series", f"{text}\n{where}")
    if failure is not None:
        yield failure_notice(f"{name}: not run again", failure, where)


class Notifier:
    """Sends a history's notices. What goes wrong is said on standard error and raises nothing."""

    def __init__(self, history: Path) -> None:
        self._targets: list[Target] = []
        try:
            self._targets = targets_of(history)
        except AssayError as error:
            _say(f"{error}; no notification will be sent")

    def send(self, notices: Iterable[Notice]) -> int:
        """Send each notice to those who want its event; gives how many were sent."""
        chosen = [(one, to) for one in notices for to in self._targets if one.event in to.events]
        try:
            return sum(_sent(notice, target) for notice, target in chosen)
        except AssayError as error:
            _say(f"no notification was sent: {error}")
            return 0


def _say(text: str) -> None:
    print(f"assay: {text}", file=sys.stderr)


def _sent(notice: Notice, target: Target) -> bool:
    try:
        import apprise  # type: ignore[import-not-found,unused-ignore] # optional: extra `notify`
    except ImportError:
        raise AssayError(_HOW_TO_INSTALL) from None
    # Its own log names addresses.
    logging.getLogger("apprise").addHandler(logging.NullHandler())
    logging.getLogger("apprise").propagate = False
    sender = apprise.Apprise()
    kinds = {"regression": "failure", "recovery": "success", "silence": "warning"}
    try:
        added = sender.add(target.address)
        for service in sender:  # it gives services 4 s
            service.socket_read_timeout = max(service.socket_read_timeout, NOTIFY_S)
        done = added and sender.notify(
            title=one_line(notice.title), body=notice.body, notify_type=kinds[notice.event]
        )
    except Exception as error:  # whatever a service's plugin raises
        _say(f"{target}: not notified ({type(error).__name__})")
        return False
    if not done:
        why = "it did not take the message" if added else "apprise knows no such address"
        _say(f"{target}: not notified: {why}")
    return bool(done)
