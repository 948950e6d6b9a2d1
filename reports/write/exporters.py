# SPDX-License-Identifier: Apache-2.0
"""The report for other programs: JUnit XML and JSON. Values in SI base units."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import msgspec

from records.plain_text import plain
from reports.analysis import NOT_RUN, STATUSES, Analysis
from reports.answer.run import answer_of
from reports.choice.cells import as_json
from reports.choice.leaders import rankings
from reports.write.summary import summary_sentences

#: The version of verdicts.json.
SCHEMA = 2


def render_junit(analysis: Analysis) -> str:
    """One test case for each (case, block): failed and wrong are failures, lost is an error,
    skipped and not yet run are skipped."""
    outcomes = _outcomes(analysis)
    counts: Counter[str] = Counter({"skipped": len(analysis.holes)})
    for status, count in analysis.counts.items():
        counts[_ELEMENT.get(status, "")] += count
    total = (
        f'tests="{len(outcomes)}" failures="{counts["failure"]}" errors="{counts["error"]}"'
        f' skipped="{counts["skipped"]}"'
    )
    name = _attribute(f"{analysis.run.plan.campaign} on {analysis.run.plan.site}")
    head = f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites {total}>\n'
    suite = f"{head}<testsuite name={name} {total}>\n"
    return "".join([suite, *outcomes, "</testsuite>\n</testsuites>\n"])


_ELEMENT = {"failed": "failure", "wrong": "failure", "lost": "error", "skipped": "skipped"}


def _outcomes(analysis: Analysis) -> list[str]:
    """The elements of the launches that count, then of those still without a record."""
    heads = [
        f"<testcase classname={_attribute(f'{case.check}.{case.environment}')}"
        f' name="{_escaped(case.id)} block '
        for case in analysis.run.plan.cases
    ]
    found = []
    for launch in analysis.run.counted():
        head = f"{heads[launch.case]}{launch.block}"
        if launch.status == "ok":
            found.append(f'{head}"/>\n')
            continue
        kind = _ELEMENT[launch.status]
        reason = launch.reason or "no reason recorded"
        marks = f"message={_attribute(f'{launch.status}: {reason}')}"
        if kind != "skipped":
            marks += f' type="{launch.status}"'
        text = _escaped((launch.artifacts or {}).get("stdout", ""))
        found.append(f'{head}"><{kind} {marks}>{text}</{kind}></testcase>\n')
    places = {case.id: place for place, case in enumerate(analysis.run.plan.cases)}
    for hole in analysis.holes:
        reason = f"<skipped message={_attribute(hole.reason or NOT_RUN)}/>"
        found.append(f'{heads[places[hole.case.id]]}{hole.block}">{reason}</testcase>\n')
    return found


def _attribute(text: str) -> str:
    return quoteattr(plain(text))


def _escaped(text: str) -> str:
    return escape(plain(text), {'"': "&quot;"})


def render_json(analysis: Analysis, warnings: Sequence[str]) -> bytes:
    """verdicts.json: counts, warnings, the summary's sentences, every comparison's verdict."""
    run, comparisons = analysis.run, analysis.comparisons
    content: dict[str, Any] = {
        "schema": SCHEMA,
        "run_id": run.run_id,
        "campaign": run.plan.campaign,
        "site": run.plan.site,
        "complete": analysis.complete,
        "launches": {
            **{status: analysis.counts[status] for status in STATUSES},
            "wrong_on_purpose": analysis.on_purpose,
            "not_run": len(analysis.holes),
            "replaced": analysis.replaced,
            "oversubscribed": analysis.oversubscribed,
        },
        "answer": answer_of(analysis).as_json(),
        "warnings": list(warnings),
        "summary": [sentence.text for sentence in summary_sentences(analysis)],
        "choice": {
            "reference": comparisons.reference,
            "score": comparisons.score and comparisons.score.as_json(),
            "leaders": [ranking.as_json() for ranking in rankings(comparisons)],
            "interims": [msgspec.to_builtins(interim) for interim in run.interims],
            "not_ranked": [
                {"check": analysis.register.check_title(check), "environment": name}
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
    return plain(encoded.decode()).encode() + b"\n"
