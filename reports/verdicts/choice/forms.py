# SPDX-License-Identifier: Apache-2.0
"""Machine forms of a run's result: verdicts.json and `assay report --json`, each key with its
meaning."""

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from typing import Annotated, Any

from msgspec import UNSET, UnsetType, to_builtins

from records.forms import Form, Part, key
from reports.analysis.cells import Comparison
from reports.analysis.run import STATUSES, Analysis
from reports.analysis.score import Ends, Pair, Standing
from reports.answers import Answer, AnswerPart
from reports.notation import units
from reports.notation.labels import pairs_text
from reports.notation.units import time_of
from reports.result import Sample
from reports.show.rows import name_cell
from reports.show.tables import Cell
from reports.verdicts.choice.answer import Leader, answer_of, leaders, ratios_text


class LaunchesPart(Part):
    """Launches by how they ended, zeros too."""

    ok: Annotated[int, key("Right to the end; only these enter statistics.")]
    failed: Annotated[int, key("Did not run to the end.")]
    wrong: Annotated[int, key("Ran, with a wrong answer or wrong evidence.")]
    lost: Annotated[int, key("A node or the scheduler died.")]
    skipped: Annotated[int, key("Cases that do not fit the site.")]
    wrong_on_purpose: Annotated[int, key("Number of the wrong ones that are so on purpose.")]
    not_run: Annotated[int, key("Planned, and without a record.")]
    replaced: Annotated[int, key("Replaced by a later attempt.")]
    oversubscribed: Annotated[int, key("Ok launches whose busy ranks shared cores.")]


def _pair(names: tuple[str, str]) -> Cell:
    return Cell(" over ".join(names), parts=tuple(map(name_cell, names)))


def _p(value: float) -> str:
    return f"{value:.2g}"


class PairPart(Part):
    """Two ranked environments."""

    environments: Annotated[tuple[str, str], key("The first and the second.", "pair", _pair)]
    ratio: Annotated[
        float,
        key(
            "Cost of the first over that of the second.",
            *("cost of the first", units.signed_percent),
            numeric=True,
        ),
    ]
    interval: Annotated[Ends, key("Its interval, of this pair alone.")]
    level: Annotated[float, key("Level of the interval.")]
    bounds: Annotated[
        Ends | None,
        key(
            "Joint bounds over all questions; null below six blocks.",
            *("bounds that decide", ratios_text),
            numeric=True,
        ),
    ]
    p_family: Annotated[float | None, key("p over all questions.", "p", _p, numeric=True)]
    separated: Annotated[
        bool,
        key("True if the bounds exclude 1.", "verdict", {True: "separated", False: "open"}.get),
    ]


class ExcludedPart(Part):
    """An environment without a place."""

    environment: Annotated[str, key("The environment.")]
    why: Annotated[str, key("Why it has none.")]


class ScorePart(Part):
    """The overall score by the campaign's weights."""

    reference: Annotated[str, key("The environment that costs are over.")]
    n: Annotated[int, key("Blocks that count.")]
    places: Annotated[list[Standing], key("Environments, best first.")]
    pairs: Annotated[list[PairPart], key("Pairs that the places rest on.")]
    excluded: Annotated[list[ExcludedPart], key("Environments without a place.")]


class CellPart(Part, kw_only=True):
    """An environment against another. `advantage` to `cells_in_family` are left out below three
    common blocks, what follows below six."""

    scope: Annotated[str, key("Scope of the comparison.", "scope")]
    label: Annotated[str, key("The curve or point in words.", "cell")]
    metric: Annotated[str, key("The deciding metric.")]
    at: Annotated[dict[str, Any], key("The point; empty for a curve or a whole check.")]
    environment: Annotated[str, key("The environment.", "environment", name_cell)]
    reference: Annotated[
        str, key("The environment that it is compared with.", "against", name_cell)
    ]
    cases: Annotated[tuple[str, str], key("The case of each.")]
    n: Annotated[int, key("Common blocks.", "n", numeric=True)]
    points: Annotated[int, key("Points that went in.")]
    verdict: Annotated[str, key("faster, slower, equivalent, not resolved, no verdict, …")]
    text: Annotated[str, key("The verdict in words.", "verdict")]
    failed: Annotated[tuple[int, int], key("Failed launches of each.")]
    launched: Annotated[tuple[int, int], key("Launches of each.")]
    advantage: Annotated[
        float | UnsetType,
        key(
            "Ratio in the good direction; 1.05: 5 %.",
            *("advantage", units.signed_percent),
            numeric=True,
        ),
    ] = UNSET
    interval: Annotated[Ends | UnsetType, key("Interval of the advantage, by itself.")] = UNSET
    level: Annotated[float | UnsetType, key("Level of the interval.")] = UNSET
    cells_in_family: Annotated[int | UnsetType, key("Questions judged together.")] = UNSET
    bounds: Annotated[
        Ends | UnsetType | None,
        key("Joint bounds over all questions.", "bounds that decide", ratios_text, numeric=True),
    ] = UNSET
    p_family: Annotated[float | UnsetType, key("p over all questions.", "p", _p, numeric=True)] = (
        UNSET
    )
    detectable: Annotated[float | UnsetType | None, key("Least ratio at 80 % power.")] = UNSET


