# SPDX-License-Identifier: Apache-2.0
"""A judged night as a result: its keys, its tables and pictures, its tests and gauges."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Literal, NamedTuple, get_args

import numpy as np

from records.errors import ExitStatus
from records.history.model import SeriesKey
from reports.answers import State
from reports.load.nights import SETTLED_NIGHTS
from reports.notation.labels import pairs_text
from reports.notation.units import count_text, level_text, percent, time_of
from reports.result import (
    EVERYWHERE,
    ON_PAPER,
    Badge,
    Block,
    Facts,
    Medium,
    Result,
    Sample,
    Section,
    Sentence,
    Test,
    Tone,
)
from reports.show.panel import Picture
from reports.show.tables import Cell, Heading, numeric, pivot, slug
from reports.verdicts.nightly.answer import answer_of_night
from reports.verdicts.nightly.check import Checked
from reports.verdicts.nightly.findings import NightFinding, Verdict
from reports.verdicts.nightly.forms import FoundChangePart, NightForm, SeriesFindingPart
from reports.verdicts.nightly.lasting import P_ENERGY
from reports.verdicts.nightly.pictures import series_by_nights, trend
from reports.verdicts.nightly.wording import (
    case_names,
    change_cells,
    group_line,
    natural_order,
    nights_more,
    point_name,
    statuses_text,
    value_text,
)

#: Panels of a case, and of a night, but one a case at least; rows of a table.
MOST_PANELS_A_CASE, MOST_PANELS, MOST_ROWS = 6, 120, 400
#: What a night can be, each a sample of its own: 1 for the one that it is.
STATES = (State.PASS, State.FAIL, State.SUSPECT, State.LEARNING, State.INCONCLUSIVE)


class _Kind(NamedTuple):
    """How findings with one verdict are shown; `outcome` is that of a test."""

    title: str
    tone: Tone = "plain"
    outcome: Literal["", "failure", "skipped"] = ""


#: The gravest foremost.
_KINDS: dict[Verdict, _Kind] = {
    "regression": _Kind("Slower, confirmed", "bad", "failure"),
    "open": _Kind("Still slower, not accepted", "bad", "failure"),
    "silent": _Kind(
        "Silent: no value tonight, or zero, where there was one every night", "bad", "failure"
    ),
    "suspect": _Kind("Slower than allowed; re-run needed", "open", "skipped"),
    "dismissed": _Kind("Slower at first, as usual in the re-run"),
    "recovered": _Kind("Back to its former level"),
    "improvement": _Kind("Faster, and stays so (a change, no regression)", "good"),
    "better": _Kind("Better tonight"),
}
_ORDER = {verdict: place for place, verdict in enumerate(_KINDS)}
_TREND = (
    "Point: the median of a night's launches, the last night's larger. Grey: the reference and what"
    " it allows. Dashed: software, machine or nodes changed. Red or green: a change that was found,"
    " with its number. Cross: run again the same night."
)


def night_result(checked: Checked, status: ExitStatus | None = None) -> Result[NightForm]:
    """A night as a result. `status`: what the command ends with; None: with the judgement's."""
    night, nights = checked.night, len(checked.history.nights)

    def section(
        anchor: str,
        title: str,
        make: Callable[[Checked], Iterable[Block | None]],
        on: frozenset[Medium] = ON_PAPER,
    ) -> Section:
        return Section(anchor, title, partial(make, checked), shown_on=on)

    return Result(
        kicker=f"Assay nightly · campaign {night.campaign} · {count_text(nights, 'night')}",
        title=f"{night.campaign} on {night.site}, night of {night.date}",
        data=_form(checked, status),
        answer=answer_of_night(checked),
        facts=Facts(
            [
                ("site", night.site),
                ("night", f"{night.date} UTC"),
                ("run", night.run_id),
                ("nodes", " ".join(night.nodes) or "none"),
                ("launches", statuses_text(night.statuses) or "none"),
            ],
            codes=frozenset({"run"}),
        ),
        warnings=night.warnings,
        sections=[
            section("summary", "Tonight", _found, EVERYWHERE),
            section("map", "All series, night by night", lambda one: [series_by_nights(one)]),
            section("context", "Changed since the night before", _context, EVERYWHERE),
            section("tonight", "Every series tonight", _tonight),
            section("changes", "All changes", _changes),
            *(
                section(f"trends-{slug(check)}", f"Trends: {check}", partial(_trends, cases))
                for check, cases in _cases_by_check(checked).items()
            ),
            section("method", "Method", _method),
        ],
        closing=f"Assay nightly · n = {count_text(nights, 'night')} · {night.run_id}",
        tests=partial(_tests, checked),
        samples=partial(_samples, checked),
    )


