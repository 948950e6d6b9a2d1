# SPDX-License-Identifier: Apache-2.0
"""A run as a result: its page, text and screen, its keys, a test for each launch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

from records.errors import AssayError
from records.run.run_directory import open_run
from reports.analysis.cells import ComparisonJudgement
from reports.analysis.compare import Comparisons
from reports.analysis.forms import LaunchesPart, VerdictsForm, choice_part
from reports.analysis.leaders import rankings
from reports.analysis.run import NOT_RUN, STATUSES, Analysis
from reports.answers import Answer, State
from reports.checks.sections import CheckPart
from reports.notation.units import (
    count_text,
    fixed,
    level_text,
    moment_text,
    ratios_between,
    signed_percent,
)
from reports.notation.values import between
from reports.result import (
    IN_TEXT,
    ON_PAGE,
    ON_TERMINAL,
    Block,
    Facts,
    Result,
    Section,
    Sentence,
    Test,
    answered,
    carried,
)
from reports.show.headline import headline_table, invalid_picture, invalid_table
from reports.show.panel import Picture
from reports.show.provenance import provenance_rows
from reports.show.raw_links import RawLinks
from reports.show.rows import name_cell
from reports.show.tables import Cell, Column, Table
from reports.statistics.descriptive import Interval
from reports.verdicts.choice import launches as listings
from reports.verdicts.choice.answer import answer_of
from reports.verdicts.choice.pictures import factors_picture, forest, score_picture
from reports.verdicts.choice.sentences import launches_text, of_check, summary
from reports.verdicts.choice.tables import choice_tables, comparison_tables
from reports.verdicts.mix import mix_of

#: Panels of a check's first picture that are in sight; rows of the table of pairs that is.
MOST_SHOWN, MOST_PAIRS = 2, 15
#: Rows of a check's own table that a text has.
MOST_ROWS = 20
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
    " they are beyond 3 %, “equivalent” inside 1/1.03–1.03, “not slower” above 1/1.03. The interval"
    " of a pair alone, by inverting the exact signed-rank test, decides nothing. Lag 1: correlation"
    " of neighbouring blocks, marked where it is above what chance allows."
)
_INVALID = (
    "These launches answer before the message has arrived, so that two crossing messages are timed."
    " They show how much a faulty ping-pong overstates; none of these values enters a statistic or"
    " a comparison."
)
_METHOD = (
    "The unit of replication is one launch; n counts launches. A launch's value is the median of"
    " its samples unless the metric says otherwise.",
    "s: standard deviation, ddof 1. Interval of the mean: mean ± t·s/√n at 95 %; it holds its level"
    " for near normal launches (CV below 25 %, no rare disturbances). Where launches are skewed or"
    " disturbed, read the median: its interval, by interpolated order statistics from n = 5 on"
    " (93.75 % there), holds for any distribution.",
    "The mean of rates over launches is their arithmetic mean everywhere; total work over total"
    " time, which the ranking goes by, is their harmonic mean, less by about CV² of it.",
    "Outliers (|modified z| over 3.5, from n = 7 on) are marked and never removed.",
    "Overall comparisons give each point the same weight, by the mean of its logarithms; placements"
    " are never mixed.",
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
    run, answer, sentences = analysis.run, answer_of(analysis), summary(analysis)
    harness = run.provenance.harness
    commit = f" ({harness.git_commit[:12]})" if harness.git_commit else ""
    counts = ", ".join(
        f"{count} {status}" for status in STATUSES if (count := analysis.counts[status])
    )
    return Result(
        kicker=f"{run.plan.campaign} on {run.plan.site}, run {run.run_id}: {counts or 'no record'}",
        title=run.plan.question or run.plan.campaign,
        data=_data(analysis, answer, warnings, sentences),
        answer=answer,
        warnings=warnings,
        first=Section("first", "", lambda: _first(analysis, sentences)),
        sections=[
            *_sections(analysis, parts, links, further),
            *([] if answer.state is State.FAILED else _on_terminal(analysis)),
        ],
        looks=analysis.looks,
        devices=run.provenance.devices,
        closing=f"Made by Assay {harness.version or ''}{commit} from records of run {run.run_id}.",
        tests=lambda: _tests(analysis),
    )


def _data(
    analysis: Analysis, answer: Answer, warnings: Sequence[str], sentences: Sequence[Sentence]
) -> VerdictsForm:
    """verdicts.json without the comparisons of single points, which end it."""
    run, counts = analysis.run, analysis.counts
    return VerdictsForm(
        run_id=run.run_id,
        campaign=run.plan.campaign,
        site=run.plan.site,
        complete=analysis.complete,
        launches=LaunchesPart(
            **{status: counts[status] for status in STATUSES},
            wrong_on_purpose=analysis.on_purpose,
            not_run=len(analysis.holes),
            replaced=analysis.replaced,
            oversubscribed=analysis.oversubscribed,
        ),
        answer=answer.part,
        warnings=list(warnings),
        summary=[sentence.text for sentence in sentences],
        choice=choice_part(analysis.comparisons, run.interims, analysis.register.check_title),
    )


def run_pictures(analysis: Analysis, parts: Sequence[CheckPart]) -> list[Picture]:
    """All pictures of a run, whole."""
    first, others = (
        [picture for make in made if (picture := make(analysis)) is not None]
        for made in ((score_picture, factors_picture), (forest, invalid_picture))
    )
    found = [*answered(answer_of(analysis), first), *first, *others]
    return [*found, *(picture for part in parts for picture in part.pictures)]


def _first(analysis: Analysis, sentences: Sequence[Sentence]) -> Iterator[Block | None]:
    yield score_picture(analysis)
    yield factors_picture(analysis)
    title = f"The same in {count_text(len(sentences), 'sentence')}"
    yield Section("summary", title, lambda: sentences, folded=True)
    started = moment_text(analysis.run.provenance.started_at, "not recorded")
    pairs = [("started, UTC", started), ("launches", launches_text(analysis))]
    pairs += carried(analysis.run.provenance.devices)
    yield Facts([("run", analysis.run.run_id), *pairs], codes=frozenset({"run"}))


def _sections(
    analysis: Analysis,
    parts: Sequence[CheckPart],
    links: RawLinks,
    further: Sequence[Section],
) -> Iterator[Section]:
    title = "Which environment is best"
    yield Section("choice", title, lambda: _choice(analysis), short="Which is best")
    yield Section("mix", "The mix of jobs", lambda: _mix(analysis))
    yield from further
    for part in parts:
        yield Section(f"check-{part.anchor}", part.title, partial(_check, analysis, part))
    note = (
        f"{launches_text(analysis)}. One launch of each case a block; for statistics the latest"
        " attempt counts, and only ok launches enter."
    )
    yield Section("launches", "Launches", lambda: _launches(analysis, links), note=note)
    for part in parts:
        short = [one for one in part.tables[:1] if len(one.rows) <= MOST_ROWS and not one.omitted]
        of = partial(tuple[Block, ...], short)
        yield Section(f"table-of-{part.anchor}", f"More of {part.title}", of, shown_on=IN_TEXT)
    on_page = partial(Section, shown_on=ON_PAGE)
    yield on_page(
        "comparison", "Environments compared", lambda: _compared(analysis), short="Compared"
    )
    title = "Invalid on purpose: reply before wait"
    yield on_page("invalid", title, lambda: _invalid(analysis, links), short="Invalid on purpose")
    yield on_page(
        "provenance",
        "Provenance and evidence",
        lambda: _provenance(analysis, links),
        short="Provenance, evidence",
    )
    methods = partial(map, Sentence, _METHOD)
    title = "Replication, intervals, outliers, units"
    yield on_page(
        "method",
        "How the numbers came about",
        lambda: [Section("methods", title, methods, folded=True)],
        short="Method",
    )


def _movable(
    anchor: str, title: str, page: str, blocks: Sequence[Block | None], note: str = ""
) -> Section | None:
    """A folded section that may move to another page; None where there is nothing in it."""
    there = [block for block in blocks if block is not None]
    if not there:
        return None
    return Section(
        anchor, title, lambda: there, note=note, folded=True, page=page, shown_on=ON_PAGE
    )


def _choice(analysis: Analysis) -> Iterator[Block | None]:
    """Which environment is best: its place, its score, and how they came about."""
    tables = choice_tables(analysis)
    places = [
        table
        for table in tables
        if table.anchor == "table-score"
        or (table.anchor == "table-score-pairs" and len(table.rows) <= MOST_PAIRS)
    ]
    yield from places
    rest: list[Block | None] = [forest(analysis)]
    rest += [table for table in tables if table not in places]
    yield _movable("choice-more", "How the places came about", "choice", rest)


def _mix(analysis: Analysis) -> Iterator[Block | None]:
    """Makespan, throughput and jobs of the mixes, or why none counts; nothing without mixes."""
    if not analysis.run.plan.mix_blocks:
        return
    try:
        mix = mix_of(open_run(str(analysis.run.directory)))
    except AssayError as error:
        yield Sentence(str(error))
    else:
        yield Facts(mix.facts)
        yield mix.table()


def _check(analysis: Analysis, part: CheckPart) -> Iterator[Block | None]:
    """One screen of a check: what was found, its first picture, a few rows; the rest folded."""
    found = of_check(analysis, part.check)
    yield from found[:1]
    if further := found[1:]:
        title = count_text(len(further), "further comparison")
        yield Section(f"words-{part.anchor}", title, lambda: further, folded=True)
    left: list[Picture] = []
    for picture in part.pictures[:1]:
        shown = replace(picture, panels=picture.panels[:MOST_SHOWN])
        name = f"first-{part.anchor}"
        yield Section(
            name,
            part.title,
            partial(tuple[Block, ...], [shown]),
            page=part.anchor,
            shown_on=ON_PAGE,
        )
        if panels := picture.panels[MOST_SHOWN:]:
            left = [replace(picture, anchor=f"{picture.anchor}-more", panels=panels)]
    yield headline_table(analysis, part.check) or _without_figures(analysis, part.check)
    rest: list[Block] = [*left, *part.pictures[1:], *part.tables]
    yield _movable(
        f"all-{part.anchor}", f"All of {part.title}", part.anchor, rest, note=part.constant
    )


def _without_figures(analysis: Analysis, check: str) -> Sentence:
    """How the launches of a check ended that has no value to show."""
    run, ended = analysis.run, Counter[tuple[str, bool]]()
    for (place, status, _), count in run.tally.items():
        if (case := run.plan.cases[place]).check == check:
            ended[case.environment, status == "ok"] += count
    good = [
        f"{environment} {ended[environment, True]} of"
        f" {ended[environment, True] + ended[environment, False]}"
        for environment in dict.fromkeys(environment for environment, _ in ended)
    ]
    if not any(is_ok for _, is_ok in ended):
        return Sentence("No valid launch yet.")
    return Sentence(f"It measures nothing; launches that are right: {', '.join(good)}.")


def _launches(analysis: Analysis, links: RawLinks) -> Iterator[Block | None]:
    """How the launches ended, and each that is not ok."""
    yield listings.reasons_table(analysis, links)
    if analysis.holes:
        holes = count_text(len(analysis.holes), "planned launch has", "planned launches have")
        yield Sentence(f"{holes} no record yet.", "#table-holes")
    rest = [
        listings.bad_launches_table(analysis, links),
        listings.holes_table(analysis),
        listings.status_table(analysis),
    ]
    title = "Every launch that is not ok, and counts by check"
    yield _movable("launches-more", title, "launches", rest)


def _compared(analysis: Analysis) -> Iterator[Block | None]:
    """The environments against each other, and what so many blocks can resolve."""
    tables = comparison_tables(analysis)
    if not tables:
        yield Sentence("Nothing to compare yet: two environments need three common blocks.")
        return
    yield Sentence(" ".join(filter(None, (_COMPARED, _power(analysis.comparisons)))))
    if unusable := analysis.comparisons.unusable:
        pairs = count_text(unusable, "pair")
        yield Sentence(f"{pairs} of values left out: one of the two is zero, which has no ratio.")
    title = "Every comparison with its interval"
    yield _movable("comparisons", title, "comparisons", tables)


def _power(comparisons: Comparisons) -> str:
    """What the exact test can reach at the n at hand."""
    judged = [cell for cell in comparisons.overall if cell.effect]
    cell = max(judged, key=lambda item: item.n, default=None)
    if cell is None or cell.effect is None or cell.needed_n <= cell.n:
        return ""
    return (
        f"With n = {cell.n} the least p possible is {cell.effect.least_p:.4g} and the widest"
        f" interval has {level_text(cell.effect.interval.level)}: over"
        f" {count_text(cell.family, 'cell')} nothing can be resolved before n = {cell.needed_n},"
        " however large the difference; estimates and intervals still show direction and size."
    )


def _invalid(analysis: Analysis, links: RawLinks) -> Iterator[Block | None]:
    """What a fault injected on purpose pretends."""
    if table := invalid_table(analysis):
        yield from (Sentence(_INVALID), table)
        on_purpose = listings.bad_launches_table(analysis, links, on_purpose=True)
        rest = [invalid_picture(analysis), on_purpose]
        yield _movable("invalid-more", "What that fault pretends", "invalid", rest)


def _provenance(analysis: Analysis, links: RawLinks) -> Iterator[Block | None]:
    """What ran where, by which Assay, and the evidence of it."""
    run, evidence = analysis.run, listings.evidence(analysis, links)
    text = (
        "Software, hardware and settings of the run; each case with all its launches, their raw"
        " output below the run directory and its SHA-256."
    )
    if left := len(run.plan.cases) - len(evidence):
        text += f" The first {len(evidence)} cases; {left} more are in records.jsonl."
    yield Sentence(text)
    facts = [Facts(pairs, name) for name, pairs in provenance_rows(run.provenance)]
    added = run.plan.sequential.extensions if run.plan.sequential else []
    told = [(one.extended_at, f"{one.told()}, by Assay {one.version}") for one in added]
    facts.append(Facts(told, "extensions"))
    yield _movable(
        "provenance-more", "Provenance", "provenance", [one for one in facts if one.pairs]
    )
    yield _movable("evidence-more", "Evidence: every launch", "evidence", evidence)


def _on_terminal(analysis: Analysis) -> Iterator[Section]:
    """The environments by cost, and who leads each check."""
    made = (_ranking_table, _leaders_table)
    for table in (table for make in made if (table := make(analysis)) is not None):
        yield Section(table.anchor, "", partial(tuple[Block, ...], [table]), shown_on=ON_TERMINAL)


def _ranking_table(analysis: Analysis) -> Table | None:
    score = analysis.comparisons.score
    if score is None:
        return None
    found = [(item.judgement, item.interval) for item in score.standings]
    heading, ends = _ends(found, lambda low, high: between(low, high, 2))
    rows = []
    for item, text in zip(score.standings, ends, strict=True):
        rate = item.failures
        failed = f"{rate.failed} of {count_text(rate.launched, 'launch')} failed"
        device = analysis.run.provenance.devices.get(item.environment)
        name = name_cell(item.environment, [device] if device else [])
        last = Cell(failed if rate.failed else "", tone="bad")
        rows.append([Cell(item.place), name, Cell(fixed(item.score, 2)), Cell(text), last])
    columns = _columns("place", "environment", "=cost", f"={heading}", "")
    note = f"cost of the campaign's workload, {analysis.comparisons.reference} = 1"
    return Table("ranking", "", columns, rows, note)


def _leaders_table(analysis: Analysis) -> Table | None:
    leaders = rankings(analysis.comparisons)
    cells = [one.comparison for one in leaders]
    found = [(one.judgement, one.effect.interval if one.effect else None) for one in cells]
    heading, ends = _ends(found, ratios_between)
    figures = Counter(one.scope for one in leaders)
    rows = [
        [
            Cell(
                one.scope
                if figures[one.scope] == 1
                else f"{one.scope}, {analysis.register.metric_title(one.metric)}"
            ),
            name_cell(one.best),
            name_cell(one.runner_up),
            Cell(signed_percent(cell.effect.ratio if cell.effect else 1.0)),
            Cell(text),
            Cell(cell.word, tone="good" if cell.word in ("faster", "slower") else "open"),
        ]
        for one, cell, text in zip(leaders, cells, ends, strict=True)
    ]
    columns = _columns("best in", "", "ahead of", "=by", f"={heading}", "verdict")
    return Table("leaders", "", columns, rows) if rows else None


def _columns(*titles: str) -> list[Column]:
    """Headings, those over numbers led by "="."""
    return [Column(title.removeprefix("="), title.startswith("=")) for title in titles]


def _ends(
    found: Sequence[tuple[ComparisonJudgement | None, Interval | None]],
    show: Callable[[float, float], str],
) -> tuple[str, list[str]]:
    """What is shown with estimates, and that of each: the bounds that decide; of too few blocks for
    any the intervals of each pair alone with their level, of different ones the least."""
    levels = sorted({interval.level for _, interval in found if interval})
    every = [judged.ends if judged else None for judged, _ in found]
    if levels and not any(every):
        heading = f"{'≥ ' if len(levels) > 1 else ''}{level_text(levels[0])} of this pair alone"
        return heading, [
            show(interval.low, interval.high) if interval else "" for _, interval in found
        ]
    return "bounds that decide", [
        show(*ends) if ends else "no bounds" if interval else ""
        for ends, (_, interval) in zip(every, found, strict=True)
    ]


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
