# SPDX-License-Identifier: Apache-2.0
"""A judged night as a result: its keys, its tables and pictures, its tests and gauges."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal, get_args

import numpy as np

from records.errors import ExitStatus
from records.history.model import Change, History, SeriesKey
from reports.answers import State
from reports.notation.labels import pairs_text
from reports.notation.units import count_text, level_text, percent, readable_unit, time_of
from reports.result import (
    EVERYWHERE,
    ON_PAPER,
    Badge,
    Block,
    Facts,
    Result,
    Sample,
    Section,
    Sentence,
    Test,
    Tone,
)
from reports.show.panel import Panel, Picture
from reports.show.tables import Cell, numeric, pivot, slug
from reports.verdicts.nightly.answer import answer_of_night
from reports.verdicts.nightly.check import Checked
from reports.verdicts.nightly.findings import Finding, Verdict
from reports.verdicts.nightly.forms import FoundChangePart, NightForm, SeriesFindingPart
from reports.verdicts.nightly.heat import series_by_nights
from reports.verdicts.nightly.trends import trend
from reports.verdicts.nightly.wording import (
    HEADLINES,
    amount,
    at_text,
    case_names,
    causes_of,
    group_line,
    natural_order,
    nights_more,
    point_name,
    since_text,
    state_of,
)

#: Panels of a case, and of a night, but one a case at least; rows of a table.
MOST_PANELS_A_CASE, MOST_PANELS, MOST_ROWS = 6, 120, 400
#: What a night can be, each a sample of its own: 1 for the one that it is.
STATES = (State.PASS, State.FAIL, State.SUSPECT, State.LEARNING, State.INCONCLUSIVE)
_TONES: dict[str, Tone] = {
    "regression": "bad",
    "open": "bad",
    "silent": "bad",
    "suspect": "open",
    "improvement": "good",
}
_OUTCOMES: dict[str, Literal["failure", "skipped"]] = {
    "regression": "failure",
    "open": "failure",
    "silent": "failure",
    "suspect": "skipped",
}
#: Keys of a finding that are its attributes.
_OF_FINDING = (
    *("verdict", "value", "rerun", "elsewhere", "reference", "worse", "limit"),
    "slow_elsewhere",
)
#: Findings first, the gravest foremost.
_ORDER = {verdict: place for place, verdict in enumerate(HEADLINES)}
_TREND = (
    "Point: the median of a night's launches, the last night's larger. Grey: the reference and what"
    " it allows. Dashed: software, machine or nodes changed. Red or green: a change that was found,"
    " with its number. Cross: run again the same night."
)


def night_result(checked: Checked, status: ExitStatus | None = None) -> Result[NightForm]:
    """A night as a result. `status`: what the command ends with; None: with the judgement's."""
    night, history = checked.night, checked.history
    launches = ", ".join(f"{n} {word}" for word, n in sorted(night.statuses.items()))
    checks = _cases_by_check(checked)
    return Result(
        kicker=f"Assay nightly · campaign {night.campaign} · {len(history.nights)} nights",
        title=f"{night.campaign} on {night.site}, night of {night.date}",
        data=_form(checked, status),
        answer=answer_of_night(checked),
        facts=Facts(
            [
                ("site", night.site),
                ("night", f"{night.date} UTC"),
                ("run", night.run_id),
                ("nodes", " ".join(night.nodes) or "none"),
                ("launches", launches or "none"),
            ],
            codes=frozenset({"run"}),
        ),
        warnings=night.warnings,
        sections=[
            Section("summary", "Tonight", lambda: _found(checked), shown_on=EVERYWHERE),
            Section("map", "All series, night by night", lambda: [_map(checked)]),
            Section(
                "context",
                "Changed since the night before",
                lambda: _context(checked),
                shown_on=EVERYWHERE,
            ),
            Section("tonight", "Every series tonight", lambda: _tonight(checked)),
            Section("changes", "All changes", lambda: _changes(history)),
            *(
                Section(
                    f"trends-{slug(check)}",
                    f"Trends: {check}",
                    partial(_trends, checked, cases),
                )
                for check, cases in checks.items()
            ),
            Section("method", "Method", lambda: [Sentence(_method(checked))], shown_on=ON_PAPER),
        ],
        closing=f"Assay nightly · n = {len(history.nights)} nights · {night.run_id}",
        tests=lambda: _tests(checked),
        samples=lambda: _samples(checked),
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


def _finding(checked: Checked, finding: Finding) -> SeriesFindingPart:
    history, change = checked.history, finding.change
    early = change is not None and change.stage == "early"
    return SeriesFindingPart.filled(
        history.series[finding.series],
        **{name: getattr(finding, name) for name in _OF_FINDING},
        compared_with="nodes" if finding.peers else "nights",
        nights=0 if finding.peers else finding.n,
        nodes=finding.n if finding.peers else 0,
        change=change
        and FoundChangePart.filled(
            change,
            since=None if early else history.nights[history.position(change.since)].started_at,
            nights_before=change.n_before,
        ),
    )


def _found(checked: Checked) -> Iterator[Block]:
    """What was found by case, then what was not judged, and launches without a result."""
    history, names, judgement = checked.history, case_names(checked.history), checked.judgement
    for verdict, title in HEADLINES.items():
        if groups := list(checked.groups(verdict)):
            lines = [
                Sentence(group_line(history, names, found), f"#case-{case}")
                for case, found in groups
            ]
            badge = Badge(verdict, _TONES.get(verdict, "plain"))
            yield Section(f"found-{verdict}", title, partial(iter, lines), badge)
    if not judgement.findings:
        yield Sentence(
            f"{judgement.judged} series compared with earlier nights, {judgement.compared} with"
            " other nodes: nothing to report."
        )
    for reason, n in judgement.unjudged.most_common():
        yield Sentence(f"{count_text(n, 'series', 'series')} not judged: {reason}")
    finds = level_text(checked.rules.finds)
    for reason, n in judgement.wide.most_common():
        yield Sentence(
            f"{count_text(n, 'series', 'series')} with a limit wider than {finds}: {reason}"
        )
    if failures := checked.night.failures:
        lines = [Sentence(text, tone="bad") for text in failures]
        title = "Launches without a result"
        yield Section("failures", title, partial(iter, lines), Badge("failed", "bad"))


def _map(checked: Checked) -> Picture | None:
    """All series over the nights, what was found tonight outlined."""
    night = checked.night
    panel = series_by_nights(
        checked.history,
        checked.stage_a.reference.median,
        {item.series for item in checked.judgement.of("regression", "open", "suspect")},
        checked.judgement.night,
    )
    if panel is None:
        return None
    title = f"{night.campaign} on {night.site}, night by night"
    caption = "Each night against the reference of tonight; brighter is better."
    shown = replace(panel, footer=_footer(checked), wide=True)
    return Picture("wide-series-by-nights", title, caption, [shown], [])


def _footer(checked: Checked) -> str:
    night = checked.night
    return f"{night.campaign} on {night.site}, night of {night.date} · run {night.run_id}"


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
    """Each series with a value; findings first, then in natural order. What is said of a series is
    said with the numbers of its finding."""
    history, place = checked.history, checked.judgement.night
    said = {item.series: item for item in reversed(checked.judgement.findings)}
    with_value = [one for one in natural_order(history) if np.isfinite(history.values[one, place])]
    ordered = sorted(with_value, key=lambda one: _ORDER[said[one].verdict] if one in said else 99)
    names = case_names(history)
    table = pivot(
        ordered[:MOST_ROWS],
        [
            (["series", "point"], lambda one: _name_cells(history, names, one)),
            ("verdict", lambda one: _verdict_cell(checked, one, said.get(one))),
            (
                numeric("tonight", "reference", "worse by", "limit", "nights"),
                lambda one: _number_cells(checked, one, said.get(one)),
            ),
        ],
        anchor="table-tonight",
        title="Every series tonight",
        total=len(ordered),
        most=MOST_ROWS,
    )
    return [table or Sentence("No series has a value tonight.")]


def _name_cells(history: History, names: dict[str, str], series: int) -> list[str]:
    key = history.series[series]
    return [names[key.case_id], point_name(key)]


def _verdict_cell(checked: Checked, series: int, finding: Finding | None) -> Cell:
    judgement = checked.judgement
    word = "learning" if series in judgement.learning else "as usual"
    word = "not judged" if series in judgement.reasons else word
    if finding is not None:
        word = finding.verdict
    tone = _TONES.get(word, "plain")
    return Cell(word, tone="" if tone == "plain" else tone)


def _number_cells(checked: Checked, series: int, finding: Finding | None) -> list[Cell | str]:
    history, stage_a = checked.history, checked.stage_a
    value = float(history.values[series, checked.judgement.night])
    unit = readable_unit(history.series[series].unit, [value])
    nights = str(int(stage_a.reference.n[series]))
    tonight = f"{value / unit.factor:.4g} {unit.label}"
    if series in checked.judgement.reasons:
        return [tonight, "–", "–", "–", nights]
    level, limit, worse = (
        float(column[series])
        for column in (stage_a.reference.median, stage_a.limits.alone, stage_a.worse)
    )
    if finding is not None and math.isfinite(finding.worse):
        level, limit, worse = finding.reference, finding.limit, finding.worse
    wide = checked.judgement.wide_reasons.get(series, "")
    shown = percent(limit) if math.isfinite(limit) else "–"
    return [
        tonight,
        f"{level / unit.factor:.4g} {unit.label}",
        f"{'+' if worse >= 0 else '−'}{percent(abs(worse))}",
        Cell(shown, title=wide, tone="open" if wide else ""),
        nights,
    ]


def _changes(history: History) -> list[Block]:
    """The newest changes, one a row."""
    names = case_names(history)

    def cells(change: Change) -> list[str]:
        key, place = history.series[change.series], history.position(change.since)
        return [
            str(change.id),
            since_text(history, change),
            f"{names[key.case_id]}: {point_name(key)}",
            f"{change.kind} ({change.stage})",
            amount(key, change.before, change.after),
            "; ".join(causes_of(history, place, key.environment)) or "nothing known",
            state_of(history, change),
        ]

    table = pivot(
        history.changes[::-1],
        [(["no.", "since", "series", "kind", "from, to", "changed that night", "state"], cells)],
        anchor="table-changes",
        title="All changes",
        most=MOST_ROWS,
    )
    if table is None:
        return [Sentence("None was found so far.")]
    command = "assay history accept-change NUMBER --author … --reason …"
    return [Sentence("Accept an intended change:", code=command), table]


def _cases_by_check(checked: Checked) -> dict[str, list[tuple[int, list[int]]]]:
    """Under the title of each check, of its cases: how many series each has, and those to draw,
    at least the first. Cases and series with findings come first."""
    history = checked.history
    said = {item.series: item for item in reversed(checked.judgement.findings)}
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


def _trends(checked: Checked, cases: Sequence[tuple[int, list[int]]]) -> Iterator[Block]:
    """A picture of each case."""
    names = case_names(checked.history)
    yield Sentence(_TREND)
    for count, chosen in cases:
        caption = count_text(count, "series", "series")
        if len(chosen) < count:
            caption = f"{len(chosen)} of {caption} drawn; the history has all."
        case = checked.history.series[chosen[0]].case_id
        panels = [_trend(checked, one) for one in chosen]
        yield Picture(f"case-{case}", names[case], caption, panels, [])


def _trend(checked: Checked, series: int) -> Panel:
    """One series: its title says what tells it from the others of its case, its footer what is
    drawn."""
    history, tonight = checked.history, checked.stage_a
    key = history.series[series]
    known = int(np.isfinite(history.values[series]).sum())
    side = "less" if key.better == "lower" else "more"
    middle, limit = float(tonight.reference.median[series]), float(tonight.limits.alone[series])
    usual = (middle, limit) if math.isfinite(limit) else None
    panel = trend(history, series, usual, float(tonight.floors[series]))
    footer = f"{key.title}, {side} is better; {count_text(known, 'night')}"
    return replace(panel, title=at_text(key) or key.title, footer=footer)


def _method(checked: Checked) -> str:
    rules = checked.rules
    return (
        f"A night's value is the median of its launches (at least {rules.least_launches}). Tonight"
        f" is suspect when it is worse than the reference (up to {rules.most_nights} nights of the"
        " same context) by more than 3 % (5 % for the latency of small messages), the 99.9 %"
        " prediction limit, and the far quantile of the site's own nights, or when"
        f" {rules.run_nights} nights in a row are beyond a nearer limit; it is a regression when"
        " fresh launches the same night fail again. A change that stays is found by E-divisive"
        f" means over {rules.window} nights (p ≤ {rules.p_energy}, Mann–Whitney p ≤"
        f" {rules.p_ranks:.2g}, at least {rules.least_before} nights before and"
        f" {rules.least_after} after). Limits follow from the false alarms allowed over all series"
        f" together. With fewer than {rules.robust_from} nights the reference is early: Student's"
        f" limit from {rules.judged_from} nights on, and the night is LEARNING. Nodes of a kind are"
        " compared with each other from the first night on; one that is worse than the good ones by"
        f" more than {level_text(rules.finds)} is suspect. What is suspect, or a regression that is"
        " not accepted, enters no reference. PASS needs limits of at most"
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
    said = {item.series: item for item in judgement.findings if item.verdict in _OUTCOMES}
    for series, key in enumerate(history.series):
        suite, name = f"{key.check}.{key.environment}.{key.case_id}", point_name(key)
        if finding := said.get(series):
            text = group_line(history, names, [finding])
            yield Test(suite, name, _OUTCOMES[finding.verdict], text)
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
    counts, text = Counter(one.verdict for one in judgement.findings), "Findings of series."
    for verdict in get_args(Verdict):
        yield Sample("night_findings", text, counts[verdict], {**whose, "verdict": verdict})
    text = "Series of the newest night that were judged."
    yield Sample("night_series_judged", text, judgement.judged, whose)
    levels = checked.stage_a.reference.median
    for series, key in enumerate(history.series):
        for name, text, number in (
            ("night_median", "Median of the newest night.", history.values[series, -1]),
            ("night_reference", "Median of the nights that it is compared with.", levels[series]),
        ):
            if np.isfinite(number):
                labels = {**whose, **series_labels(key)}
                yield Sample(name, text, float(number), labels, key.unit)


def series_labels(key: SeriesKey) -> dict[str, str]:
    """What tells a series from all others, as labels of a gauge."""
    return {
        "check": key.check,
        "environment": key.environment,
        "case": key.case_id,
        "metric": key.metric,
        "point": pairs_text(sorted(key.at.items())),
    }
