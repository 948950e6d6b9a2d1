# SPDX-License-Identifier: Apache-2.0
"""A judged night as a result: its answer, a headline of at most 20 words; its keys, tables and
pictures, its tests and gauges."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from math import log
from typing import Any, Literal

import msgspec
import numpy as np
from matplotlib.axes import Axes

from records.errors import ExitStatus
from records.history.model import History
from records.text.plain_text import grouped
from reports import commands, result
from reports.answers import Answer, State, clipped, listed
from reports.commands import NextCommand
from reports.load.nights import SETTLED_NIGHTS, context_starts
from reports.notation.labels import INK, QUIET, Look, looks, pairs_text
from reports.notation.units import all_text, count_text, level_text, percent, readable_unit, time_of
from reports.show import panel
from reports.show.tables import table_of
from reports.verdicts.nightly import forms
from reports.verdicts.nightly.detection import P_ENERGY, WINDOW
from reports.verdicts.nightly.evidence import FLOOR, FLOOR_SMALL_LATENCY, MOST_NIGHTS
from reports.verdicts.nightly.judge import NightJudgement, finding_of

#: Changes that one command accepts.
_MOST_ACCEPTED = 6
#: Words of a series' name in the headline.
_MOST_NAME = 5


def answer_of_night(judged: NightJudgement) -> Answer:
    """Answer of a night. Of imported launches no command runs any again."""
    return Answer(
        judged.state,
        headline(judged),
        _unknown(judged),
        _next(judged),
        _details(judged),
    )


def headline(judged: NightJudgement) -> str:
    """The gravest finding and how many more there are; without any how far the night can be
    trusted, and the series nearest to its limit."""
    if changed := _changed(judged):
        worst, change = changed[0]
        amount = forms.compared(worst, change.before, change.after)
        if worst.of_peers:
            amount += f" than {count_text(change.n_before, 'other node')}"
        day = forms.day_of(judged.history, change)
        return f"{_name(worst)}: {amount} since {day}{_more(changed)}."
    if judged.bad_launches:
        launches = count_text(_launches(judged), "launch")
        return f"{judged.bad_launches} of {launches} ended without a result tonight."
    if silent := judged.of("silent"):
        no_value = "no value" if silent[0].value is None else "zero"
        return (
            f"{count_text(len(silent), 'series')} silent tonight: {_name(silent[0])}: {no_value}."
        )
    if suspects := judged.of("suspect"):
        worst = max(suspects, key=lambda item: item.size)
        amount = forms.compared(worst, worst.reference or 0, worst.value or 0)
        usual = f"than {'' if worst.of_peers else 'in '}{forms.n_text(worst)}"
        limit = f"(limit {percent(worst.limit)})"
        return f"{_name(worst)}: {amount} tonight {usual} {limit}{_more(suspects)}."
    if judged.state is State.LEARNING:
        nodes = ", no node stands out" if judged.compared else ""
        right = f"{all_text(_launches(judged), 'launch')} right{nodes}"
        more = forms.nights_more(judged.more_nights)
        return f"Night {judged.tonight.position + 1}: {right}; for PASS {more}."
    return _as_usual(judged)


def _as_usual(judged: NightJudgement) -> str:
    tonight = judged.tonight
    if not (count := judged.judged):
        return f"No series could be judged tonight ({len(judged.history.series)} known)."
    if wide := len(judged.wide_reasons):
        vary = "varies" if wide == 1 else "vary"
        finds = level_text(judged.rules.finds)
        return (
            f"{wide} of {count_text(count, 'series')} {vary} too much to show a change of {finds}."
        )
    shares = {
        series: tonight.worse[series] / tonight.limit[series]
        for series in range(len(judged.history.series))
        if series not in judged.reasons and tonight.limit[series] > 0
    }
    nearest = finding_of(tonight, max(shares, key=lambda series: shares[series]), "as usual")
    by, limit = nearest.worse or 0.0, percent(nearest.limit)
    same = percent(abs(by)) == percent(0)
    told = "as before" if same else f"{percent(abs(by))} {'slower' if by > 0 else 'faster'}"
    within = f"As usual: {count_text(count, 'series')} within limits"
    return f"{within}; nearest: {_name(nearest)}, {told} (limit {limit})."


def _changed(judged: NightJudgement) -> list[tuple[forms.NightFinding, forms.ChangePart]]:
    """Regressions with their changes, the gravest first: new ones before open ones, of the night in
    which most began, by size."""
    found = judged.of("regression", "open")
    changed = [(item, item.change) for item in found if item.change]
    begun = Counter(change.since for _, change in changed)

    def gravity(pair: tuple[forms.NightFinding, forms.ChangePart]) -> tuple[bool, int, float]:
        finding, change = pair
        size = abs(log(change.after / change.before)) if change.after * change.before > 0 else 0.0
        return finding.verdict == "regression", begun[change.since], size

    return sorted(changed, key=gravity, reverse=True)


def _name(series: forms.SeriesPart) -> str:
    """ "openmpi, Send/Recv, 256 KiB"; without a point the check."""
    point = forms.at_text(series) or series.name.split(" in ")[0]
    return clipped(f"{series.environment}, {point}", _MOST_NAME)


def _more(findings: Sequence[object]) -> str:
    """The findings that a headline does not name."""
    return f"; {len(findings) - 1} more series" if len(findings) > 1 else ""


def _launches(judged: NightJudgement) -> int:
    """Launches of the night; skipped cases do not count."""
    return sum(n for word, n in judged.night.statuses.items() if word != "skipped")


def _details(judged: NightJudgement) -> tuple[str, ...]:
    if changed := _changed(judged):
        causes = changed[0][1].causes
        why = f"Changed that night: {listed(causes, 3)}." if causes else ""
        accept = "Accept only intended changes; once fixed, it closes after four nights."
        return tuple(filter(None, (why, accept)))
    failures = [("failed", text.split(": ", 2)[-1]) for text in judged.night.failures]
    return tuple(group.reason for group in grouped(failures))


def _next(judged: NightJudgement) -> NextCommand:
    night = judged.night
    whose = judged.began, night.campaign, night.site, judged.history_file
    if changed := _changed(judged):
        ids = dict.fromkeys(change.id for _, change in changed if change.id)
        return commands.accept_changes([*ids][:_MOST_ACCEPTED], judged.history_file)
    if night.imported:
        return commands.NOTHING
    if judged.bad_launches or judged.of("silent"):
        return commands.night_status(night.run_path or night.run_id)
    if judged.of("suspect"):
        return commands.rerun_suspects(*whose)
    return commands.night_again(*whose) if judged.state is State.LEARNING else commands.NOTHING


def _unknown(judged: NightJudgement) -> str:
    """Why something is slow, and for how long; series that were not judged; limits that are too
    wide to be of use."""
    told = list[str]()
    finds = level_text(judged.rules.finds)
    if changed := _changed(judged):
        told += [] if changed[0][1].causes else ["why: nothing that is recorded changed that night"]
    elif judged.of("suspect") and not judged.of("silent") and not judged.bad_launches:
        told.append("whether it stays: fresh launches tonight tell")
    elif judged.state is State.LEARNING:
        young = count_text(len(judged.learning), "series needs", "series need")
        told.append(
            f"whether anything is slower than before by {finds}: {young} more nights before a limit"
            " of this size holds"
        )
    if judged.unjudged:
        reasons = [text for text, _ in judged.unjudged.most_common()]
        many = count_text(len(judged.reasons), "series")
        told.append(f"{many} not judged: {listed(reasons, 2)}")
    if judged.wide:
        reason = judged.wide.most_common(1)[0][0]
        wide = judged.tonight.limit[[*judged.wide_reasons]]
        limits = count_text(len(wide), "limit is", "limits are")
        most = percent(float(wide.max()), 0)
        told.append(f"{limits} wider than {finds} (up to {most}): {reason}")
    return "; ".join(told)


#: Rows of a table, and findings that have a line of their own.
MOST_ROWS, _MOST_FOUND = 400, 40
#: What a night can be, each a sample of its own: 1 for the one that it is.
STATES = (State.PASS, State.FAIL, State.SUSPECT, State.LEARNING, State.INCONCLUSIVE)
#: Findings by which a test of a series does not pass.
_OUTCOMES: dict[forms.Verdict, Literal["failure", "skipped"]] = {
    "regression": "failure",
    "open": "failure",
    "silent": "failure",
    "suspect": "skipped",
}


def night_result(
    judged: NightJudgement, status: ExitStatus | None = None
) -> result.Result[forms.NightForm]:
    """A night as a result. `status`: what the command ends with; None: with the judgement's."""
    night, nights = judged.night, count_text(len(judged.history.nights), "night")
    of, changed = partial(partial, judged=judged), "Changed since the night before"
    table = table_of(judged.context, anchor="table-context", title=changed)
    same = result.Sentence("Nothing that is recorded: same software, machine, network and nodes.")
    return result.Result(
        kicker=f"Assay nightly · campaign {night.campaign} · {nights}",
        title=f"{night.campaign} on {night.site}, night of {night.date}",
        data=_form(judged, status),
        answer=answer_of_night(judged),
        facts=result.Facts(
            [
                ("site", night.site),
                ("night", f"{night.date} UTC"),
                ("run", night.run_id),
                ("nodes", " ".join(night.nodes) or "none"),
                ("launches", forms.statuses_text(night.statuses) or "none"),
            ],
            codes=frozenset({"run"}),
        ),
        warnings=night.warnings,
        sections=[
            result.Section("summary", "Tonight", of(_summary), shown_on=result.EVERYWHERE),
            result.Section("map", "All series, night by night", lambda: [series_by_nights(judged)]),
            result.Section("context", changed, lambda: [table or same], shown_on=result.EVERYWHERE),
            result.Section("tonight", "Every series tonight", of(_tonight)),
            result.Section("changes", "All changes", of(_changes)),
            result.Section("trends", "Trends", lambda: [trends(judged, _gravest_first(judged))]),
            result.Section("method", "Method", of(_method)),
        ],
        closing=f"Assay nightly · n = {nights} · {night.run_id}",
        tests=partial(_tests, judged),
        samples=partial(_samples, judged),
    )


