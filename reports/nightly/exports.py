# SPDX-License-Identifier: Apache-2.0
"""A checked night for other programs: JSON and JUnit XML. Values in SI base units."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import Any
from xml.sax.saxutils import quoteattr

from records.errors import ExitStatus
from records.plain_text import plain
from reports.nightly.answer import answer_of_night
from reports.nightly.check import Checked
from reports.nightly.findings import Finding
from reports.nightly.wording import case_names, group_line, nights_more, point_name


def as_json(checked: Checked, status: ExitStatus | None = None) -> str:
    """night.json: verdict, findings, changes of context, what was not judged.

    `status`: what the command ends with; None: with the judgement's.
    """
    night, answer = checked.night, answer_of_night(checked)
    content = {
        "schema": 1,
        "site": night.site,
        "campaign": night.campaign,
        "run_id": night.run_id,
        "started_at": night.started_at,
        "verdict": answer.state.name,
        "exit_status": int(checked.status if status is None else status),
        "answer": answer.as_json(),
        "summary": answer.sentence,
        "nodes": list(night.nodes),
        "other_nodes": list(checked.history.other_nodes.get(night.id, ())),
        "launches": dict(night.statuses),
        "failures": list(night.failures),
        "warnings": list(night.warnings),
        "judged": checked.judgement.judged,
        "compared": checked.judgement.compared,
        "learning": len(checked.judgement.learning),
        "more_nights": checked.more_nights,
        "finds": checked.rules.finds,
        "not_judged": dict(checked.judgement.unjudged),
        "wide_limits": dict(checked.judgement.wide),
        "context_changes": [asdict(item) for item in checked.context],
        "findings": [_finding(checked, item) for item in checked.judgement.findings],
    }
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _finding(checked: Checked, finding: Finding) -> dict[str, Any]:
    history, change = checked.history, finding.change
    key = history.series[finding.series]
    numbers = {
        name: getattr(finding, name)
        for name in ("value", "rerun", "elsewhere", "reference", "worse", "limit")
    }
    return {
        "verdict": finding.verdict,
        "case_id": key.case_id,
        "check": key.check,
        "environment": key.environment,
        "metric": key.metric,
        "unit": key.unit,
        "better": key.better,
        "at": dict(key.at),
        **{
            name: value if value is not None and math.isfinite(value) else None
            for name, value in numbers.items()
        },
        "slow_elsewhere": finding.slow_elsewhere,
        "compared_with": "nodes" if finding.peers else "nights",
        "nights": 0 if finding.peers else finding.n,
        "nodes": finding.n if finding.peers else 0,
        "change": {
            "id": change.id,
            "kind": change.kind,
            "stage": change.stage,
            "since": None
            if change.stage == "early"
            else history.nights[history.position(change.since)].started_at,
            "before": change.before,
            "after": change.after,
            "nights_before": change.n_before,
        }
        if change
        else None,
    }


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
