# SPDX-License-Identifier: Apache-2.0
"""What a history holds: its keys for `--json`, its lines for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from records.history.model import Change, History, Missed
from records.text.plain_text import one_line
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


def statuses_text(statuses: Mapping[str, int]) -> str:
    """ "1 failed, 9 ok"."""
    return ", ".join(f"{n} {word}" for word, n in sorted(statuses.items()))


def nights_text(history: History) -> str:
    """The last nights: date, run, launches by status, changes found."""
    found = Counter(change.found for change in history.changes)
    return "\n".join(
        f"  {night.date}  {night.run_id}  {statuses_text(night.statuses) or 'no launch'}"
        + (f"; {found[night.id]} changes found" if found[night.id] else "")
        for night in history.nights[-_MOST_NIGHTS:]
    )


def missed_text(missed: Sequence[Missed]) -> str:
    """The last nights that could not run, a line each; "" where there were none."""
    return "\n".join(
        f"  {one.date}  {one.campaign} on {one.site} could not run: {one_line(one.reason)}"
        for one in missed[-_MOST_NIGHTS:]
    )


def change_cells(history: History, names: Mapping[str, str], change: Change) -> list[str]:
    """A change: number, since when, series, kind, from and to, what changed that night, state."""
    key = history.series[change.series]
    return [
        str(change.id),
        since_text(history, change),
        f"{names[key.case_id]}: {point_name(key)}",
        f"{change.kind} ({change.stage})",
        amount(key, change.before, change.after),
        "; ".join(causes_of(history, change)) or "nothing known",
        state_of(history, change),
    ]


def changes_text(history: History) -> str:
    """Every change with its state and what else changed that night."""
    names = case_names(history)
    lines = []
    for change in history.changes:
        number, since, series, kind, sizes, causes, state = change_cells(history, names, change)
        lines.append(
            f"  {number}: {kind} since {since}: {series} {sizes}; {state};"
            f" changed that night: {causes}"
        )
    return "\n".join(lines) or "  no change"


def history_form(
    groups: Sequence[tuple[str, str, int]], history: History | None, missed: Sequence[Missed]
) -> HistoryForm:
    """What a history holds: site, campaign and nights of each group, and the nights of one."""
    nights, changes = (history.nights, history.changes) if history else ([], [])
    found = Counter(change.found for change in changes)
    return HistoryForm(
        groups=[GroupPart(campaign, site, nights) for site, campaign, nights in groups],
        site=nights[-1].site if nights else None,
        campaign=nights[-1].campaign if nights else None,
        nights=[
            NightPart.filled(night, launches=night.statuses, changes_found=found[night.id])
            for night in nights
        ],
        missed=[MissedPart.filled(one) for one in missed],
        changes=[_change(history, change) for change in changes] if history else [],
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