def _form(judged: NightJudgement, status: ExitStatus | None) -> forms.NightForm:
    answer = answer_of_night(judged)
    return forms.NightForm.filled(
        judged.night,
        verdict=answer.state.name,
        exit_status=int(judged.status if status is None else status),
        answer=answer.part,
        summary=answer.sentence,
        other_nodes=judged.history.other_nodes.get(judged.night.id, ()),
        launches=judged.night.statuses,
        judged=judged.judged,
        compared=judged.compared,
        learning=len(judged.learning),
        more_nights=judged.more_nights,
        finds=judged.rules.finds,
        not_judged=judged.unjudged,
        wide_limits=judged.wide,
        context_changes=judged.context,
        findings=judged.findings,
    )


def _summary(judged: NightJudgement) -> Iterator[result.Block]:
    """Findings, the gravest first; comparisons; what was not judged, and what gave no result."""
    order = [*forms.TONES]
    found = sorted(judged.findings, key=lambda one: (order.index(one.verdict), -one.size))
    for item in found[:_MOST_FOUND]:
        badge = result.Badge(item.verdict, forms.TONES[item.verdict] or "plain")
        yield result.Sentence(forms.finding_text(item), "#tonight", badge=badge)
    compared = ((judged.judged, "earlier nights"), (judged.compared, "other nodes"))
    texts = [f"{count_text(n, 'series')} compared with {what}" for n, what in compared if n]
    n = len(judged.findings)
    said = count_text(n, "finding") if n else "nothing to report"
    yield result.Sentence(f"{', '.join(texts) or 'Nothing to compare with'}: {said}.")
    wider = f"with a limit wider than {level_text(judged.rules.finds)}"
    for what, reasons in (("not judged", judged.unjudged), (wider, judged.wide)):
        for reason, n in reasons.most_common():
            yield result.Sentence(f"{count_text(n, 'series')} {what}: {reason}")
    for text in judged.night.failures:
        yield result.Sentence(text, tone="bad", badge=result.Badge("failed", "bad"))


