# SPDX-License-Identifier: Apache-2.0
"""What was found, in words: names of series and changes, lines of findings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from records.history.model import Change, History, SeriesKey
from reports.notation.labels import check_labels, point_text
from reports.notation.units import count_text, percent, readable_unit
from reports.verdicts.nightly.findings import Finding
from reports.verdicts.nightly.segments import concerns, context_changes

HEADLINES = {
    "regression": "Slower, confirmed",
    "open": "Still slower, not accepted",
    "silent": "Silent: no value tonight, or zero, where there was one every night",
    "suspect": "Slower than allowed; re-run needed",
    "dismissed": "Slower at first, as usual in the re-run",
    "recovered": "Back to its former level",
    "improvement": "Faster, and stays so (a change, no regression)",
    "better": "Better tonight",
}


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


def point_name(key: SeriesKey) -> str:
    """Metric and point."""
    at = at_text(key)
    return f"{key.title} at {at}" if at else key.title


def amount(key: SeriesKey, before: float, after: float) -> str:
    """ "1.20 ms → 1.35 ms (12.5 % worse)"."""
    unit = readable_unit(key.unit, [before, after])
    worse = (after / before - 1) * (1 if key.better == "lower" else -1)
    word = "worse" if worse > 0 else "better"
    first, second = (f"{value / unit.factor:.4g} {unit.label}" for value in (before, after))
    return f"{first} → {second} ({percent(abs(worse))} {word})"


def group_line(history: History, names: Mapping[str, str], findings: Sequence[Finding]) -> str:
    """All findings of one case in one line."""
    worst = findings[0]
    key, change = history.series[worst.series], worst.change
    many = f", {count_text(len(findings), 'point')}" if len(findings) > 1 else ""
    text = f"{names[key.case_id]}{many}: {point_name(key)} "
    if worst.verdict == "silent":
        return text + _silent(key, worst)
    if change and (not math.isfinite(worst.value) or worst.verdict in ("improvement", "open")):
        text += amount(key, change.before, change.after)
    else:
        text += f"{amount(key, worst.reference, worst.value)}, limit {percent(worst.limit)}"
    if worst.rerun is not None:
        again = amount(key, worst.reference, worst.rerun)
        text += f"; run again {again.split(' → ')[1]}"
    text += _elsewhere(history, key, findings)
    if change is None:
        return f"{text} [n = {n_text(worst)}]"
    place = history.position(change.since)
    if worst.verdict == "open" and math.isfinite(worst.value):
        unit = readable_unit(key.unit, [worst.value])
        text += f", tonight {worst.value / unit.factor:.4g} {unit.label}"
    text += f", since {since_text(history, change)} [{change.stage}, n = {n_text(worst, change)}]"
    causes = causes_of(history, place, key.environment)
    text += f"; changed that night: {', '.join(causes[:3])}" if causes else ""
    return text + (f" [change {change.id}]" if change.id else "")


def n_text(finding: Finding, change: Change | None = None) -> str:
    """How many nights, or other nodes, stand behind a reference, or behind that of its change."""
    n = finding.n if change is None else change.n_before
    return count_text(n, "other node" if finding.peers else "night")


def nights_more(nights: int) -> str:
    """ "about 7 more nights are needed"."""
    return f"about {count_text(nights, 'more night is', 'more nights are')} needed"


def _silent(key: SeriesKey, finding: Finding) -> str:
    """What was usual, and what tonight gave."""
    tonight = "zero" if finding.value <= 0 else "no value"
    if not finding.reference > 0:
        return tonight
    unit = readable_unit(key.unit, [finding.reference])
    usual = f"{finding.reference / unit.factor:.4g} {unit.label}"
    return f"{tonight}, usually {usual} [n = {finding.n} nights]"


def since_text(history: History, change: Change) -> str:
    """The date of a change's first night; of a step in the first nights that it is unknown."""
    date = history.nights[history.position(change.since)].date
    return f"unknown, at the latest {date}" if change.stage == "early" else date


def _elsewhere(history: History, key: SeriesKey, findings: Sequence[Finding]) -> str:
    """What other nodes gave, of the newest night: slow there too, or a matter of the night's."""
    known = [item for item in findings if item.elsewhere is not None]
    if not known:
        return ""
    worst, night = known[0], history.nights[-1]
    others = " ".join(history.other_nodes.get(night.id, ())) or "other nodes"
    assert worst.elsewhere is not None
    there = amount(key, worst.reference, worst.elsewhere).split(" → ")[1]
    if all(item.slow_elsewhere for item in known):
        return f"; on {others} {there}: slow there too"
    if any(item.slow_elsewhere for item in known):
        return f"; on {others} {there}"
    return f"; on {others} {there}: look at the nodes of the night"


def causes_of(history: History, place: int, environment: str) -> list[str]:
    """What changed, from the night before, of what bears on an environment."""
    if place == 0:
        return []
    changed = context_changes(history.nights[place - 1], history.nights[place])
    return [item.text for item in changed if concerns(item.name, environment)]


def state_of(history: History, change: Change) -> str:
    """Open, gone back, accepted by whom and why, or a lasting improvement."""
    if change.accepted:
        return f"accepted by {change.accepted.author}: {change.accepted.reason}"
    if change.closed is not None:
        return f"went back on {history.nights[history.position(change.closed)].date}"
    return "open" if change.open else "new reference"
