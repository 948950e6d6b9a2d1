# SPDX-License-Identifier: Apache-2.0
"""Nights that did not come: a history whose newest night is older than it may be."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from assay.nightly.notifying import Notice
from records.errors import AssayError
from records.history.model import Missed
from records.history.store import Store
from records.text.plain_text import one_line
from records.text.withheld import masked
from reports.notation.units import time_of

_DURATION = re.compile(r"(\d{1,5})\s*(m|h|d)")
_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}


@dataclass(frozen=True, slots=True)
class Heard:
    """A campaign on a site, when its newest night began, how long ago, and whether that is too
    long; `why`: the newest night that could not run since then, and its reason.

    Where it never had a night `newest` is empty and the age counts from the first that could not
    run.
    """

    site: str
    campaign: str
    newest: str
    age_s: float
    silent: bool
    why: str = ""

    @property
    def sentence(self) -> str:
        """ "nightly on a-site: no night for 50 h, since 2026-11-20 02:30 UTC"."""
        name = f"{self.campaign} on {self.site}"
        if not self.newest:
            return f"{name}: no night yet, for {self.age_s / 3600:.0f} h; {self.why}"
        when = f"{self.newest[:16].replace('T', ' ')} UTC"
        hours = f"{self.age_s / 3600:.0f} h"
        if not self.silent:
            return f"{name}: newest night {hours} ago, {when}"
        return f"{name}: no night for {hours}, since {when}{f'; {self.why}' if self.why else ''}"


def duration(text: str) -> timedelta:
    """ "36h" -> 36 hours. Raises AssayError for anything else."""
    match = _DURATION.fullmatch(text.strip())
    if not match or not int(match[1]):
        raise AssayError(f"--after {text!r}: write a number and m, h or d, e.g. 36h")
    return int(match[1]) * _UNITS[match[2]]


def heard(
    store: Store, site: str | None, campaign: str | None, after: timedelta, now: datetime
) -> Iterator[Heard]:
    """Each history of the file that is meant; newest nights by their start, in UTC.

    Raises AssayError for a night without a time.
    """
    for whose in campaigns_of(store, site, campaign):
        newest = max((night.started_at for night in store.nights(*whose)), default="")
        later = [one for one in store.missed(*whose) if one.at > newest]
        begun = time_of(newest or min(one.at for one in later))
        age = max(now - begun, timedelta())  # a night may be of a clock that was set back since
        yield Heard(*whose, newest, age.total_seconds(), age > after, _reason(later))


def campaigns_of(store: Store, site: str | None, campaign: str | None) -> list[tuple[str, str]]:
    """Site and campaign of each history of the file that is meant, the one added last at the end;
    before them those that never had a night."""
    known = [(its_site, its_campaign) for its_site, its_campaign, _ in store.groups()]
    tried = dict.fromkeys((one.site, one.campaign) for one in store.missed(None, None))
    return [
        whose
        for whose in [*(one for one in tried if one not in known), *known]
        if site in (None, whose[0]) and campaign in (None, whose[1])
    ]


def _reason(missed: list[Missed]) -> str:
    if not missed:
        return ""
    return f"{missed[-1].date} UTC it could not run: {one_line(masked(missed[-1].reason))}"


def silence_notices(found: list[Heard]) -> list[Notice]:
    """A notice for each campaign that is silent."""
    return [
        Notice("silence", f"{one.campaign} on {one.site}: no night", one.sentence)
        for one in found
        if one.silent
    ]