def _gravest_first(judged: NightJudgement) -> list[int]:
    """All series: those with a finding, the gravest first, then in natural order."""
    findings, order = judged.first_findings, [*forms.TONES]

    def weight(series: int) -> tuple[int, float]:
        item = findings.get(series)
        return (order.index(item.verdict), -item.size) if item else (len(order), 0.0)

    return sorted(forms.natural_order(judged.history), key=weight)


def _undecided(judged: NightJudgement) -> dict[int, tuple[forms.Verdict, str]]:
    """The series that can support no PASS, with the reason."""
    why = dict[int, tuple[forms.Verdict, str]]()
    for series, reason in judged.wide_reasons.items():
        why[series] = "as usual", f"limit too wide: {reason}"
    for series, more in judged.learning.items():
        why[series] = "learning", forms.nights_more(more)
    for series, reason in judged.reasons.items():
        why[series] = "not judged", reason
    return why


def _tonight(judged: NightJudgement) -> list[result.Block]:
    """Each series with a value or a finding; findings first."""
    tonight, findings = judged.tonight, judged.first_findings
    undecided = _undecided(judged)
    usual: tuple[forms.Verdict, str] = "as usual", ""
    rows: list[forms.NightFinding] = []
    shown = [s for s in _gravest_first(judged) if s in findings or np.isfinite(tonight.value[s])]
    for series in shown:
        verdict, note = undecided.get(series, usual)
        item = findings.get(series) or finding_of(tonight, series, verdict)
        rows.append(msgspec.structs.replace(item, note=note))
    title = "Every series tonight"
    table = table_of(rows, anchor="table-tonight", title=title, most=MOST_ROWS)
    return [table or result.Sentence("No series has a value tonight.")]


