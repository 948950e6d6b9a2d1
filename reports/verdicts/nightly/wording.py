# SPDX-License-Identifier: Apache-2.0
"""Names of series, changes and findings in words; a history as lists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from records.history.model import NODE_FACT, Change, History, Missed, Night, SeriesKey
from records.text.plain_text import natural, one_line
from reports.load.nights import concerns, told_by_nodes
from reports.notation import units
from reports.notation.labels import check_labels, point_text
from reports.verdicts.nightly import forms


def context_changes(before: Night, after: Night) -> list[forms.ContextPart]:
    """Software, machine and node set that changed from one night to another.

    A night that asked no nodes says nothing of what these tell, nor one that asked no library of
    its device.
    """
    known, both = before.context, before.context.keys() & after.context.keys()
    nodes_asked = all(
        any(name.startswith(NODE_FACT) for name in night.context) for night in (before, after)
    )
    return [
        forms.ContextPart(name, known.get(name), after.context.get(name))
        for name in sorted(known.keys() | after.context.keys())
        if known.get(name) != after.context.get(name)
        and (nodes_asked or not told_by_nodes(name))
        and (name in both or not name.endswith(".device"))
    ]


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


def at_text(key: SeriesKey | forms.SeriesPart) -> str:
    """The point of a series: "Send/Recv, 1024 B"; empty without one."""
    return ", ".join(point_text(name, value) for name, value in sorted(key.at.items()))


def point_name(key: SeriesKey) -> str:
    """Metric and point."""
    at = at_text(key)
    return f"{key.title} at {at}" if at else key.title


def natural_order(history: History) -> list[int]:
    """All series, case by case as they came, lengths and other numbers in their natural order."""
    cases, metrics = (
        {name: number for number, name in enumerate(dict.fromkeys(names))}
        for names in (
            [key.case_id for key in history.series],
            [key.metric for key in history.series],
        )
    )

    def position(series: int) -> tuple[int, int, list[tuple[str, list[tuple[int, str]]]]]:
        key = history.series[series]
        at = [(name, natural(str(value))) for name, value in sorted(key.at.items())]
        return cases[key.case_id], metrics[key.metric], at

    return sorted(range(len(history.series)), key=position)


def value_text(
    key: SeriesKey | forms.SeriesPart, value: float | None, unit_of: Sequence[float] = ()
) -> str:
    """ "1.200 ms"; `unit_of`: values whose readable unit is taken."""
    if value is None:
        return "no value"
    return units.quantity(value, units.readable_unit(key.unit, unit_of or [value]))


def compared(key: SeriesKey | forms.SeriesPart, before: float, after: float) -> str:
    """ "8.1 % slower", "slower by a factor of 1.83"; "8.1 % worse" of what has no speed."""
    ratio = before / after if key.better == "lower" else after / before
    return units.slower_text(ratio, after / before - 1, speed=units.has_speed(key.unit))


def amount(key: SeriesKey | forms.SeriesPart, before: float, after: float) -> str:
    """ "1.200 ms → 1.350 ms (12.5 % slower)"."""
    first, second = (value_text(key, value, (before, after)) for value in (before, after))
    return f"{first} → {second} ({compared(key, before, after)})"


def n_text(finding: forms.NightFinding) -> str:
    """Number of nights, or other nodes, behind a reference."""
    return units.count_text(finding.n, "other node" if finding.of_peers else "night")


def nights_more(nights: int) -> str:
    """ "about 7 more nights are needed"."""
    return f"about {units.count_text(nights, 'more night is', 'more nights are')} needed"


def day_of(history: History, change: Change | forms.ChangePart) -> str:
    """The date of a change's first night; of a step in the first nights that it was before."""
    since = change.since
    date = history.nights[history.position(since)].date if isinstance(since, int) else since
    return f"{'before ' if change.stage == 'early' else ''}{date[:10]}"


def state_of(history: History, change: Change) -> str:
    """Open, gone back, accepted by whom and why, or a lasting improvement."""
    if change.accepted:
        return f"accepted by {change.accepted.author}: {change.accepted.reason}"
    if change.closed is not None:
        return f"went back on {history.nights[history.position(change.closed)].date}"
    return "open" if change.open else "new reference"


def series_part(key: SeriesKey, names: Mapping[str, str]) -> dict[str, Any]:
    """The fields of `SeriesPart`."""
    told = ("case_id", "check", "environment", "metric", "unit", "better")
    own = {name: getattr(key, name) for name in told}
    return {**own, "name": names[key.case_id], "point": point_name(key), "at": dict(key.at)}


