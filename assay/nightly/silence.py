# SPDX-License-Identifier: Apache-2.0
"""Nights that did not come: a history whose newest night is older than it may be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from assay.nightly.notifying import Notice
from records.history.store import Store
from records.text.plain_text import one_line
from reports.notation.units import time_of
from reports.verdicts.nightly.forms import CampaignPart


def campaigns_of(store: Store, site: str | None, campaign: str | None) -> list[tuple[str, str]]:
    """Site and campaign of each history of the file that is meant, the one added last at the end;
    before them those that never had a night."""
    known = [(its_site, its_campaign) for its_site, its_campaign, _ in store.groups(site, campaign)]
    tried = dict.fromkeys((one.site, one.campaign) for one in store.missed(site, campaign))
    return [*(one for one in tried if one not in known), *known]


def heard(
    store: Store, site: str | None, campaign: str | None, after: timedelta, now: datetime
) -> Iterator[CampaignPart]:
    """Each history of the file that is meant; newest nights by their start, in UTC. Where there
    never was a night the age counts from the first that could not run.

    Raises AssayError for a night without a time.
    """
    for whose in campaigns_of(store, site, campaign):
        newest = max((night.started_at for night in store.nights(*whose)), default="")
        later = [one for one in store.missed(*whose) if one.at > newest]
        begun = time_of(newest or min(one.at for one in later))
        age = max(now - begun, timedelta())  # a night may be of a clock that was set back since
        last = later[-1] if later else None
        why = f"{last.date} UTC it could not run: {one_line(last.reason)}" if last else ""
        yield CampaignPart(*whose, newest, age.total_seconds(), age > after, why)


def sentence_of(one: CampaignPart) -> str:
    """ "nightly on a-site: no night for 50 h, since 2026-11-20 02:30 UTC"."""
    name, hours = f"{one.campaign} on {one.site}", f"{one.age_s / 3600:.0f} h"
    if not one.newest:
        return f"{name}: no night yet, for {hours}; {one.why}"
    when = f"{one.newest[:16].replace('T', ' ')} UTC"
    if not one.silent:
        return f"{name}: newest night {hours} ago, {when}"
    return f"{name}: no night for {hours}, since {when}{f'; {one.why}' if one.why else ''}"


def silence_notices(found: Iterable[CampaignPart]) -> Iterator[Notice]:
    """A notice for each campaign that is silent."""
    for one in found:
        if one.silent:
            title = f"{one.campaign} on {one.site}: no night"
            yield Notice("silence", title, sentence_of(one))
