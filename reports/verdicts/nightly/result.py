# SPDX-License-Identifier: Apache-2.0
"""A judged night as a result: its keys, its tables and pictures, its tests and gauges."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Literal

import msgspec
import numpy as np

from records.errors import ExitStatus
from reports import result
from reports.answers import State
from reports.load.nights import SETTLED_NIGHTS
from reports.notation.labels import pairs_text
from reports.notation.units import count_text, level_text, percent, time_of
from reports.show.tables import table_of
from reports.verdicts.nightly import wording
from reports.verdicts.nightly.answer import answer_of_night
from reports.verdicts.nightly.check import Checked
from reports.verdicts.nightly.detection import P_ENERGY
from reports.verdicts.nightly.forms import TONES, NightFinding, NightForm, Verdict
from reports.verdicts.nightly.judge import finding_of
from reports.verdicts.nightly.pictures import series_by_nights, trends

#: Rows of a table, and findings that have a line of their own.
MOST_ROWS, _MOST_FOUND = 400, 40
#: What a night can be, each a sample of its own: 1 for the one that it is.
STATES = (State.PASS, State.FAIL, State.SUSPECT, State.LEARNING, State.INCONCLUSIVE)
#: Findings by which a test of a series does not pass.
_OUTCOMES: dict[Verdict, Literal["failure", "skipped"]] = {
    "regression": "failure",
    "open": "failure",
    "silent": "failure",
    "suspect": "skipped",
}


def night_result(checked: Checked, status: ExitStatus | None = None) -> result.Result[NightForm]:
    """A night as a result. `status`: what the command ends with; None: with the judgement's."""
    night, nights = checked.night, count_text(len(checked.history.nights), "night")
    of, changed = partial(partial, checked=checked), "Changed since the night before"
    table = table_of(checked.context, anchor="table-context", title=changed)
    same = result.Sentence("Nothing that is recorded: same software, machine, network and nodes.")
    return result.Result(
        kicker=f"Assay nightly · campaign {night.campaign} · {nights}",
        title=f"{night.campaign} on {night.site}, night of {night.date}",
        data=_form(checked, status),
        answer=answer_of_night(checked),
        facts=result.Facts(
            [
                ("site", night.site),
                ("night", f"{night.date} UTC"),
                ("run", night.run_id),
                ("nodes", " ".join(night.nodes) or "none"),
                ("launches", wording.statuses_text(night.statuses) or "none"),
            ],
            codes=frozenset({"run"}),
        ),
        warnings=night.warnings,
        sections=[
            result.Section("summary", "Tonight", of(_summary), shown_on=result.EVERYWHERE),
            result.Section(
                "map", "All series, night by night", lambda: [series_by_nights(checked)]
            ),
            result.Section("context", changed, lambda: [table or same], shown_on=result.EVERYWHERE),
            result.Section("tonight", "Every series tonight", of(_tonight)),
            result.Section("changes", "All changes", of(_changes)),
            result.Section("trends", "Trends", lambda: [trends(checked, _gravest_first(checked))]),
            result.Section("method", "Method", of(_method)),
        ],
        closing=f"Assay nightly · n = {nights} · {night.run_id}",
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
        findings=judgement.findings,
    )


def _summary(checked: Checked) -> Iterator[result.Block]:
    """Findings, the gravest first; comparisons; what was not judged, and what gave no result."""
    judgement, order = checked.judgement, [*TONES]
    found = sorted(judgement.findings, key=lambda one: (order.index(one.verdict), -one.size))
    for item in found[:_MOST_FOUND]:
        badge = result.Badge(item.verdict, TONES[item.verdict] or "plain")
        yield result.Sentence(wording.finding_text(item), "#tonight", badge=badge)
    compared = ((judgement.judged, "earlier nights"), (judgement.compared, "other nodes"))
    texts = [f"{count_text(n, 'series')} compared with {what}" for n, what in compared if n]
    n = len(judgement.findings)
    said = count_text(n, "finding") if n else "nothing to report"
    yield result.Sentence(f"{', '.join(texts) or 'Nothing to compare with'}: {said}.")
    wider = f"with a limit wider than {level_text(checked.rules.finds)}"
    for what, reasons in (("not judged", judgement.unjudged), (wider, judgement.wide)):
        for reason, n in reasons.most_common():
            yield result.Sentence(f"{count_text(n, 'series')} {what}: {reason}")
    for text in checked.night.failures:
        yield result.Sentence(text, tone="bad", badge=result.Badge("failed", "bad"))


def _gravest_first(checked: Checked) -> list[int]:
    """All series: those with a finding, the gravest first, then in natural order."""
    findings, order = checked.first_findings, [*TONES]

    def weight(series: int) -> tuple[int, float]:
        item = findings.get(series)
        return (order.index(item.verdict), -item.size) if item else (len(order), 0.0)

    return sorted(wording.natural_order(checked.history), key=weight)