def _form(checked: Checked, status: ExitStatus | None) -> NightForm:
    answer, judgement = answer_of_night(checked), checked.judgement
    return NightForm.filled(
        checked.night,
        verdict=answer.state.name,
        exit_status=int(checked.status if status is None else status),
        answer=answer.part,
        summary=answer.sentence,
        other_nodes=checked.history.other_nodes.get(checked.night.id, ()),
        launches=checked.night.statuses,
        judged=judgement.judged,
        compared=judgement.compared,
        learning=len(judgement.learning),
        more_nights=checked.more_nights,
        finds=checked.rules.finds,
        not_judged=judgement.unjudged,
        wide_limits=judgement.wide,
        context_changes=checked.context,
        findings=[_finding(checked, item) for item in judgement.findings],
    )


def _finding(checked: Checked, finding: NightFinding) -> SeriesFindingPart:
    history, change = checked.history, finding.change
    names = ("verdict", "value", "rerun", "elsewhere", "reference", "worse", "limit")
    part = change and FoundChangePart.filled(
        change,
        since=history.nights[history.position(change.since)].started_at
        if change.stage != "early"
        else None,
        nights_before=change.n_before,
    )
    return SeriesFindingPart.filled(
        history.series[finding.series],
        **{name: getattr(finding, name) for name in (*names, "slow_elsewhere")},
        compared_with="nodes" if finding.peers else "nights",
        nights=0 if finding.peers else finding.n,
        nodes=finding.n if finding.peers else 0,
        change=part,
    )


def _found(checked: Checked) -> Iterator[Block]:
    """What was found by case, then what was not judged, and launches without a result."""
    history, names, judgement = checked.history, case_names(checked.history), checked.judgement
    for verdict, kind in _KINDS.items():
        cases: dict[str, list[NightFinding]] = {}
        for item in sorted(judgement.of(verdict), key=lambda finding: -finding.size):
            cases.setdefault(history.series[item.series].case_id, []).append(item)
        lines = [
            Sentence(group_line(history, names, found), f"#case-{case}")
            for case, found in cases.items()
        ]
        if lines:
            badge = Badge(verdict, kind.tone)
            yield Section(f"found-{verdict}", kind.title, partial(iter, lines), badge)
    if not judgement.findings:
        compared = [
            f"{count_text(count, 'series')} compared with {what}"
            for count, what in (
                (judgement.judged, "earlier nights"),
                (judgement.compared, "other nodes"),
            )
            if count
        ]
        yield Sentence(f"{', '.join(compared) or 'Nothing to compare with'}: nothing to report.")
    wider = f"with a limit wider than {level_text(checked.rules.finds)}"
    for what, reasons in (("not judged", judgement.unjudged), (wider, judgement.wide)):
        for reason, n in reasons.most_common():
            yield Sentence(f"{count_text(n, 'series')} {what}: {reason}")
    if failures := checked.night.failures:
        lines = [Sentence(text, tone="bad") for text in failures]
        title = "Launches without a result"
        yield Section("failures", title, partial(iter, lines), Badge("failed", "bad"))


def _context(checked: Checked) -> list[Block]:
    table = pivot(
        checked.context,
        [
            ("what", lambda item: item.name),
            ("before", lambda item: item.before or "none"),
            ("tonight", lambda item: item.after or "none"),
        ],
        anchor="table-context",
        title="Changed since the night before",
    )
    same = Sentence("Nothing that is recorded: same software, machine, network and nodes.")
    return [table or same]


