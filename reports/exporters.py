# SPDX-License-Identifier: Apache-2.0
"""The report for other programs: JUnit XML and JSON. Values in SI base units."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import msgspec

from reports.analysis import NOT_RUN, Analysis
from reports.choice.cells import as_json
from reports.labels import check_title
from reports.load import Launch
from reports.render import without_control_characters
from reports.summary import summary_sentences


def render_junit(analysis: Analysis) -> str:
    """One test case for each (case, block): failed and wrong are failures, lost is an error,
    skipped and not yet run are skipped."""
    outcomes = list(_outcomes(analysis))
    counts = {kind: sum(kind == found for _, found in outcomes) for kind in _KINDS}
    total = (
        f'tests="{len(outcomes)}" failures="{counts["failure"]}" errors="{counts["error"]}"'
        f' skipped="{counts["skipped"]}"'
    )
    name = _attribute(f"{analysis.run.plan.campaign} on {analysis.run.plan.site}")
    head = f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites {total}>\n'
    body = "".join(text for text, _ in outcomes)
    return f"{head}<testsuite name={name} {total}>\n{body}</testsuite>\n</testsuites>\n"


_KINDS = ("failure", "error", "skipped")
_ELEMENT = {"failed": "failure", "wrong": "failure", "lost": "error", "skipped": "skipped"}


def _outcomes(analysis: Analysis) -> Iterator[tuple[str, str]]:
    heads = [
        f"<testcase classname={_attribute(f'{case.check}.{case.environment}')}"
        f' name="{_escaped(case.id)} block '
        for case in analysis.run.plan.cases
    ]
    for launch in analysis.run.counted():
        yield _outcome(heads[launch.case], launch)
    places = {case.id: place for place, case in enumerate(analysis.run.plan.cases)}
    for hole in analysis.holes:
        head = heads[places[hole.case.id]]
        reason = f"<skipped message={_attribute(hole.reason or NOT_RUN)}/>"
        yield f'{head}{hole.block}">{reason}</testcase>\n', "skipped"


def _outcome(head: str, launch: Launch) -> tuple[str, str]:
    kind = _ELEMENT.get(launch.status)
    if kind is None:
        return f'{head}{launch.block}"/>\n', "ok"
    reason = launch.reason or "no reason recorded"
    marks = f"message={_attribute(f'{launch.status}: {reason}')}"
    if kind != "skipped":
        marks += f' type="{launch.status}"'
    text = _escaped((launch.artifacts or {}).get("stdout", ""))
    return f'{head}{launch.block}"><{kind} {marks}>{text}</{kind}></testcase>\n', kind


def _attribute(text: str) -> str:
    return quoteattr(without_control_characters(text))


def _escaped(text: str) -> str:
    return escape(without_control_characters(text), {'"': "&quot;"})


def render_json(analysis: Analysis) -> str:
    """verdicts.json: counts, the summary's sentences, every comparison with its verdict."""
    run, comparisons = analysis.run, analysis.comparisons
    content: dict[str, Any] = {
        "schema": 1,
        "run_id": run.run_id,
        "campaign": run.plan.campaign,
        "site": run.plan.site,
        "complete": analysis.complete,
        "launches": {
            **{status: analysis.counts[status] for status in sorted(analysis.counts)},
            "not_run": len(analysis.holes),
            "replaced": analysis.replaced,
            "oversubscribed": analysis.oversubscribed,
        },
        "warnings": list(run.warnings),
        "summary": [sentence.text for sentence in summary_sentences(analysis)],
        "choice": {
            "reference": comparisons.reference,
            "not_ranked": [
                {"check": check_title(check), "environment": name}
                for check, name in sorted(comparisons.unranked)
            ],
            "overall": [as_json(cell) for cell in comparisons.overall],
            "groups": [as_json(cell) for cell in comparisons.groups],
            "points": [as_json(cell) for cell in comparisons.points],
        },
    }
    encoded = msgspec.json.encode(content)
    if len(encoded) < 2_000_000:
        encoded = msgspec.json.format(encoded, indent=2)
    return encoded.decode() + "\n"
