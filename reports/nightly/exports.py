# SPDX-License-Identifier: Apache-2.0
"""A checked night for other programs: JSON and JUnit XML. Values in SI base units."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from xml.sax.saxutils import quoteattr

from records.errors import ExitStatus
from records.forms import as_text
from records.history.model import Change, History, Missed
from records.plain_text import plain
from records.withheld import masked
from reports.nightly.answer import answer_of_night
from reports.nightly.check import Checked
from reports.nightly.findings import Finding
from reports.nightly.forms import (
    ChangePart,
    FoundChangePart,
    GroupPart,
    HistoryForm,
    MissedPart,
    NightForm,
    NightPart,
    SeriesFindingPart,
)
from reports.nightly.wording import case_names, group_line, nights_more, point_name

#: Keys of a finding that are its attributes.
_OF_FINDING = (
    *("verdict", "value", "rerun", "elsewhere", "reference", "worse", "limit"),
    "slow_elsewhere",
)


def night_form(checked: Checked, status: ExitStatus | None = None) -> NightForm:
    """night.json: verdict, findings, changes of context, what was not judged.

    `status`: what the command ends with; None: with the judgement's.
    """
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


def as_json(checked: Checked, status: ExitStatus | None = None) -> str:
    """night.json as text."""
    return as_text(night_form(checked, status))


def _finding(checked: Checked, finding: Finding) -> SeriesFindingPart:
    history, change = checked.history, finding.change
    return SeriesFindingPart.filled(
        history.series[finding.series],
        **{name: getattr(finding, name) for name in _OF_FINDING},
        compared_with="nodes" if finding.peers else "nights",
        nights=0 if finding.peers else finding.n,
        nodes=finding.n if finding.peers else 0,
        change=change
        and FoundChangePart.filled(
            change,
            since=None if change.stage == "early" else _since(history, change),
            nights_before=change.n_before,
        ),
    )


def _since(history: History, change: Change) -> str:
    return history.nights[history.position(change.since)].started_at


def history_form(
    groups: Sequence[tuple[str, str, int]], history: History | None, missed: Sequence[Missed]
) -> HistoryForm:
    """What a history holds: site, campaign and nights of each group, and the nights of one."""
    nights = history.nights if history else []
    found = Counter(change.found for change in history.changes) if history else Counter[int]()
    return HistoryForm(
        groups=[GroupPart(campaign, site, nights) for site, campaign, nights in groups],
        site=nights[-1].site if nights else None,
        campaign=nights[-1].campaign if nights else None,
        nights=[
            NightPart.filled(night, launches=night.statuses, changes_found=found[night.id])
            for night in nights
        ],
        missed=[MissedPart.filled(one, reason=masked(one.reason)) for one in missed],
        changes=[_change(history, change) for change in history.changes] if history else [],
    )


def _change(history: History, change: Change) -> ChangePart:
    key, accepted = history.series[change.series], change.accepted
    state = "open" if change.open else "new reference"
    return ChangePart.filled(
        key,
        **{name: getattr(change, name) for name in ("id", "kind", "stage", "before", "after")},
        since=_since(history, change),
        state="accepted" if accepted else "went back" if change.closed is not None else state,
        author=accepted and accepted.author,
        reason=accepted and accepted.reason,
    )


def as_junit(checked: Checked) -> str:
    """One test case for each series: regressions are failures; suspects, and what is not decided,
    are skipped; launches without a result are errors."""
    night = checked.night
    worst = {
        "regression": "failure",
        "open": "failure",
        "silent": "failure",
        "suspect": "skipped",
    }
    said = {item.series: item for item in checked.judgement.findings if item.verdict in worst}
    names, body, undecided = case_names(checked.history), [], _undecided(checked)
    for series, key in enumerate(checked.history.series):
        head = (
            f"<testcase classname={_attribute(f'{key.check}.{key.environment}.{key.case_id}')}"
            f" name={_attribute(point_name(key))}"
        )
        finding, reason = said.get(series), undecided.get(series)
        if finding is None:
            unjudged = f"><skipped message={_attribute(reason or '')}/></testcase>"
            body.append(f"{head}{unjudged if reason else '/>'}\n")
            continue
        text = _attribute(group_line(checked.history, names, [finding]))
        body.append(f"{head}><{worst[finding.verdict]} message={text}/></testcase>\n")
    body += [
        f'<testcase classname="launches" name={quoted}><error message={quoted}/></testcase>\n'
        for quoted in map(_attribute, night.failures)
    ]
    failures = sum(worst[item.verdict] == "failure" for item in said.values())
    counts = (
        f'tests="{len(body)}" failures="{failures}" errors="{len(night.failures)}"'
        f' skipped="{len(said) - failures + len(undecided.keys() - said.keys())}"'
    )
    name = _attribute(f"{night.campaign} on {night.site}, {night.date}")
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites {counts}>\n'
        f"<testsuite name={name} {counts}>\n{''.join(body)}</testsuite>\n</testsuites>\n"
    )


def _undecided(checked: Checked) -> dict[int, str]:
    """The series of which tonight tells neither good nor bad, and why."""
    judgement = checked.judgement
    return (
        {series: f"limit too wide: {reason}" for series, reason in judgement.wide_reasons.items()}
        | {series: f"learning: {nights_more(more)}" for series, more in judgement.learning.items()}
        | {series: f"not judged: {reason}" for series, reason in judgement.reasons.items()}
    )


def _attribute(text: str) -> str:
    return quoteattr(plain(text))
