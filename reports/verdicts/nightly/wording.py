# SPDX-License-Identifier: Apache-2.0
"""What was found, in words: names of series and changes, lines of findings; a history as lists."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from records.history.model import Change, History, Missed, Night, SeriesKey
from records.text.plain_text import one_line
from reports.load.nights import concerns
from reports.notation.labels import check_labels, point_text
from reports.notation.units import (
    count_text,
    has_speed,
    percent,
    readable_unit,
    slower_text,
)
from reports.notation.values import quantity
from reports.verdicts.nightly.context import context_changes
from reports.verdicts.nightly.findings import NightFinding
from reports.verdicts.nightly.forms import ChangePart, GroupPart, HistoryForm, MissedPart, NightPart

#: Nights that a list for people shows.
_MOST_NIGHTS = 30


def case_labels(history: History) -> dict[str, str]:
    """For each case id what tells it from the check's other cases of the history; "" if nothing."""
    labels = check_labels(history.series)
    return {key.case_id: ", ".join(labels[key.check].told(key)) for key in history.series}


def case_names(history: History) -> dict[str, str]:
    """For each case id its check, what tells it from the check's others, and the environment."""
    labels = case_labels(history)
    return {
        key.case_id: f"{key.check_title} in {key.environment}"
        + (f" ({labels[key.case_id]})" if labels[key.case_id] else "")
        for key in history.series
    }


def at_text(key: SeriesKey) -> str:
    """The point of a series: "Send/Recv, 1024 B"; empty without one."""
    return ", ".join(point_text(name, value) for name, value in sorted(key.at.items()))


def point_name(key: SeriesKey) -> str:
    """Metric and point."""
    at = at_text(key)
    return f"{key.title} at {at}" if at else key.title


def natural_order(history: History) -> list[int]:
    """All series, case by case as they came, lengths and other numbers in their natural order."""
    cases: dict[str, int] = {}
    metrics: dict[str, int] = {}

    def place(series: int) -> tuple[int, int, list[tuple[str, bool, float, str]]]:
        key = history.series[series]
        at = [
            (name, isinstance(value, str), 0.0 if isinstance(value, str) else value, str(value))
            for name, value in sorted(key.at.items())
        ]
        case = cases.setdefault(key.case_id, len(cases))
        return case, metrics.setdefault(key.metric, len(metrics)), at

    return sorted(range(len(history.series)), key=place)


def value_text(key: SeriesKey, value: float, unit_of: Sequence[float] = ()) -> str:
    """ "1.200 ms"; `unit_of`: values whose readable unit is taken."""
    return quantity(value, readable_unit(key.unit, unit_of or [value]))


def amount(key: SeriesKey, before: float, after: float) -> str:
    """ "1.200 ms → 1.350 ms (12.5 % slower)"."""
    first, second = (value_text(key, value, (before, after)) for value in (before, after))
    return f"{first} → {second} ({compared(key, before, after)})"


def compared(key: SeriesKey, before: float, after: float) -> str:
    """ "8.1 % slower", "1.83 × as slow"; "8.1 % worse" of what has no speed."""
    ratio = before / after if key.better == "lower" else after / before
    return slower_text(ratio, after / before - 1, speed=has_speed(key.unit))


def than(amount: str) -> str:
    """The word between what `compared` gives and what it is compared with."""
    return "as" if " × as " in amount else "than"


def n_text(finding: NightFinding, change: Change | None = None) -> str:
    """How many nights, or other nodes, stand behind a reference, or behind that of its change."""
    n = finding.n if change is None else change.n_before
    return count_text(n, "other node" if finding.peers else "night")


def nights_more(nights: int) -> str:
    """ "about 7 more nights are needed"."""
    return f"about {count_text(nights, 'more night is', 'more nights are')} needed"


def silent_text(key: SeriesKey, finding: NightFinding) -> str:
    """ "no value, usually 1.2 ms"."""
    tonight = "zero" if finding.value <= 0 else "no value"
    known = finding.reference > 0
    return f"{tonight}, usually {value_text(key, finding.reference)}" if known else tonight


def since_text(history: History, change: Change) -> str:
    """The date of a change's first night; of a step in the first nights that it is unknown."""
    date = history.nights[history.position(change.since)].date
    return f"unknown, at the latest {date}" if change.stage == "early" else date


