# SPDX-License-Identifier: Apache-2.0
"""The night's page with its trends, and the files for machines, each written whole."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from records.errors import ExitStatus, InfrastructureError
from records.files import write_whole
from records.history.model import History
from records.plain_text import plain
from reports.nightly.check import Checked
from reports.nightly.exports import as_json, as_junit
from reports.nightly.heat import series_by_nights
from reports.nightly.judge import NightJudge
from reports.nightly.listing import state_of
from reports.nightly.tonight import StageA
from reports.nightly.trends import trend
from reports.nightly.wording import (
    HEADLINES,
    amount,
    at_text,
    case_labels,
    case_names,
    causes_of,
    group_line,
    headline,
    point_name,
    short_text,
    since_text,
)
from reports.notation.units import count_text, readable_unit
from reports.show.canvas import Panel, styled
from reports.write.page import fill_in

MOST_PANELS_A_CASE = 6
MOST_PANELS = 120
MOST_ROWS = 400
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
    judge = NightJudge(history, checked.rules)
    tonight = judge.stage_a(checked.judgement.night, checked.changes_before)
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
        "status": ExitStatus(checked.status).name.replace("_", " "),
        "headline": headline(checked),
        "found": found,
        "context": checked.context,
        "map": series_by_nights(
            history,
            tonight.reference.median,
            {item.series for item in checked.judgement.of("regression", "open", "suspect")},
            checked.judgement.night,
        ),
        "tonight": _tonight(checked, tonight),
        "unjudged": checked.judgement.unjudged.most_common(),
        "wide": checked.judgement.wide.most_common(),
        "judged": checked.judgement.judged,
        "nights": len(history.nights),
        "changes": _changes(history),
        "checks": list(_trends(checked, tonight).items()),
        "rules": checked.rules,
    }
    return fill_in("nightly.html.j2", content)


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


def _trends(checked: Checked, tonight: StageA) -> dict[str, list[CaseTrends]]:
    """Some pictures of each case under the title of its check; cases with findings first."""
    history = checked.history
    said = {item.series: item for item in reversed(checked.judgement.findings)}
    members: dict[str, list[int]] = {}
    for series, key in enumerate(history.series):
        members.setdefault(key.case_id, []).append(series)

    def weight(series: int) -> tuple[int, float]:
        finding = said.get(series)
        return (_ORDER[finding.verdict], -finding.size) if finding else (len(_ORDER), 0.0)

    left = MOST_PANELS
    labels, names = case_labels(history), case_names(history)
    checks: dict[str, list[CaseTrends]] = {}
    with styled():
        for case, places in sorted(members.items(), key=lambda item: min(map(weight, item[1]))):
            chosen = sorted(places, key=weight)[: min(MOST_PANELS_A_CASE, left)]
            left -= len(chosen)
            panels = [_trend(history, labels[case], series, tonight) for series in chosen]
            cases = checks.setdefault(history.series[places[0]].check_title, [])
            cases.append(CaseTrends(names[case], f"case-{case}", panels, len(places)))
    return checks


def _trend(history: History, label: str, series: int, tonight: StageA) -> Trend:
    """Above a picture what tells it from the others of its check; below what is drawn."""
    key = history.series[series]
    title = f"{key.environment}: {', '.join(filter(None, (label, at_text(key))))}"
    known = int(np.isfinite(history.values[series]).sum())
    side = "less" if key.better == "lower" else "more"
    note = f"{key.title}, {side} is better; {count_text(known, 'night')}"
    middle, limit = float(tonight.reference.median[series]), float(tonight.limits.alone[series])
    panel = trend(history, series, (middle, limit) if math.isfinite(limit) else None)
    return Trend(title.removesuffix(": "), note, panel)


def _tonight(checked: Checked, tonight: StageA) -> list[tuple[str, ...]]:
    """Each series in a row: its verdict and the verdict's look, case, point, tonight, reference,
    change for the worse, limit, nights; findings first."""
    history, place = checked.history, checked.judgement.night
    said = {item.series: item.verdict for item in checked.judgement.findings}
    names = case_names(history)
    rows: list[tuple[str, ...]] = []
    for series in sorted(
        np.flatnonzero(np.isfinite(history.values[:, place])).tolist(),
        key=lambda series: (_ORDER.get(said.get(series, ""), len(_ORDER)), series),
    )[:MOST_ROWS]:
        key, word = history.series[series], said.get(series, "")
        level, limit = (
            float(column[series]) for column in (tonight.reference.median, tonight.limits.alone)
        )
        value, worse = float(history.values[series, place]), float(tonight.worse[series])
        unit = readable_unit(key.unit, [value])
        n = int(tonight.reference.n[series])
        judged = math.isfinite(limit) and n > 0
        rows.append(
            (
                word or ("as usual" if judged else "not judged"),
                _KINDS.get(word, ""),
                names[key.case_id],
                point_name(key),
                f"{value / unit.factor:.4g} {unit.label}",
                f"{level / unit.factor:.4g} {unit.label}" if judged else "–",
                f"{worse * 100:+.1f} %".replace("-", "−") if judged else "–",
                f"{limit * 100:.0f} %" if judged else "–",
                str(n),
            )
        )
    return rows
