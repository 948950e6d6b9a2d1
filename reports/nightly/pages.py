# SPDX-License-Identifier: Apache-2.0
"""The night's page with its trends, and the files for machines, each written whole."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from records.errors import InfrastructureError
from records.files import write_whole
from records.history.model import History
from records.plain_text import plain
from reports.nightly.answer import answer_of_night
from reports.nightly.check import Checked
from reports.nightly.exports import as_json, as_junit
from reports.nightly.heat import series_by_nights
from reports.nightly.listing import state_of
from reports.nightly.text import short_text
from reports.nightly.trends import trend
from reports.nightly.wording import (
    HEADLINES,
    amount,
    at_text,
    case_labels,
    case_names,
    causes_of,
    group_line,
    natural_order,
    point_name,
    since_text,
)
from reports.notation.units import count_text, level_text, percent, readable_unit
from reports.show.panel import Panel, Picture
from reports.write.page import fill_in, scripts

MOST_PANELS_A_CASE = 6
MOST_PANELS = 120
MOST_ROWS = 400
TREND_CAPTION = (
    "Grey: the reference and what it allows; dashed: something else changed; crosses: run again."
)
_KINDS = {
    "regression": "bad",
    "open": "bad",
    "silent": "bad",
    "suspect": "warn",
    "improvement": "good",
}
#: Findings first, the gravest foremost.
_ORDER = {verdict: place for place, verdict in enumerate(HEADLINES)}


@dataclass(frozen=True)
class CaseTrends:
    """The pictures of one case, those of series with a finding first; `total` counts its series."""

    title: str
    anchor: str
    panels: list[Trend]
    total: int


@dataclass(frozen=True)
class Trend:
    """One picture with the words above and below it."""

    title: str
    note: str
    panel: Panel


def write_pages(checked: Checked, out: Path) -> Path:
    """Write index.html, night.txt, night.json, junit.xml into `out`; gives the page."""
    files = {
        "index.html": render_page(checked),
        "night.txt": short_text(checked) + "\n",
        "night.json": as_json(checked),
        "junit.xml": as_junit(checked),
    }
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            write_whole(out / name, plain(text).encode())
    except OSError as error:
        raise InfrastructureError(
            f"{out}: the night's pages could not be written ({error.strerror}); the history itself"
            " is untouched"
        ) from error
    return out / "index.html"


def render_page(checked: Checked) -> str:
    """One HTML file: verdict, findings, what changed, trends of every case."""
    history, names = checked.history, case_names(checked.history)
    found = [
        (
            verdict,
            _KINDS.get(verdict, ""),
            title,
            [(f"case-{case}", group_line(history, names, items)) for case, items in groups],
        )
        for verdict, title in HEADLINES.items()
        if (groups := list(checked.groups(verdict)))
    ]
    content = {
        "night": checked.night,
        "answer": answer_of_night(checked),
        "found": found,
        "context": checked.context,
        "map": _map(checked),
        "tonight": _tonight(checked),
        "unjudged": checked.judgement.unjudged.most_common(),
        "wide": checked.judgement.wide.most_common(),
        "judged": checked.judgement.judged,
        "compared": checked.judgement.compared,
        "finds": level_text(checked.rules.finds),
        "nights": len(history.nights),
        "changes": _changes(history),
        "checks": list(_trends(checked).items()),
        "rules": checked.rules,
        **scripts("contents.js", "take-out.js"),
    }
    return fill_in("nightly.html.j2", content)


def pictures_of(checked: Checked) -> list[Picture]:
    """All pictures of the page, to be taken out."""
    night = checked.night
    footer = f"{night.campaign} on {night.site}, night of {night.date} · run {night.run_id}"
    found = []
    if drawn := _map(checked):
        caption = "Each night against the reference of tonight; brighter is better."
        title = f"{night.campaign} on {night.site}, night by night"
        found.append(_picture("series-by-nights", title, caption, drawn, footer))
    for check, cases in _trends(checked).items():
        for case in cases:
            for number, item in enumerate(case.panels, start=1):
                title, anchor = f"{check} in {item.title}", f"{case.anchor}-{number}"
                note = f"{item.note}. {TREND_CAPTION}"
                found.append(_picture(anchor, title, note, item.panel, footer))
    return found


def _picture(anchor: str, title: str, caption: str, panel: Panel, footer: str) -> Picture:
    return Picture(anchor, title, caption, [replace(panel, footer=footer)], [])


def _map(checked: Checked) -> Panel | None:
    """All series over the nights, what was found tonight outlined."""
    return series_by_nights(
        checked.history,
        checked.stage_a.reference.median,
        {item.series for item in checked.judgement.of("regression", "open", "suspect")},
        checked.judgement.night,
    )


def _changes(history: History) -> list[tuple[str, ...]]:
    """The newest changes, one a row: number, since when, series, kind, levels, causes, state."""
    names = case_names(history)
    rows: list[tuple[str, ...]] = []
    for change in history.changes[::-1][:MOST_ROWS]:
        key, place = history.series[change.series], history.position(change.since)
        rows.append(
            (
                str(change.id),
                since_text(history, change),
                f"{names[key.case_id]}: {point_name(key)}",
                f"{change.kind} ({change.stage})",
                amount(key, change.before, change.after),
                "; ".join(causes_of(history, place, key.environment)) or "nothing known",
                state_of(history, change),
            )
        )
    return rows


def _trends(checked: Checked) -> dict[str, list[CaseTrends]]:
    """Some pictures of each case under the title of its check; cases with findings first."""
    history = checked.history
    said = {item.series: item for item in reversed(checked.judgement.findings)}
    members: dict[str, list[int]] = {}
    for series in natural_order(history):
        members.setdefault(history.series[series].case_id, []).append(series)

    def weight(series: int) -> tuple[int, float]:
        finding = said.get(series)
        return (_ORDER[finding.verdict], -finding.size) if finding else (len(_ORDER), 0.0)

    left = MOST_PANELS
    labels, names = case_labels(history), case_names(history)
    checks: dict[str, list[CaseTrends]] = {}
    for case, places in sorted(members.items(), key=lambda item: min(map(weight, item[1]))):
        chosen = sorted(places, key=weight)[: min(MOST_PANELS_A_CASE, left)]
        left -= len(chosen)
        panels = [_trend(checked, labels[case], series) for series in chosen]
        cases = checks.setdefault(history.series[places[0]].check_title, [])
        cases.append(CaseTrends(names[case], f"case-{case}", panels, len(places)))
    return checks


def _trend(checked: Checked, label: str, series: int) -> Trend:
    """Above a picture what tells it from the others of its check; below what is drawn."""
    history, tonight = checked.history, checked.stage_a
    key = history.series[series]
    title = f"{key.environment}: {', '.join(filter(None, (label, at_text(key))))}"
    known = int(np.isfinite(history.values[series]).sum())
    side = "less" if key.better == "lower" else "more"
    note = f"{key.title}, {side} is better; {count_text(known, 'night')}"
    middle, limit = float(tonight.reference.median[series]), float(tonight.limits.alone[series])
    usual = (middle, limit) if math.isfinite(limit) else None
    panel = trend(history, series, usual, float(tonight.floors[series]))
    return Trend(title.removesuffix(": "), note, panel)


@dataclass(frozen=True)
class TonightRow:
    """A series tonight: its verdict with the class of its colour, names, what it is compared with;
    `wide` says why its limit is of little use."""

    verdict: str
    kind: str
    case: str
    point: str
    numbers: tuple[str, ...]
    limit: str
    wide: str
    nights: str


def _tonight(checked: Checked) -> list[TonightRow]:
    """Each series with a value; findings first, then in natural order. What is said of a series is
    said with the numbers of its finding."""
    history, stage_a, place = checked.history, checked.stage_a, checked.judgement.night
    said = {item.series: item for item in reversed(checked.judgement.findings)}
    names = case_names(history)
    with_value = [one for one in natural_order(history) if np.isfinite(history.values[one, place])]
    ordered = sorted(with_value, key=lambda one: _ORDER[said[one].verdict] if one in said else 99)
    rows = []
    for series in ordered[:MOST_ROWS]:
        key, finding = history.series[series], said.get(series)
        level, limit, worse = (
            float(column[series])
            for column in (stage_a.reference.median, stage_a.limits.alone, stage_a.worse)
        )
        if finding is not None and math.isfinite(finding.worse):
            level, limit, worse = finding.reference, finding.limit, finding.worse
        unit = readable_unit(key.unit, [float(history.values[series, place])])
        judged = series not in checked.judgement.reasons
        numbers = (
            f"{float(history.values[series, place]) / unit.factor:.4g} {unit.label}",
            f"{level / unit.factor:.4g} {unit.label}" if judged else "–",
            f"{'+' if worse >= 0 else '−'}{percent(abs(worse))}" if judged else "–",
        )
        quiet = "learning" if series in checked.judgement.learning else "as usual"
        word = finding.verdict if finding else quiet if judged else "not judged"
        rows.append(
            TonightRow(
                word,
                _KINDS.get(word, ""),
                names[key.case_id],
                point_name(key),
                numbers,
                percent(limit) if judged and math.isfinite(limit) else "–",
                checked.judgement.wide_reasons.get(series, ""),
                str(int(stage_a.reference.n[series])),
            )
        )
    return rows