def _tonight(checked: Checked) -> list[Block]:
    """Each series with a value; findings first, then in natural order."""
    history, said = checked.history, checked.said
    tonight = history.values[:, checked.judgement.night]
    with_value = [one for one in natural_order(history) if np.isfinite(tonight[one])]
    ordered = sorted(with_value, key=lambda one: _ORDER[said[one].verdict] if one in said else 99)
    names = case_names(history)

    def name_cells(series: int) -> list[str]:
        key = history.series[series]
        return [names[key.case_id], point_name(key)]

    table = pivot(
        ordered[:MOST_ROWS],
        [
            (["series", "point"], name_cells),
            ("verdict", lambda one: _verdict_cell(checked, one)),
            (
                numeric("tonight", "reference", "worse by", "limit", "nights"),
                lambda one: _number_cells(checked, one, float(tonight[one])),
            ),
        ],
        anchor="table-tonight",
        title="Every series tonight",
        total=len(ordered),
        most=MOST_ROWS,
    )
    return [table or Sentence("No series has a value tonight.")]


def _verdict_cell(checked: Checked, series: int) -> Cell:
    if finding := checked.said.get(series):
        tone = _KINDS[finding.verdict].tone
        return Cell(finding.verdict, tone="" if tone == "plain" else tone)
    if series in checked.judgement.reasons:
        return Cell("not judged")
    return Cell("learning" if series in checked.judgement.learning else "as usual")


def _number_cells(checked: Checked, series: int, value: float) -> list[Cell | str]:
    """The numbers of a series; of one that something is said of those of its finding."""
    key, tonight, finding = (
        checked.history.series[series],
        checked.tonight,
        checked.said.get(series),
    )
    nights, now = str(int(tonight.reference.n[series])), value_text(key, value)
    if series in checked.judgement.reasons:
        return [now, "–", "–", "–", nights]
    level, limit, worse = (
        float(column[series]) for column in (tonight.reference.median, tonight.limit, tonight.worse)
    )
    if finding is not None and math.isfinite(finding.worse):
        level, limit, worse = finding.reference, finding.limit, finding.worse
    wide = checked.judgement.wide_reasons.get(series, "")
    shown = percent(limit) if math.isfinite(limit) else "–"
    return [
        now,
        value_text(key, level, [value]),
        f"{'+' if worse >= 0 else '−'}{percent(abs(worse))}",
        Cell(shown, title=wide, tone="open" if wide else ""),
        nights,
    ]


def _changes(checked: Checked) -> list[Block]:
    """The newest changes, one a row."""
    history, names = checked.history, case_names(checked.history)
    headings: list[Heading] = [
        "no.",
        "since",
        "series",
        "kind",
        "from, to",
        "changed that night",
        "state",
    ]
    table = pivot(
        history.changes[::-1],
        [(headings, lambda one: change_cells(history, names, one))],
        anchor="table-changes",
        title="All changes",
        most=MOST_ROWS,
    )
    if table is None:
        return [Sentence("None was found so far.")]
    command = "assay nightly accept-change NUMBER --author … --reason …"
    return [Sentence("Accept an intended change:", code=command), table]


def _cases_by_check(checked: Checked) -> dict[str, list[tuple[int, list[int]]]]:
    """Under the title of each check, of its cases: how many series each has, and those to draw,
    at least the first. Cases and series with findings come first."""
    history, said = checked.history, checked.said
    members: dict[str, list[int]] = {}
    for series in natural_order(history):
        members.setdefault(history.series[series].case_id, []).append(series)

    def weight(series: int) -> tuple[int, float]:
        finding = said.get(series)
        return (_ORDER[finding.verdict], -finding.size) if finding else (len(_ORDER), 0.0)

    left = MOST_PANELS
    checks: dict[str, list[tuple[int, list[int]]]] = {}
    for every in sorted(members.values(), key=lambda case: min(map(weight, case))):
        chosen = sorted(every, key=weight)[: max(1, min(MOST_PANELS_A_CASE, left))]
        left -= len(chosen)
        checks.setdefault(history.series[every[0]].check_title, []).append((len(every), chosen))
    return checks


def _trends(cases: Sequence[tuple[int, list[int]]], checked: Checked) -> Iterator[Block]:
    """A picture of each case."""
    names = case_names(checked.history)
    yield Sentence(_TREND)
    for count, chosen in cases:
        caption = count_text(count, "series")
        if len(chosen) < count:
            caption = f"{len(chosen)} of {caption} drawn; the history has all."
        case = checked.history.series[chosen[0]].case_id
        panels = [trend(checked, one) for one in chosen]
        yield Picture(f"case-{case}", names[case], caption, panels, [])