def change_part(history: History, names: Mapping[str, str], change: Change) -> forms.ChangePart:
    """A change in the form that people and programs read."""
    key, position = history.series[change.series], history.position(change.since)
    changed = context_changes(*history.nights[position - 1 : position + 1]) if position else ()
    accepted, state = change.accepted, "open" if change.open else "new reference"
    state = "went back" if change.closed is not None else state
    return forms.ChangePart.filled(
        change,
        **series_part(key, names),
        since=history.nights[position].started_at,
        size=compared(key, change.before, change.after),
        causes=[
            f"{item.name}: {item.before or 'none'} → {item.after or 'none'}"
            for item in changed
            if concerns(item.name, key.environment)
        ],
        state="accepted" if accepted else state,
        author=accepted.author if accepted else None,
        reason=accepted.reason if accepted else None,
    )


def change_parts(history: History) -> list[forms.ChangePart]:
    """All changes of a history."""
    names = case_names(history)
    return [change_part(history, names, change) for change in history.changes]


def finding_text(finding: forms.NightFinding) -> str:
    """A finding in one line: how far from what, how a re-run was, since when."""
    head, change, reference = f"{finding.name}: {finding.point}", finding.change, finding.reference
    if finding.verdict == "silent":
        tonight = "no value" if finding.value is None else "zero"
        usual = f", usually {value_text(finding, reference)}" if (reference or 0) > 0 else ""
        return f"{head} {tonight}{usual} [n = {n_text(finding)}]"
    if change and (finding.value is None or finding.verdict in ("improvement", "open")):
        text = f"{head} {amount(finding, change.before, change.after)}"
        text += f", tonight {value_text(finding, finding.value)}"
    else:
        limit = units.percent(finding.limit)
        text = f"{head} {amount(finding, reference or 0, finding.value or 0)}, limit {limit}"
    for what, value in (("run again", finding.rerun), ("on other nodes", finding.elsewhere)):
        if value is not None and reference:
            text += f"; {what} {value_text(finding, value)} ({compared(finding, reference, value)})"
    if finding.slow_elsewhere is not None:
        slow = "slow there too" if finding.slow_elsewhere else "look at the nodes of the night"
        text += f": {slow}"
    text += f" [n = {n_text(finding)}]"
    if change is None:
        return text
    early = "at the latest " if change.stage == "early" else ""
    text += f", since {early}{forms.moment(change.since)} ({change.stage})"
    text += f"; changed that night: {', '.join(change.causes[:3])}" if change.causes else ""
    return f"{text} [change {change.id}]" if change.id else text


def statuses_text(statuses: Mapping[str, int]) -> str:
    """ "1 failed, 9 ok"."""
    return ", ".join(f"{n} {word}" for word, n in sorted(statuses.items()))


def nights_text(history: History) -> str:
    """The last nights: date, run, launches by status, changes found."""
    found = Counter(change.found for change in history.changes)
    return "\n".join(
        f"  {night.date}  {night.run_id}  {statuses_text(night.statuses) or 'no launch'}"
        + (f"; {units.count_text(found[night.id], 'change')} found" if found[night.id] else "")
        for night in history.nights[-_MOST_NIGHTS:]
    )


def missed_text(missed: Sequence[Missed]) -> str:
    """The last nights that could not run, a line each; "" where there were none."""
    return "\n".join(
        f"  {one.date}  {one.campaign} on {one.site} could not run: {one_line(one.reason)}"
        for one in missed[-_MOST_NIGHTS:]
    )


def changes_text(history: History) -> str:
    """Every change with its state and what else changed that night."""
    lines = [
        f"  {part.id}: {part.kind} ({part.stage}) since {forms.moment(part.since)}: {part.name}:"
        f" {part.point} {amount(part, part.before, part.after)}; {state_of(history, change)};"
        f" changed that night: {forms.causes_text(part.causes)}"
        for part, change in zip(change_parts(history), history.changes, strict=True)
    ]
    return "\n".join(lines) or "  no change"


def history_form(
    groups: Sequence[tuple[str, str, int]], history: History | None, missed: Sequence[Missed]
) -> forms.HistoryForm:
    """Contents of a history: site, campaign and nights of each group, and the nights of one."""
    nights, changes = (history.nights, history.changes) if history else ([], [])
    found = Counter(change.found for change in changes)
    return forms.HistoryForm(
        groups=[forms.GroupPart(campaign, site, nights) for site, campaign, nights in groups],
        site=nights[-1].site if nights else None,
        campaign=nights[-1].campaign if nights else None,
        nights=[
            forms.NightPart.filled(night, launches=night.statuses, changes_found=found[night.id])
            for night in nights
        ],
        missed=[forms.MissedPart.filled(item) for item in missed],
        changes=change_parts(history) if history else [],
    )
