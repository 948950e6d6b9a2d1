# SPDX-License-Identifier: Apache-2.0
"""What a history holds, as plain lines."""

from __future__ import annotations

from collections.abc import Sequence

from records.history.model import Change, History, Missed
from records.plain_text import one_line
from records.withheld import masked
from reports.nightly.wording import amount, case_names, causes_of, point_name, since_text

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


def state_of(history: History, change: Change) -> str:
    """Open, gone back, accepted by whom and why, or a lasting improvement."""
    if change.accepted:
        return f"accepted by {change.accepted.author}: {change.accepted.reason}"
    if change.closed is not None:
        return f"went back on {history.nights[history.position(change.closed)].date}"
    return "open" if change.open else "new reference"