def _changes(judged: NightJudgement) -> list[result.Block]:
    """The newest changes, one a row."""
    parts = forms.change_parts(judged.history)[::-1]
    words = "id since name point size before after kind stage causes state author reason"
    columns = words.split()
    title = "All changes"
    table = table_of(parts, *columns, anchor="table-changes", title=title, most=MOST_ROWS)
    if table is None:
        return [result.Sentence("None was found so far.")]
    command = "assay nightly accept-change NUMBER --author … --reason …"
    return [result.Sentence("Accept an intended change:", code=command), table]


def _method(judged: NightJudgement) -> Iterator[result.Block]:
    rules = judged.rules
    yield result.Sentence(
        f"A night's value is the median of its launches (at least {rules.least_launches}). Tonight"
        f" is suspect when it is worse than the reference (up to {MOST_NIGHTS} nights of the"
        f" same context) by more than {percent(FLOOR, 0)}"
        f" ({percent(FLOOR_SMALL_LATENCY, 0)} for the latency of small messages) and the far"
        " quantile of the site's own nights, or worse than good nodes of its kind by more than"
        f" {level_text(rules.finds)}; it is a regression when fresh launches the same night fail"
        f" again. A change that stays is found by E-divisive means over {WINDOW} nights"
        f" (p ≤ {P_ENERGY}, Mann–Whitney p ≤ {rules.p_ranks:.2g}). What is suspect, or a regression"
        " that is not accepted, enters no reference. PASS needs"
        f" {SETTLED_NIGHTS} nights and limits of at most {level_text(rules.finds)}."
    )


def _tests(judged: NightJudgement) -> Iterator[result.Test]:
    """A test of each series: regressions are failures; suspects, and what is not decided, are
    skipped; launches without a result are errors."""
    undecided, failed = _undecided(judged), dict[int, forms.NightFinding]()
    for item in judged.of(*_OUTCOMES):
        failed.setdefault(item.series, item)
    for series, key in enumerate(judged.history.series):
        suite, name = f"{key.check}.{key.environment}.{key.case_id}", forms.point_name(key)
        if series in failed:
            item = failed[series]
            yield result.Test(suite, name, _OUTCOMES[item.verdict], forms.finding_text(item))
        elif series in undecided:
            yield result.Test(suite, name, "skipped", ": ".join(undecided[series]))
        else:
            yield result.Test(suite, name)
    yield from (result.Test("launches", text, "error", text) for text in judged.night.failures)