def _method(checked: Checked) -> Iterator[Block]:
    rules = checked.rules
    yield Sentence(
        f"A night's value is the median of its launches (at least {rules.least_launches}). Tonight"
        f" is suspect when it is worse than the reference (up to {rules.most_nights} nights of the"
        f" same context) by more than {percent(rules.floor, 0)}"
        f" ({percent(rules.floor_small_latency, 0)} for the latency of small messages) and the far"
        " quantile of the site's own nights; it is a regression when fresh launches the same night"
        f" fail again. A change that stays is found by E-divisive means over {rules.window} nights"
        f" (p ≤ {P_ENERGY}, Mann–Whitney p ≤ {rules.p_ranks:.2g}, at least {rules.least_before}"
        f" nights before and {rules.least_after} after). Limits follow from the false alarms"
        f" allowed over all series together. With fewer than {SETTLED_NIGHTS} nights the reference"
        f" is early: Student's limit from {rules.judged_from} nights on, and the night is LEARNING."
        " Nodes of a kind are compared with each other from the first night on; one that is worse than the"
        f" good ones by more than {level_text(rules.finds)} is suspect. What is suspect, or a"
        " regression that is not accepted, enters no reference. PASS needs limits of at most"
        f" {level_text(rules.finds)}."
    )


def _tests(checked: Checked) -> Iterator[Test]:
    """A test of each series: regressions are failures; suspects, and what is not decided, are
    skipped; launches without a result are errors."""
    history, names, judgement = checked.history, case_names(checked.history), checked.judgement
    undecided = (
        {series: f"limit too wide: {reason}" for series, reason in judgement.wide_reasons.items()}
        | {series: f"learning: {nights_more(more)}" for series, more in judgement.learning.items()}
        | {series: f"not judged: {reason}" for series, reason in judgement.reasons.items()}
    )
    said = {item.series: item for item in judgement.findings if _KINDS[item.verdict].outcome}
    for series, key in enumerate(history.series):
        suite, name = f"{key.check}.{key.environment}.{key.case_id}", point_name(key)
        if finding := said.get(series):
            text = group_line(history, names, [finding])
            yield Test(suite, name, _KINDS[finding.verdict].outcome, text)
        elif reason := undecided.get(series):
            yield Test(suite, name, "skipped", reason)
        else:
            yield Test(suite, name)
    yield from (Test("launches", text, "error", text) for text in checked.night.failures)


def _samples(checked: Checked) -> Iterator[Sample]:
    """Gauges of the newest night of a campaign."""
    history, night, judgement = checked.history, checked.night, checked.judgement
    whose = {"site": night.site, "campaign": night.campaign}
    yield Sample("night_info", "The run of the newest night.", 1, {**whose, "run": night.run_id})
    begun = time_of(night.started_at).timestamp()
    yield Sample("night_started_timestamp", "When the newest night began.", begun, whose, "s")
    text = "1 for the state that the newest night is in."
    for state in STATES:
        value = float(checked.state is state)
        yield Sample("night_state", text, value, {**whose, "state": state.name})
    text = "Launches of the newest night by how they ended."
    for status, number in night.statuses.items():
        yield Sample("night_launches", text, number, {**whose, "status": status})
    for verdict in get_args(Verdict):
        labels = {**whose, "verdict": verdict}
        yield Sample("night_findings", "Findings of series.", len(judgement.of(verdict)), labels)
    text = "Series of the newest night that were judged."
    yield Sample("night_series_judged", text, judgement.judged, whose)
    levels = checked.tonight.reference.median
    for series, key in enumerate(history.series):
        for name, text, value in (
            ("night_median", "Median of the newest night.", history.values[series, -1]),
            ("night_reference", "Median of the nights that it is compared with.", levels[series]),
        ):
            if np.isfinite(value):
                labels = {**whose, **series_labels(key)}
                yield Sample(name, text, float(value), labels, key.unit)


def series_labels(key: SeriesKey) -> dict[str, str]:
    """What tells a series from all others, as labels of a gauge."""
    return {
        "check": key.check,
        "environment": key.environment,
        "case": key.case_id,
        "metric": key.metric,
        "point": pairs_text(sorted(key.at.items())),
    }
