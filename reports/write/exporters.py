# SPDX-License-Identifier: Apache-2.0
"""The report for other programs: JUnit XML and JSON. Values in SI base units."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from records.forms import as_bytes
from records.text.plain_text import plain
from reports.analysis import NOT_RUN, STATUSES, Analysis
from reports.answer.run import answer_of
from reports.choice.forms import LaunchesPart, VerdictsForm, cell_part, choice_part
from reports.render.junit import junit
from reports.result import Test
from reports.write.summary import summary_sentences

#: Bytes of verdicts.json from which on it is not indented; and what its last list ends with.
_MOST_INDENTED, _END = 2_000_000, b"]}}"
#: Test cases or comparisons in a piece of a file.
_TOGETHER = 2000


def render_junit(analysis: Analysis) -> Iterator[str]:
    """One test case for each (case, block): failed and wrong are failures, lost is an error,
    skipped and not yet run are skipped. In pieces."""
    name = f"{analysis.run.plan.campaign} on {analysis.run.plan.site}"
    return junit(lambda: _tests(analysis), name)


_OUTCOMES: dict[str, Literal["failure", "error", "skipped"]] = {
    "failed": "failure",
    "wrong": "failure",
    "lost": "error",
    "skipped": "skipped",
}


def _tests(analysis: Analysis) -> Iterator[Test]:
    """The launches that count, then those still without a record."""
    suites = [f"{case.check}.{case.environment}" for case in analysis.run.plan.cases]
    ids = [case.id for case in analysis.run.plan.cases]
    launches = analysis.run.launches
    counted, ok = launches.counted, launches.of_status("ok")
    bad = launches.where(counted & ~ok)
    columns = (column[counted].tolist() for column in (launches.case, launches.block, ok))
    for case, block, good in zip(*columns, strict=True):
        name = f"{ids[case]} block {block}"
        if good:
            yield Test(suites[case], name)
            continue
        launch = next(bad)
        outcome, status = _OUTCOMES[launch.status], launch.status
        message = f"{status}: {launch.reason or 'no reason recorded'}"
        kind = "" if outcome == "skipped" else status
        output = (launch.artifacts or {}).get("stdout", "")
        yield Test(suites[case], name, outcome, message, kind, output)
    places = {case: place for place, case in enumerate(ids)}
    for hole in analysis.holes:
        suite, name = suites[places[hole.case.id]], f"{hole.case.id} block {hole.block}"
        yield Test(suite, name, "skipped", hole.reason or NOT_RUN)


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