class NotRankedPart(Part):
    """An environment that a check does not rank."""

    check: Annotated[str, key("The check's title.")]
    environment: Annotated[str, key("The environment.")]


class ChoicePart(Part):
    """Environments against each other."""

    reference: Annotated[str, key("The environment that the others are compared with first.")]
    score: Annotated[ScorePart | None, key("The overall score; null below two environments.")]
    leaders: Annotated[list[Leader], key("Who leads each check.")]
    interims: Annotated[list[dict[str, Any]], key("The judgements of a sequential design.")]
    not_ranked: Annotated[list[NotRankedPart], key("Environments with wrong answers.")]
    overall: Annotated[list[CellPart], key("Comparisons over all points of a check.")]
    groups: Annotated[list[CellPart], key("Comparisons over each curve.")]
    points: Annotated[list[CellPart], key("Comparisons at each point.")]


class _OfRun(Form, kw_only=True):
    """Keys that both forms of a run's result have."""

    schema: Annotated[int, key("The version of this form.")] = 2
    run_id: Annotated[str, key("The run's id.")]
    campaign: Annotated[str, key("The campaign.")]
    site: Annotated[str, key("The site.")]
    complete: Annotated[bool, key("True if every planned launch has its record.")]
    launches: Annotated[LaunchesPart, key("Launches by how they ended.")]
    answer: Annotated[AnswerPart, key("The answer.")]


class VerdictsForm(_OfRun, kw_only=True):
    """verdicts.json: the verdicts of a run."""

    warnings: Annotated[list[str], key("Points to beware of.")]
    summary: Annotated[list[str], key("The summary's sentences.")]
    choice: Annotated[ChoicePart, key("Environments against each other.")]


class ReportForm(_OfRun, kw_only=True):
    """`assay report`: the answer of a run, and where its report is."""

    run: Annotated[str, key("The run directory.")]
    reference: Annotated[str, key("The environment that costs are over.")]
    ranking: Annotated[
        list[Standing],
        key("The environments by cost, best first; empty where nothing is ranked."),
    ]
    leaders: Annotated[list[Leader], key("Who leads each check.")]
    files: Annotated[
        dict[str, str],
        key("The files written, by format: html, pdf, md, csv, parquet, junit, json."),
    ]


def _of_run(analysis: Analysis, answer: Answer) -> dict[str, Any]:
    """The keys of both forms."""
    run, counts = analysis.run, analysis.counts
    launches = LaunchesPart(
        **{status: counts[status] for status in STATUSES},
        wrong_on_purpose=analysis.on_purpose,
        not_run=len(analysis.holes),
        replaced=analysis.replaced,
        oversubscribed=analysis.oversubscribed,
    )
    return {
        "run_id": run.run_id,
        "campaign": run.plan.campaign,
        "site": run.plan.site,
        "complete": analysis.complete,
        "launches": launches,
        "answer": answer.part,
    }


def report_form(analysis: Analysis, files: Mapping[str, str]) -> ReportForm:
    """The answer of a run, its ranking, who leads, and the files of its report by format."""
    found = analysis.comparisons
    return ReportForm(
        **_of_run(analysis, answer_of(analysis)),
        run=str(analysis.run.directory),
        reference=found.reference,
        ranking=found.score.standings if found.score else [],
        leaders=leaders(found),
        files=dict(files),
    )


