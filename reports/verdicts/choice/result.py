# SPDX-License-Identifier: Apache-2.0
"""A run as a result: its page, text and screen, its keys, a test for each launch."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

from reports.analysis.run import STATUSES, Analysis
from reports.answers import State
from reports.checks.sections import CheckPart
from reports.load.loading import Run
from reports.notation.units import count_text
from reports.result import ON_PAGE, ON_TERMINAL, Block, Facts, Result, Section, Sentence, Test
from reports.show.lines import counted_footer
from reports.show.panel import Picture
from reports.show.rows import measured_in, provenance_rows
from reports.show.section import headline_table
from reports.show.tables import RawLinks, Table
from reports.statistics.descriptive import LEAST_N
from reports.verdicts.choice import tables
from reports.verdicts.choice.answer import (
    answer_of,
    facts,
    leaders,
    leaders_table,
    remarks,
    site_text,
)
from reports.verdicts.choice.forms import ChoicePart, VerdictsForm, verdicts_form

#: Panels of a check's first picture that are in sight; rows of the table of pairs that is.
MOST_SHOWN, MOST_PAIRS = 2, 15
_OUTCOMES: dict[str, Literal["failure", "error", "skipped"]] = {
    "failed": "failure",
    "wrong": "failure",
    "lost": "error",
    "skipped": "skipped",
}
_COMPARED = (
    "Paired by block. Advantage: exp of the Hodges–Lehmann estimate of ln(A/B), in the good"
    " direction (+5 % = 5 % better). The bounds of all comparisons of this run, and of its scores,"
    " are of the geometric mean of A/B, hold together at 95 % and give the word: “faster” where"
    " they are beyond 3 %, “equivalent” inside 1/1.03–1.03, “not slower” above 1/1.03."
)
_METHOD = (
    "The unit of replication is one launch; n counts launches. A launch's value is the median of"
    " its samples unless the metric says otherwise. Outliers (|modified z| over 3.5) are marked and"
    " never removed.",
    "s: standard deviation, ddof 1. Interval of the mean: mean ± t·s/√n at 95 %, for near normal"
    " launches (CV below 25 %, no rare disturbances); else read the median: its interval, by"
    " interpolated order statistics from n = 5 on, holds for any distribution.",
    "The mean of rates over launches is their arithmetic mean; total work over total time, which"
    " the ranking goes by, is their harmonic mean, less by about CV² of it.",
    "Units: SI in all files. On this page lengths are in KiB and MiB, powers of two; rates in MB/s"
    " of 10⁶ bytes. One-way time: half the time of a message and its reply.",
)


def choice_result(
    analysis: Analysis,
    parts: Sequence[CheckPart],
    links: RawLinks,
    warnings: Sequence[str] = (),
    further: Sequence[Section] = (),
) -> Result[VerdictsForm]:
    """A run as a result. `parts`: what each check shows; `links` lead to raw output, and learn of
    the pages that they need; `further`: sections of plugins, after the choice."""
    run, answer = analysis.run, answer_of(analysis)
    notes = [*remarks(analysis, answer.unknown)]
    harness = run.provenance.harness
    commit = f" ({harness.git_commit[:12]})" if harness.git_commit else ""
    counts = ", ".join(
        f"{count} {status}" for status in STATUSES if (count := analysis.counts[status])
    )
    unknown = [f"Not known: {answer.unknown}."] if answer.unknown else []
    site = site_text(run)
    summary = [answer.sentence, *answer.details, *unknown, *(note.text for note in notes)]
    data = verdicts_form(analysis, answer, warnings, summary)
    first: list[Block] = [*_overview(analysis), *notes, facts(analysis)]
    on_terminal = [_score_table(analysis, run.provenance.devices), _leaders_table(analysis)]
    return Result(
        kicker=f"{run.plan.campaign} on {site}, run {run.run_id}: {counts or 'no record'}",
        title=run.plan.question or run.plan.campaign,
        data=data,
        answer=answer,
        warnings=warnings,
        first=Section("first", "", lambda: first),
        sections=[
            *_sections(analysis, data.choice, parts, links, further),
            *(
                Section(table.anchor, "", partial(tuple[Block, ...], [table]), shown_on=ON_TERMINAL)
                for table in on_terminal
                if table is not None and answer.state is not State.FAILED
            ),
        ],
        looks=analysis.looks,
        devices=run.provenance.devices,
        closing=f"Made by Assay {harness.version or ''}{commit} from records of run {run.run_id}.",
        tests=lambda: _tests(analysis),
    )


def run_pictures(analysis: Analysis, parts: Sequence[CheckPart]) -> list[Picture]:
    """All pictures of a run, whole."""
    return [*_overview(analysis), *(picture for part in parts for picture in part.pictures)]


def _overview(analysis: Analysis) -> list[Picture]:
    """Overall cost, and each environment in each check."""
    found, footer = analysis.comparisons, partial(counted_footer, analysis)
    costs = [tables.score_picture(found.score, analysis.looks, footer)] if found.score else []
    factors = tables.factors_picture(found, [*analysis.looks], footer)
    return [*costs, *([factors] if factors else [])]


def _score_table(analysis: Analysis, devices: Mapping[str, str] = {}) -> Table | None:
    """Places of the environments; `devices` of those whose medium does not show them itself."""
    score = analysis.comparisons.score
    return tables.score_table(score, devices) if score else None


def _leaders_table(analysis: Analysis, check: str = "") -> Table | None:
    """Leaders of all checks, or of one."""
    rows = [row for row in leaders(analysis.comparisons) if check in ("", row.check)]
    anchor = f"leaders-{check}" if check else "leaders"
    return leaders_table(rows, analysis.register.metric_title, anchor)


def _sections(
    analysis: Analysis,
    choice: ChoicePart,
    parts: Sequence[CheckPart],
    links: RawLinks,
    further: Sequence[Section],
) -> Iterator[Section]:
    title = "Which environment is best"
    yield Section("choice", title, lambda: _choice(analysis), short="Which is best")
    yield from further
    for part in parts:
        yield Section(f"check-{part.anchor}", part.title, partial(_check, analysis, part))
    note = (
        f"{analysis.launches_text}. One launch of each case a block; for statistics the latest"
        " attempt counts, and only ok launches enter."
    )
    reasons = partial(tables.reasons_table, analysis, links)
    yield Section("launches", "Launches", lambda: [reasons()], note=note)
    on_page = partial(Section, shown_on=ON_PAGE)
    title = "Environments compared"
    yield on_page("comparison", title, lambda: _compared(analysis, choice), short="Compared")
    title = "Provenance and evidence"
    yield on_page(
        "provenance", title, lambda: _provenance(analysis, links), short="Provenance, evidence"
    )
    title, methods = "Replication, intervals, outliers, units", partial(map, Sentence, _METHOD)
    method = [Section("methods", title, methods, folded=True)]
    yield on_page("method", "How the numbers came about", lambda: method, short="Method")


def _rest(
    anchor: str, title: str, blocks: Sequence[Block | None], note: str = ""
) -> Section | None:
    """Section that is folded on a page; None where there is nothing in it."""
    there = [block for block in blocks if block is not None]
    if not there:
        return None
    return Section(anchor, title, lambda: there, note=note, folded=True, shown_on=ON_PAGE)


def _choice(analysis: Analysis) -> Iterator[Block | None]:
    """Places with costs, who leads each check, and how they came about."""
    found, register = analysis.comparisons, analysis.register
    pairs = tables.pairs_table(found.score.pairs if found.score else ())
    few = pairs is not None and len(pairs.rows) <= MOST_PAIRS
    if found.score:
        yield _score_table(analysis)
        yield Sentence(tables.score_note(found.score, register))
    yield _leaders_table(analysis)
    yield pairs if few else None
    yield _rest("choice-more", "How the places came about", [None if few else pairs])


def _check(analysis: Analysis, part: CheckPart) -> Iterator[Block | None]:
    """Screen of a check: who leads, its first picture, a few rows; the rest folded."""
    yield _leaders_table(analysis, part.check) or _not_compared(analysis, part.check)
    left: list[Picture] = []
    for picture in part.pictures[:1]:
        yield replace(picture, panels=picture.panels[:MOST_SHOWN])
        if panels := picture.panels[MOST_SHOWN:]:
            left = [replace(picture, anchor=f"{picture.anchor}-more", panels=panels)]
    headline = headline_table(analysis, part.check)
    yield headline or _without_figures(analysis.run, part.check)
    further = [table for table in part.tables if not headline or table.rows != headline.rows]
    for table in further[:1]:
        in_text = partial(tuple[Block, ...], [table])
        yield Section(table.anchor, table.title, in_text, shown_on=frozenset({"text"}))
    rest: list[Block] = [*left, *part.pictures[1:], *further]
    title = f"All of {part.title}"
    yield _rest(f"all-{part.anchor}", title, rest, note=part.constant)


def _not_compared(analysis: Analysis, check: str) -> Sentence | None:
    """Reason why no two environments of a check are compared."""
    names = measured_in(analysis, analysis.rows_of(check))
    if len(names) == 1:
        return Sentence(f"Measured in {names[0]} alone.", "#provenance")
    text = f"Environments are compared from {LEAST_N} common blocks on; below is what each showed."
    return Sentence(text, "#comparison", "open") if names else None


def _without_figures(run: Run, check: str) -> Sentence:
    """Launches of a check that has no value to show, by how they ended."""
    right, every = Counter[str](), Counter[str]()
    for (place, status, _), count in run.tally.items():
        if (case := run.plan.cases[place]).check == check:
            every[case.environment] += count
            right[case.environment] += count * (status == "ok")
    if not right.total():
        return Sentence("No valid launch yet.")
    good = ", ".join(f"{name} {right[name]} of {every[name]}" for name in every)
    return Sentence(f"It measures nothing; launches that are right: {good}.")


def _compared(analysis: Analysis, choice: ChoicePart) -> Iterator[Block | None]:
    """The environments against each other."""
    found = analysis.comparisons
    made = tables.comparison_tables(choice, every_pair=found.every_pair)
    if not made:
        yield Sentence("Nothing to compare yet: two environments need three common blocks.")
        return
    yield Sentence(_COMPARED)
    if found.unusable:
        pairs = count_text(found.unusable, "pair")
        yield Sentence(f"{pairs} of values left out: one of the two is zero, which has no ratio.")
    yield _rest("comparisons", "Every comparison with its interval", made)


def _provenance(analysis: Analysis, links: RawLinks) -> Iterator[Block | None]:
    """Machine, software and harness of the run, and the evidence of each launch."""
    run, evidence = analysis.run, tables.evidence(analysis, links)
    text = (
        "Software, hardware and settings of the run; each case with all its launches, their raw"
        " output below the run directory and its SHA-256."
    )
    if left := len(run.plan.cases) - len(evidence):
        text += f" The first {len(evidence)} cases; {left} more are in records.jsonl."
    yield Sentence(text)
    groups = [Facts(pairs, name) for name, pairs in provenance_rows(run.provenance)]
    added = run.plan.sequential.extensions if run.plan.sequential else []
    stages = [(item.extended_at, f"{item.told()}, by Assay {item.version}") for item in added]
    groups = [group for group in (*groups, Facts(stages, "extensions")) if group.pairs]
    yield _rest("provenance-more", "Provenance", groups)
    yield _rest("evidence-more", "Evidence: every launch", evidence)


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
    for hole in analysis.holes:
        suite, name = f"{hole.case.check}.{hole.case.environment}", f"{hole.case.id} block"
        yield Test(suite, f"{name} {hole.block}", "skipped", hole.reason)
