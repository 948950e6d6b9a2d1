# SPDX-License-Identifier: Apache-2.0
"""What was found, in words: names of series and changes, lines of findings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from records.history.model import Change, History, SeriesKey
from reports.notation.labels import check_labels, point_text
from reports.notation.units import count_text, percent, readable_unit, three_digits
from reports.verdicts.nightly.findings import Finding
from reports.verdicts.nightly.segments import concerns, context_changes


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


def quantity(key: SeriesKey, value: float, unit_of: Sequence[float] = ()) -> str:
    """ "1.2 ms"; `unit_of`: values whose readable unit is taken."""
    unit = readable_unit(key.unit, unit_of or [value])
    return f"{value / unit.factor:.4g} {unit.label}"


def worse_text(key: SeriesKey, before: float, after: float) -> str:
    """ "12.5 % worse"."""
    worse = (after / before - 1) * (1 if key.better == "lower" else -1)
    return f"{percent(abs(worse))} {'worse' if worse > 0 else 'better'}"


def amount(key: SeriesKey, before: float, after: float) -> str:
    """ "1.20 ms → 1.35 ms (12.5 % worse)"."""
    first, second = (quantity(key, value, (before, after)) for value in (before, after))
    return f"{first} → {second} ({worse_text(key, before, after)})"


def slower_text(key: SeriesKey, before: float, after: float) -> str:
    """ "8.1 % slower", from a factor of two on "2.4 times slower"; "8.1 % worse" of what has no
    speed."""
    word = "slower" if key.unit in ("s", "bytes/s", "flop/s") else "worse"
    factor = after / before if key.better == "lower" else before / after
    if factor >= 2:
        return f"{three_digits(factor)} times {word}"
    return f"{percent(abs(after / before - 1))} {word}"


def n_text(finding: Finding, change: Change | None = None) -> str:
    """How many nights, or other nodes, stand behind a reference, or behind that of its change."""
    n = finding.n if change is None else change.n_before
    return count_text(n, "other node" if finding.peers else "night")


def nights_more(nights: int) -> str:
    """ "about 7 more nights are needed"."""
    return f"about {count_text(nights, 'more night is', 'more nights are')} needed"


def silent_text(key: SeriesKey, finding: Finding) -> str:
    """ "no value, usually 1.2 ms"."""
    tonight = "zero" if finding.value <= 0 else "no value"
    known = finding.reference > 0
    return f"{tonight}, usually {quantity(key, finding.reference)}" if known else tonight


def since_text(history: History, change: Change) -> str:
    """The date of a change's first night; of a step in the first nights that it is unknown."""
    date = history.nights[history.position(change.since)].date
    return f"unknown, at the latest {date}" if change.stage == "early" else date


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


def group_line(history: History, names: Mapping[str, str], findings: Sequence[Finding]) -> str:
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
        text += f", tonight {quantity(key, worst.value)}"
    text += f", since {since_text(history, change)} [{change.stage}, n = {n_text(worst, change)}]"
    causes = causes_of(history, change)
    text += f"; changed that night: {', '.join(causes[:3])}" if causes else ""
    return text + (f" [change {change.id}]" if change.id else "")


def _against(key: SeriesKey, finding: Finding, value: float) -> str:
    """A value and how it compares with the reference of a finding."""
    text = quantity(key, value, (finding.reference, value))
    return f"{text} ({worse_text(key, finding.reference, value)})"


def _elsewhere(history: History, key: SeriesKey, findings: Sequence[Finding]) -> str:
    """What other nodes gave, of the newest night: slow there too, or a matter of the night's."""
    known = [(item, item.elsewhere) for item in findings if item.elsewhere is not None]
    if not known:
        return ""
    others = " ".join(history.other_nodes.get(history.nights[-1].id, ())) or "other nodes"
    slow = {item.slow_elsewhere for item, _ in known}
    meaning = {True: ": slow there too", False: ": look at the nodes of the night"}
    text = f"; on {others} {_against(key, *known[0])}"
    return text if len(slow) > 1 else text + meaning[bool(slow.pop())]