def day_names(nights: Sequence[Night]) -> list[str]:
    """Month and day of each night; the hour too where two of them are of one day."""
    days = [night.date[5:10] for night in nights]
    several = len({*days}) < len(days)
    return [night.date[5:16] for night in nights] if several else days


def day_of(history: History, change: Change) -> str:
    """The date of a change's first night, the hour too where another night is of that day; of a
    step in the first nights that it was before."""
    date = history.nights[history.position(change.since)].date
    alike = sum(one.date[:10] == date[:10] for one in history.nights)
    before = "before " if change.stage == "early" else ""
    return before + (date if alike > 1 else date[:10])


def causes_of(history: History, change: Change) -> list[str]:
    """What changed in the night of a change, of what bears on its environment."""
    place = history.position(change.since)
    environment = history.series[change.series].environment
    changed = context_changes(*history.nights[place - 1 : place + 1]) if place else ()
    return [
        f"{one.name}: {one.before or 'none'} → {one.after or 'none'}"
        for one in changed
        if concerns(one.name, environment)
    ]


def state_of(history: History, change: Change) -> str:
    """Open, gone back, accepted by whom and why, or a lasting improvement."""
    if change.accepted:
        return f"accepted by {change.accepted.author}: {change.accepted.reason}"
    if change.closed is not None:
        return f"went back on {history.nights[history.position(change.closed)].date}"
    return "open" if change.open else "new reference"


def group_line(history: History, names: Mapping[str, str], findings: Sequence[NightFinding]) -> str:
    """All findings of one case in one line."""
    worst = findings[0]
    key, change = history.series[worst.series], worst.change
    many = f", {count_text(len(findings), 'point')}" if len(findings) > 1 else ""
    text = f"{names[key.case_id]}{many}: {point_name(key)} "
    if worst.verdict == "silent":
        nights = f" [n = {worst.n} nights]" if worst.reference > 0 else ""
        return text + silent_text(key, worst) + nights
    if change and (not math.isfinite(worst.value) or worst.verdict in ("improvement", "open")):
        text += amount(key, change.before, change.after)
    else:
        text += f"{amount(key, worst.reference, worst.value)}, limit {percent(worst.limit)}"
    if worst.rerun is not None:
        text += f"; run again {_against(key, worst, worst.rerun)}"
    text += _elsewhere(history, key, findings)
    if change is None:
        return f"{text} [n = {n_text(worst)}]"
    if worst.verdict == "open" and math.isfinite(worst.value):
        text += f", tonight {value_text(key, worst.value)}"
    text += f", since {since_text(history, change)} [{change.stage}, n = {n_text(worst, change)}]"
    causes = causes_of(history, change)
    text += f"; changed that night: {', '.join(causes[:3])}" if causes else ""
    return text + (f" [change {change.id}]" if change.id else "")


def _against(key: SeriesKey, finding: NightFinding, value: float) -> str:
    """A value and how it compares with the reference of a finding."""
    text = value_text(key, value, (finding.reference, value))
    return f"{text} ({compared(key, finding.reference, value)})"


def _elsewhere(history: History, key: SeriesKey, findings: Sequence[NightFinding]) -> str:
    """What other nodes gave, of the newest night: slow there too, or a matter of the night's."""
    known = [(item, item.elsewhere) for item in findings if item.elsewhere is not None]
    if not known:
        return ""
    others = " ".join(history.other_nodes.get(history.nights[-1].id, ())) or "other nodes"
    slow = {item.slow_elsewhere for item, _ in known}
    meaning = {True: ": slow there too", False: ": look at the nodes of the night"}
    text = f"; on {others} {_against(key, *known[0])}"
    return text if len(slow) > 1 else text + meaning[bool(slow.pop())]


def statuses_text(statuses: Mapping[str, int]) -> str:
    """ "1 failed, 9 ok"."""
    return ", ".join(f"{n} {word}" for word, n in sorted(statuses.items()))


def nights_text(history: History) -> str:
    """The last nights: date, run, launches by status, changes found."""
    found = Counter(change.found for change in history.changes)
    return "\n".join(
        f"  {night.date}  {night.run_id}  {statuses_text(night.statuses) or 'no launch'}"
        + (f"; {count_text(found[night.id], 'change')} found" if found[night.id] else "")
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