def verdicts_form(
    analysis: Analysis, answer: Answer, warnings: Sequence[str], summary: Sequence[str]
) -> VerdictsForm:
    """verdicts.json of a run."""
    run, found = analysis.run, analysis.comparisons
    title, of = run.plan.register.check_title, found.score
    score: ScorePart | None = None
    if of is not None:
        pairs, excluded = map(pair_part, of.pairs), (ExcludedPart(*names) for names in of.excluded)
        score = ScorePart(of.reference, of.n, of.standings, [*pairs], [*excluded])
    choice = ChoicePart(
        reference=found.reference,
        score=score,
        leaders=leaders(found),
        interims=[to_builtins(interim) for interim in run.interims],
        not_ranked=[NotRankedPart(title(c), name) for c, name in sorted(found.unranked)],
        overall=[_cell(cell) for cell in found.overall],
        groups=[_cell(cell) for cell in found.groups],
        points=[_cell(cell) for cell in found.points],
    )
    return VerdictsForm(
        **_of_run(analysis, answer), warnings=[*warnings], summary=[*summary], choice=choice
    )


def pair_part(pair: Pair) -> PairPart:
    """Pair as a part."""
    return PairPart(
        environments=(pair.first, pair.second),
        ratio=pair.effect.ratio,
        interval=(pair.effect.interval.low, pair.effect.interval.high),
        level=pair.effect.interval.level,
        bounds=pair.judgement.ends if pair.judgement else None,
        p_family=pair.judgement.p if pair.judgement else None,
        separated=pair.separated,
    )


def _cell(cell: Comparison) -> CellPart:
    """Comparison as a part; not by `filled`: there may be 100,000 of them."""
    effect, judgement = cell.effect, cell.judgement
    first, second = cell.failures
    part = CellPart(
        scope=cell.scope,
        label=cell.label,
        metric=cell.metric,
        at=dict(cell.at),
        environment=cell.environment,
        reference=cell.reference,
        cases=cell.case_ids,
        n=cell.n,
        points=cell.points,
        verdict=cell.word,
        text=cell.verdict,
        failed=(first.failed, second.failed),
        launched=(first.launched, second.launched),
    )
    if effect is not None:
        part.advantage, part.interval = effect.ratio, (effect.interval.low, effect.interval.high)
        part.level = effect.interval.level
        part.cells_in_family = cell.family
    if judgement is not None:
        part.bounds, part.p_family = judgement.ends, judgement.p
        part.detectable = judgement.detectable if judgement.detectable < inf else None
    return part


def run_samples(analysis: Analysis) -> Iterator[Sample]:
    """Gauges of a run, of each check those of its deciding metric."""
    run, whose = analysis.run, _whose(analysis.run.plan)
    text = "The run that the other run gauges are of."
    yield Sample("run_info", text, 1, {**whose, "run": run.run_id})
    if begun := run.provenance.started_at:
        began = time_of(begun).timestamp()
        yield Sample("run_started_timestamp", "When the run began.", began, whose, "s")
    text = "1 where every planned launch has its record."
    yield Sample("run_complete", text, float(analysis.complete), whose)
    for status in STATUSES:
        labels = {**whose, "status": status}
        yield Sample("run_launches", "Launches by how they ended.", analysis.counts[status], labels)
    for row in analysis.rows:
        case, metric = analysis.case(row), row.series.metric
        if not analysis.register.decides(case.check, metric):
            continue
        of_row = {"check": case.check, "environment": case.environment, "case": case.id}
        labels = {**whose, **of_row, "metric": metric, "point": pairs_text(row.series.at)}
        summary, unit = row.summary, row.unit
        yield Sample("run_median", "Median over launches.", summary.median, labels, unit)
        yield Sample("run_values", "Launches behind a median.", summary.n, labels)
        if interval := summary.median_interval:
            text = "end of the 95 % interval of the median."
            yield Sample("run_median_low", f"Lower {text}", interval.low, labels, unit)
            yield Sample("run_median_high", f"Upper {text}", interval.high, labels, unit)


def _whose(of: Any) -> dict[str, str]:
    """Site and campaign of a plan, a night, or a night that could not run."""
    return {"site": of.site, "campaign": of.campaign}


def count_samples(site: str, campaign: str, nights: int, missed: int) -> Iterator[Sample]:
    """Gauges of a campaign that may have had no night yet."""
    whose = {"site": site, "campaign": campaign}
    yield Sample("nights", "Nights in the history.", nights, whose)
    yield Sample("nights_missed", "Nights that could not run.", missed, whose)
