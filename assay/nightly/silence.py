# SPDX-License-Identifier: Apache-2.0
"""Nights that did not come: a history whose newest night is older than it may be."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from assay.nightly.notifying import Notice
from records.errors import AssayError
from records.history.model import Missed
from records.history.store import Store
from records.plain_text import one_line

_DURATION = re.compile(r"(\d{1,5})\s*(m|h|d)")
_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}


@dataclass(frozen=True, slots=True)
class Heard:
    """A campaign on a site, when its newest night began, how long ago, and whether that is too
    long; `why`: the newest night that could not run since then, and its reason."""

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
    """Each history of the file that is meant; newest nights by their start, in UTC."""
    for its_site, its_campaign, _ in store.groups():
        if site in (None, its_site) and campaign in (None, its_campaign):
            newest = store.nights(its_site, its_campaign)[-1].started_at
            age = now - datetime.fromisoformat(newest).astimezone(UTC)
            later = [one for one in store.missed(its_site, its_campaign) if one.at > newest]
            yield Heard(
                its_site,
                its_campaign,
                newest,
                age.total_seconds(),
                age > after,
                _reason(later),
            )


def _reason(missed: list[Missed]) -> str:
    if not missed:
        return ""
    return f"{missed[-1].date} UTC it could not run: {one_line(missed[-1].reason)}"


def silence_notices(found: list[Heard]) -> list[Notice]:
    """A notice for each campaign that is silent."""
    return [
        Notice("silence", f"{one.campaign} on {one.site}: no night", one.sentence)
        for one in found
        if one.silent
    ]
