# SPDX-License-Identifier: Apache-2.0
"""The night's page with its trends, and the files for machines, each written whole."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import numpy as np

from records.errors import ExitStatus, InfrastructureError
from records.files import write_whole
from records.history.model import History
from reports.nightly.check import Checked
from reports.nightly.exports import as_json, as_junit
from reports.nightly.judge import NightJudge
from reports.nightly.listing import state_of
from reports.nightly.reference import Matrix
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
)
from reports.notation.units import count_text, readable_unit
from reports.show.canvas import STYLE, Panel
from reports.write.page import fill_in

MOST_PANELS_A_CASE = 6
MOST_PANELS = 120
MOST_ROWS = 400
_KINDS = {"regression": "bad", "open": "bad", "suspect": "warn", "improvement": "good"}


@dataclass(frozen=True)
class CaseTrends:
    """The pictures of one case, those of series with a finding first; `total` counts its series.

    `check` is the check's title.
    """

    title: str
    anchor: str
    check: str
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
            write_whole(out / name, text.encode("utf-8", "replace"))
    except OSError as error:
        raise InfrastructureError(
            f"{out}: the night's pages could not be written ({error.strerror}); the history itself"
            " is untouched"
        ) from error
    return out / "index.html"


def render_page(checked: Checked) -> str:
    """One HTML file: verdict, findings, what changed, trends of every case."""
    content = {
        "night": checked.night,
        "status": ExitStatus(checked.status).name.replace("_", " "),
        "headline": headline(checked),
        "found": [
            (verdict, _KINDS.get(verdict, ""), title, _lines(checked, verdict))
            for verdict, title in HEADLINES.items()
            if any(item.verdict == verdict for item in checked.judgement.findings)
        ],
        "context": checked.context,
        "tonight": _tonight(checked),
        "unjudged": checked.judgement.unjudged.most_common(),
        "judged": checked.judgement.judged,
        "nights": len(checked.history.nights),
        "changes": _changes(checked),
        "checks": _by_check(_cases(checked)),
        "rules": checked.rules,
    }
    return fill_in("nightly.html.j2", content)


def _lines(checked: Checked, verdict: str) -> list[tuple[str, str]]:
    names = case_names(checked.history)
    return [
        (f"case-{case_id}", group_line(checked.history, names, found))
        for case_id, found in checked.groups(verdict)
    ]


def _changes(checked: Checked) -> list[tuple[str, ...]]:
    history, names = checked.history, case_names(checked.history)
    rows: list[tuple[str, ...]] = []
    for change in reversed(history.changes):
        key, place = history.series[change.series], history.position(change.since)
        rows.append(
            (
                str(change.id),
                history.nights[place].date,
                f"{names[key.case_id]}: {point_name(key)}",
                f"{change.kind} ({change.stage})",
                amount(key, change.before, change.after),
                "; ".join(causes_of(history, place, key.environment)) or "nothing known",
                state_of(history, change),
            )
        )
    return rows[:400]


def _cases(checked: Checked) -> list[CaseTrends]:
    """Cases with findings first; of each case some pictures."""
    said = {item.series: item for item in reversed(checked.judgement.findings)}
    rank = {word: place for place, word in enumerate(HEADLINES)}
    members: dict[str, list[int]] = {}
    for series, key in enumerate(checked.history.series):
        members.setdefault(key.case_id, []).append(series)

    def weight(series: int) -> tuple[int, float]:
        finding = said.get(series)
        return (rank[finding.verdict], -abs(finding.worse)) if finding else (len(rank), 0.0)

    ordered = sorted(members.items(), key=lambda item: min(map(weight, item[1])))
    left = MOST_PANELS
    labels, names = case_labels(checked.history), case_names(checked.history)
    cases: list[CaseTrends] = []
    judge = NightJudge(checked.history, checked.rules)
    reference = judge.usual_range(checked.judgement.night, checked.changes_before)
    with mpl.rc_context(STYLE), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for case_id, places in ordered:
            chosen = sorted(places, key=weight)[: min(MOST_PANELS_A_CASE, left)]
            left -= len(chosen)
            panels = [
                Trend(
                    *_words(checked.history, labels[case_id], place),
                    trend(checked.history, place, _range(reference, place)),
                )
                for place in chosen
            ]
            check = checked.history.series[places[0]].check_title
            title = names[case_id]
            cases.append(CaseTrends(title, f"case-{case_id}", check, panels, len(places)))
    return cases


def _words(history: History, label: str, series: int) -> tuple[str, str]:
    """Above a picture what tells it from the others of its check; below what is drawn."""
    key = history.series[series]
    title = f"{key.environment}: {', '.join(filter(None, (label, at_text(key))))}"
    known = int(np.isfinite(history.values[series]).sum())
    side = "less" if key.better == "lower" else "more"
    return title.removesuffix(": "), f"{key.title}, {side} is better; {count_text(known, 'night')}"


def _tonight(checked: Checked) -> list[tuple[str, ...]]:
    """Each series in a row: its verdict and the verdict's look, case, point, tonight, reference,
    change for the worse, limit, nights; findings first."""
    history, place = checked.history, checked.judgement.night
    tonight = NightJudge(history, checked.rules).stage_a(place, checked.changes_before)
    said = {item.series: item.verdict for item in checked.judgement.findings}
    names = case_names(history)
    order = {word: number for number, word in enumerate(HEADLINES)}
    rows: list[tuple[str, ...]] = []
    for series in sorted(
        np.flatnonzero(np.isfinite(history.values[:, place])).tolist(),
        key=lambda series: (order.get(said.get(series, ""), len(order)), series),
    )[:MOST_ROWS]:
        key, word = history.series[series], said.get(series, "")
        level, limit = (
            float(column[series]) for column in (tonight.reference.median, tonight.limits.alone)
        )
        value, worse = float(history.values[series, place]), float(tonight.worse[series])
        unit = readable_unit(key.unit, [value])
        judged = math.isfinite(limit) and int(tonight.reference.n[series]) > 0
        rows.append(
            (
                word or ("as usual" if judged else "not judged"),
                _KINDS.get(word, "") if word else "",
                names[key.case_id],
                point_name(key),
                f"{value / unit.factor:.4g} {unit.label}",
                f"{level / unit.factor:.4g} {unit.label}" if judged else "–",
                f"{worse * 100:+.1f} %".replace("-", "−") if judged else "–",
                f"{limit * 100:.0f} %" if judged else "–",
                str(int(tonight.reference.n[series])),
            )
        )
    return rows


def _by_check(cases: list[CaseTrends]) -> list[tuple[str, list[CaseTrends]]]:
    """Cases under the title of their check, checks with findings first."""
    found: dict[str, list[CaseTrends]] = {}
    for item in cases:
        found.setdefault(item.check, []).append(item)
    return list(found.items())


def _range(reference: tuple[Matrix, Matrix], series: int) -> tuple[float, float] | None:
    middle, limit = float(reference[0][series]), float(reference[1][series])
    return (middle, limit) if math.isfinite(limit) else None