def _samples(judged: NightJudgement) -> Iterable[result.Sample]:
    """Gauges of the newest night of a campaign."""
    history, night = judged.history, judged.night
    whose = {"site": night.site, "campaign": night.campaign}
    sample, run = result.Sample, {**whose, "run": night.run_id}
    yield sample("night_info", "The run of the newest night.", 1, run)
    begun = time_of(night.started_at).timestamp()
    yield sample("night_started_timestamp", "When the newest night began.", begun, whose, "s")
    text = "1 for the state that the newest night is in."
    for state in STATES:
        value = float(judged.state is state)
        yield sample("night_state", text, value, {**whose, "state": state.name})
    text = "Launches of the newest night by how they ended."
    for status, number in night.statuses.items():
        yield sample("night_launches", text, number, {**whose, "status": status})
    for verdict in forms.TONES:
        number, labels = len(judged.of(verdict)), {**whose, "verdict": verdict}
        yield sample("night_findings", "Findings of series.", number, labels)
    text = "Series of the newest night that were judged."
    yield sample("night_series_judged", text, judged.judged, whose)
    levels = judged.tonight.reference.median
    for series, key in enumerate(history.series):
        labels = {
            **whose,
            "check": key.check,
            "environment": key.environment,
            "case": key.case_id,
            "metric": key.metric,
            "point": pairs_text(sorted(key.at.items())),
        }
        for name, text, value in (
            ("night_median", "Median of the newest night.", history.values[series, -1]),
            ("night_reference", "Median of the nights that it is compared with.", levels[series]),
        ):
            if np.isfinite(value):
                yield sample(name, text, float(value), labels, key.unit)


#: Nights and series of one map; of more series those with a finding, then the first.
_MAP_NIGHTS, _MAP_SERIES = 60, 40
_SCALE = panel.Scale(
    "against the reference",
    0.12,
    -0.04,
    {0.12: "≥ 12 % worse", 0.06: "6 % worse", 0.0: "0", -0.04: "better"},
)
#: Trends that are drawn, and their nights.
_MOST_TRENDS, _TREND_NIGHTS = 24, 180
_HEIGHT_IN = 2.15
_BAD, _GOOD = "#A6341B", "#0b5a3c"
#: What is shown round a reference, in units of what is allowed.
_ROUND = 1.15


def series_by_nights(judged: NightJudgement) -> panel.Picture | None:
    """Each series' nights against its reference (the level of tonight's judged); series with a
    finding tonight are outlined there, a change is outlined in its first night."""
    history, tonight, night = judged.history, judged.tonight.position, judged.night
    reference = judged.tonight.reference.median
    found = {item.series for item in judged.of("regression", "open", "suspect")}
    first = max(0, tonight + 1 - _MAP_NIGHTS)
    known = [series for series in forms.natural_order(history) if reference[series] > 0]
    if tonight - first < 1 or not known:
        return None
    kept = set(sorted(known, key=lambda series: series not in found)[:_MAP_SERIES])
    rows = [series for series in known if series in kept]
    share = history.values[rows, first : tonight + 1] / reference[rows, np.newaxis] - 1
    worse = judged.tonight.nights.direction[rows, np.newaxis] * share
    place = {series: row for row, series in enumerate(rows)}
    culprits = {(place[series], tonight - first) for series in found if series in place}
    for change in history.changes:
        since = history.position(change.since)
        if change.series in place and first <= since <= tonight and change.kind == "regression":
            culprits.add((place[change.series], since - first))
    names = _names(history, rows)
    red = [names[place[series]] for series in found if series in place]
    days = [night.date[5:10] for night in history.nights[first : tonight + 1]]
    map_of_nights = panel.heat_panel(
        "Every series, night by night",
        f"{night.campaign} on {night.site}, night of {night.date} · run {night.run_id}",
        panel.Heat(names, days, worse, _SCALE, culprits=culprits, named=red),
        f"{len(rows)} series over {count_text(len(days), 'night')}; found tonight:"
        f" {', '.join(red) or 'nothing'}.",
        f"{count_text(len(rows), 'series')} of {len(history.series)};"
        " outlined: found tonight, or the first night of a change",
    )
    return panel.Picture(
        "wide-series-by-nights",
        f"{night.campaign} on {night.site}, night by night",
        "Each night against the reference of tonight; brighter is better.",
        [replace(map_of_nights, wide=True)],
        [],
    )


def _names(history: History, rows: Sequence[int]) -> list[str]:
    """Environment, metric and what tells the series from others of both."""
    labels, keys = forms.case_labels(history), [history.series[series] for series in rows]
    parts = ((key.environment, key.title, labels[key.case_id], forms.at_text(key)) for key in keys)
    return [", ".join(filter(None, part)) for part in parts]


