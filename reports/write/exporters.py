# SPDX-License-Identifier: Apache-2.0
"""The report for other programs: JUnit XML and JSON. Values in SI base units."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from xml.sax.saxutils import escape, quoteattr

import msgspec

from records.forms import as_bytes
from records.text.plain_text import plain
from reports.analysis import NOT_RUN, STATUSES, Analysis
from reports.answer.run import answer_of
from reports.choice.forms import LaunchesPart, VerdictsForm, cell_part, choice_part
from reports.write.summary import summary_sentences

#: Bytes of verdicts.json from which on it is not indented; and what its last list ends with.
_MOST_INDENTED, _END = 2_000_000, b"]}}"
#: Test cases or comparisons in a piece of a file.
_TOGETHER = 2000


def render_junit(analysis: Analysis) -> Iterator[str]:
    """One test case for each (case, block): failed and wrong are failures, lost is an error,
    skipped and not yet run are skipped. In pieces."""
    counts: Counter[str] = Counter({"skipped": len(analysis.holes)})
    for status, count in analysis.counts.items():
        counts[_ELEMENT.get(status, "")] += count
    total = (
        f'tests="{counts.total()}" failures="{counts["failure"]}" errors="{counts["error"]}"'
        f' skipped="{counts["skipped"]}"'
    )
    name = _attribute(f"{analysis.run.plan.campaign} on {analysis.run.plan.site}")
    head = f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites {total}>\n'
    yield f"{head}<testsuite name={name} {total}>\n"
    outcomes = _outcomes(analysis)
    while piece := "".join(islice(outcomes, _TOGETHER)):
        yield piece
    yield "</testsuite>\n</testsuites>\n"


_ELEMENT = {"failed": "failure", "wrong": "failure", "lost": "error", "skipped": "skipped"}


def _outcomes(analysis: Analysis) -> Iterator[str]:
    """The elements of the launches that count, then of those still without a record."""
    heads = [
        f"<testcase classname={_attribute(f'{case.check}.{case.environment}')}"
        f' name="{_escaped(case.id)} block '
        for case in analysis.run.plan.cases
    ]
    launches = analysis.run.launches
    counted, ok = launches.counted, launches.of_status("ok")
    bad = launches.where(counted & ~ok)
    columns = (column[counted].tolist() for column in (launches.case, launches.block, ok))
    for case, block, good in zip(*columns, strict=True):
        head = f"{heads[case]}{block}"
        if good:
            yield f'{head}"/>\n'
            continue
        launch = next(bad)
        kind = _ELEMENT[launch.status]
        reason = launch.reason or "no reason recorded"
        marks = f"message={_attribute(f'{launch.status}: {reason}')}"
        if kind != "skipped":
            marks += f' type="{launch.status}"'
        text = _escaped((launch.artifacts or {}).get("stdout", ""))
        yield f'{head}"><{kind} {marks}>{text}</{kind}></testcase>\n'
    places = {case.id: place for place, case in enumerate(analysis.run.plan.cases)}
    for hole in analysis.holes:
        reason = f"<skipped message={_attribute(hole.reason or NOT_RUN)}/>"
        yield f'{heads[places[hole.case.id]]}{hole.block}">{reason}</testcase>\n'


def _attribute(text: str) -> str:
    return quoteattr(plain(text))


def _escaped(text: str) -> str:
    return escape(plain(text), {'"': "&quot;"})


def render_json(analysis: Analysis, warnings: Sequence[str]) -> Iterator[str]:
    """verdicts.json in pieces: counts, warnings, the summary's sentences, every comparison's
    verdict. A short one is indented."""
    head = as_bytes(_verdicts(analysis, warnings)).removesuffix(_END)
    points = [as_bytes(cell_part(cell)) for cell in analysis.comparisons.points]
    if len(head) + sum(map(len, points)) + len(points) < _MOST_INDENTED:
        whole = b"".join((head, b",".join(points), _END))
        yield plain(msgspec.json.format(whole, indent=2).decode()) + "\n"
        return
    yield plain(head.decode())
    for start in range(0, len(points), _TOGETHER):
        lead = "," if start else ""
        yield lead + plain(b",".join(points[start : start + _TOGETHER]).decode())
    yield _END.decode() + "\n"


def _verdicts(analysis: Analysis, warnings: Sequence[str]) -> VerdictsForm:
    """verdicts.json without the comparisons of single points, which end it."""
    run = analysis.run
    return VerdictsForm(
        run_id=run.run_id,
        campaign=run.plan.campaign,
        site=run.plan.site,
        complete=analysis.complete,
        launches=LaunchesPart(
            **{status: analysis.counts[status] for status in STATUSES},
            wrong_on_purpose=analysis.on_purpose,
            not_run=len(analysis.holes),
            replaced=analysis.replaced,
            oversubscribed=analysis.oversubscribed,
        ),
        answer=answer_of(analysis).part,
        warnings=list(warnings),
        summary=[sentence.text for sentence in summary_sentences(analysis)],
        choice=choice_part(analysis.comparisons, run.interims, analysis.register.check_title),
    )