def _undecided(checked: Checked) -> dict[int, tuple[Verdict, str]]:
    """The series that can support no PASS, with the reason."""
    judgement = checked.judgement
    why = dict[int, tuple[Verdict, str]]()
    for series, reason in judgement.wide_reasons.items():
        why[series] = "as usual", f"limit too wide: {reason}"
    for series, more in judgement.learning.items():
        why[series] = "learning", wording.nights_more(more)
    for series, reason in judgement.reasons.items():
        why[series] = "not judged", reason
    return why


def _tonight(checked: Checked) -> list[result.Block]:
    """Each series with a value or a finding; findings first."""
    tonight, findings = checked.tonight, checked.first_findings
    undecided = _undecided(checked)
    usual: tuple[Verdict, str] = "as usual", ""
    rows: list[NightFinding] = []
    shown = [s for s in _gravest_first(checked) if s in findings or np.isfinite(tonight.value[s])]
    for series in shown:
        verdict, note = undecided.get(series, usual)
        item = findings.get(series) or finding_of(tonight, series, verdict)
        rows.append(msgspec.structs.replace(item, note=note))
    title = "Every series tonight"
    table = table_of(rows, anchor="table-tonight", title=title, most=MOST_ROWS)
    return [table or result.Sentence("No series has a value tonight.")]


def _changes(checked: Checked) -> list[result.Block]:
    """The newest changes, one a row."""
    parts = wording.change_parts(checked.history)[::-1]
    words = "id since name point size before after kind stage causes state author reason"
    columns = words.split()
    title = "All changes"
    table = table_of(parts, *columns, anchor="table-changes", title=title, most=MOST_ROWS)
    if table is None:
        return [result.Sentence("None was found so far.")]
    command = "assay nightly accept-change NUMBER --author … --reason …"
    return [result.Sentence("Accept an intended change:", code=command), table]


def _method(checked: Checked) -> Iterator[result.Block]:
    rules = checked.rules
    yield result.Sentence(
        f"A night's value is the median of its launches (at least {rules.least_launches}). Tonight"
        f" is suspect when it is worse than the reference (up to {rules.most_nights} nights of the"
        f" same context) by more than {percent(rules.floor, 0)}"
        f" ({percent(rules.floor_small_latency, 0)} for the latency of small messages) and the far"
        " quantile of the site's own nights, or worse than good nodes of its kind by more than"
        f" {level_text(rules.finds)}; it is a regression when fresh launches the same night fail"
        f" again. A change that stays is found by E-divisive means over {rules.window} nights"
        f" (p ≤ {P_ENERGY}, Mann–Whitney p ≤ {rules.p_ranks:.2g}). What is suspect, or a regression"
        " that is not accepted, enters no reference. PASS needs"
        f" {SETTLED_NIGHTS} nights and limits of at most {level_text(rules.finds)}."
    )


def _tests(checked: Checked) -> Iterator[result.Test]:
    """A test of each series: regressions are failures; suspects, and what is not decided, are
    skipped; launches without a result are errors."""
    undecided, failed = _undecided(checked), dict[int, NightFinding]()
    for item in checked.judgement.of(*_OUTCOMES):
        failed.setdefault(item.series, item)
    for series, key in enumerate(checked.history.series):
        suite, name = f"{key.check}.{key.environment}.{key.case_id}", wording.point_name(key)
        if series in failed:
            item = failed[series]
            yield result.Test(suite, name, _OUTCOMES[item.verdict], wording.finding_text(item))
        elif series in undecided:
            yield result.Test(suite, name, "skipped", ": ".join(undecided[series]))
        else:
            yield result.Test(suite, name)
    yield from (result.Test("launches", text, "error", text) for text in checked.night.failures)


def _samples(checked: Checked) -> Iterable[result.Sample]:
    """Gauges of the newest night of a campaign."""
    history, night, judgement = checked.history, checked.night, checked.judgement
    whose = {"site": night.site, "campaign": night.campaign}
    sample, run = result.Sample, {**whose, "run": night.run_id}
    yield sample("night_info", "The run of the newest night.", 1, run)
    begun = time_of(night.started_at).timestamp()
    yield sample("night_started_timestamp", "When the newest night began.", begun, whose, "s")
    text = "1 for the state that the newest night is in."
    for state in STATES:
        value = float(checked.state is state)
        yield sample("night_state", text, value, {**whose, "state": state.name})
    text = "Launches of the newest night by how they ended."
    for status, number in night.statuses.items():
        yield sample("night_launches", text, number, {**whose, "status": status})
    for verdict in TONES:
        number, labels = len(judgement.of(verdict)), {**whose, "verdict": verdict}
        yield sample("night_findings", "Findings of series.", number, labels)
    text = "Series of the newest night that were judged."
    yield sample("night_series_judged", text, judgement.judged, whose)
    levels = checked.tonight.reference.median
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