def trends(judged: NightJudgement, order: Sequence[int]) -> panel.Picture:
    """The first series of this order over the nights, a panel each."""
    drawn = order[:_MOST_TRENDS]
    caption = (
        "Point: the median of a night's launches, the last night's larger. Grey: the reference and"
        " what it allows. Dashed: software or machine changed. Red or green: a change that was"
        " found. Cross: run again the same night."
    )
    if len(drawn) < len(order):
        caption += f" {len(drawn)} of {count_text(len(order), 'series')}; the history has all."
    return panel.Picture("trends", "Trends", caption, [trend(judged, one) for one in drawn], [])


def trend(judged: NightJudgement, series: int) -> panel.Panel:
    """The last nights of one series against its level and limit: its title says what tells it from
    the others of its case, its footer what is drawn."""
    history, tonight = judged.history, judged.tonight
    key, row = history.series[series], history.values[series]
    last = len(history.nights) - 1
    first = max(0, last + 1 - _TREND_NIGHTS)
    unit = readable_unit(key.unit, row[first:][np.isfinite(row[first:])].tolist())
    drawn = _value_marks(history, series, first, unit.factor)
    heights = [y for mark in drawn for y in mark.y if np.isfinite(y)]
    level, limit = (float(column[series]) for column in (tonight.reference.median, tonight.limit))
    middle = level / unit.factor if np.isfinite(limit) else float(np.median(heights or [0.0]))
    marks: list[panel.Mark] = []
    if np.isfinite(limit):
        ends: Any = {"ymin": middle * (1 - limit), "ymax": middle * (1 + limit)}
        marks.append(partial(Axes.axhspan, color=QUIET, alpha=0.14, linewidth=0, **ends))
        marks.append(partial(Axes.axhline, y=middle, color=QUIET, linewidth=0.9))
    starts = context_starts(history.nights, key.environment)[first:]
    for place in np.unique(starts[starts > first]).tolist():
        dashed: Any = {"color": QUIET, "linewidth": 0.9, "linestyle": (0, (4, 3))}
        marks.append(partial(Axes.axvline, x=place - 0.5, **dashed))
    for change in history.changes:
        since = history.position(change.since)
        if change.series == series and since >= first:
            colour = _BAD if change.kind == "regression" else _GOOD
            marks.append(partial(Axes.axvline, x=since - 0.25, color=colour, linewidth=1.3))
    # At least the floor of detection is shown, so that noise below it does not look like news.
    allowed = _ROUND * max(float(np.nan_to_num(limit)), float(tonight.floors[series]))
    known = count_text(int(np.isfinite(row).sum()), "night")
    return panel.Panel(
        f"{key.environment}, {forms.at_text(key) or key.title}",
        [*marks, *drawn],
        f"{key.environment}, {forms.point_name(key)} over {known}",
        panel.Axis(ticks=_days(history, first, last), margin=0.03),
        panel.Axis(
            unit.label,
            low=max(0.0, min([*heights, middle * (1 - allowed)])),
            high=max([*heights, middle * (1 + allowed)]),
        ),
        footer=f"{key.title}, {'less' if key.better == 'lower' else 'more'} is better; {known}",
        height_in=_HEIGHT_IN,
    )


def _value_marks(history: History, series: int, first: int, factor: float) -> list[panel.Series]:
    """Line with gaps where nothing was measured; a marker a night, tonight's larger; re-runs."""
    environment = history.series[series].environment
    look, last = looks([environment])[environment], len(history.nights) - 1
    places = list(range(first, last + 1))
    values, again = (
        (rows[series, first:] / factor).tolist() for rows in (history.values, history.reruns)
    )
    return [
        panel.Series(places, values, Look(look.colour, "", ()), width=1.1),
        panel.Series(places, values, look, width=0, size=2.8 if len(places) > 40 else 4.4),
        panel.Series([last], values[-1:], look, width=0, size=7.0),
        panel.Series(places, again, Look(INK, "x", ()), width=0, size=5.5),
    ]


def _days(history: History, first: int, last: int) -> dict[float, str]:
    """Three nights below the axis."""
    return {float(at): history.nights[at].date[5:10] for at in (first, (first + last) // 2, last)}
