# SPDX-License-Identifier: Apache-2.0
"""What a history holds: its keys for `--json`, its lines for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from records.history.model import Change, History, Missed
from records.text.plain_text import one_line
from records.text.withheld import masked
from reports.verdicts.nightly.forms import ChangePart, GroupPart, HistoryForm, MissedPart, NightPart
from reports.verdicts.nightly.wording import (
    amount,
    case_names,
    causes_of,
    point_name,
    since_text,
    state_of,
)

_MOST_NIGHTS = 30


def nights_text(history: History) -> str:
    """The last nights: date, run, launches by status, changes found."""
    lines = []
    for night in history.nights[-_MOST_NIGHTS:]:
        counts = ", ".join(f"{n} {word}" for word, n in sorted(night.statuses.items()))
        found = sum(change.found == night.id for change in history.changes)
        changed = f"; {found} changes found" if found else ""
        lines.append(f"  {night.date}  {night.run_id}  {counts or 'no launch'}{changed}")
    return "\n".join(lines)


def missed_text(missed: Sequence[Missed]) -> str:
    """The last nights that could not run, a line each; "" where there were none."""
    lines = [
        f"  {one.date}  {one.campaign} on {one.site} could not run: {one_line(masked(one.reason))}"
        for one in missed[-_MOST_NIGHTS:]
    ]
    return "\n".join(lines)


def changes_text(history: History) -> str:
    """Every change with its state and what else changed that night."""
    names = case_names(history)
    lines = []
    for change in history.changes:
        key, place = history.series[change.series], history.position(change.since)
        causes = causes_of(history, place, key.environment)
        also = f"; changed that night: {', '.join(causes)}" if causes else ""
        lines.append(
            f"  {change.id}: {change.kind} ({change.stage}) since {since_text(history, change)}:"
            f" {names[key.case_id]}: {point_name(key)} {amount(key, change.before, change.after)};"
            f" {state_of(history, change)}{also}"
        )
    return "\n".join(lines) or "  no change"


def history_form(
    groups: Sequence[tuple[str, str, int]], history: History | None, missed: Sequence[Missed]
) -> HistoryForm:
    """What a history holds: site, campaign and nights of each group, and the nights of one."""
    nights = history.nights if history else []
    found = Counter(change.found for change in history.changes) if history else Counter[int]()
    return HistoryForm(
        groups=[GroupPart(campaign, site, nights) for site, campaign, nights in groups],
        site=nights[-1].site if nights else None,
        campaign=nights[-1].campaign if nights else None,
        nights=[
            NightPart.filled(night, launches=night.statuses, changes_found=found[night.id])
            for night in nights
        ],
        missed=[MissedPart.filled(one, reason=masked(one.reason)) for one in missed],
        changes=[_change(history, change) for change in history.changes] if history else [],
    )


def _change(history: History, change: Change) -> ChangePart:
    key, accepted = history.series[change.series], change.accepted
    state = "open" if change.open else "new reference"
    return ChangePart.filled(
        key,
        **{name: getattr(change, name) for name in ("id", "kind", "stage", "before", "after")},
        since=history.nights[history.position(change.since)].started_at,
        state="accepted" if accepted else "went back" if change.closed is not None else state,
        author=accepted and accepted.author,
        reason=accepted and accepted.reason,
    )
