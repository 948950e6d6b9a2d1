# SPDX-License-Identifier: Apache-2.0
"""verdicts.json: every key with its meaning."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict
from math import inf
from typing import Annotated, Any

from msgspec import UNSET, UnsetType, to_builtins

from records.forms import Form, Part, key
from records.run.interims import Interim
from reports.analysis.cells import Comparison
from reports.analysis.compare import Comparisons
from reports.analysis.leaders import Ranking, rankings
from reports.analysis.ranking import Standing
from reports.analysis.score import OverallScore
from reports.answers import AnswerPart
from reports.statistics.descriptive import Interval
from reports.statistics.serial import lag_1_limit

Ends = tuple[float, float]


class LaunchesPart(Part):
    """Launches by how they ended, zeros too."""

    ok: Annotated[int, key("Right to the end; only these enter statistics.")]
    failed: Annotated[int, key("Did not run to the end.")]
    wrong: Annotated[int, key("Ran, with a wrong answer or wrong evidence.")]
    lost: Annotated[int, key("A node or the scheduler died.")]
    skipped: Annotated[int, key("Cases that do not fit the site.")]
    wrong_on_purpose: Annotated[int, key("How many of the wrong ones are so on purpose.")]
    not_run: Annotated[int, key("Planned, and without a record.")]
    replaced: Annotated[int, key("Replaced by a later attempt.")]
    oversubscribed: Annotated[int, key("Ok launches whose busy ranks shared cores.")]


class StandingPart(Part):
    """An environment in the ranking by the campaign's weights."""

    environment: Annotated[str, key("The environment.")]
    place: Annotated[tuple[int, int], key("Best and worst place within the bounds; 1 is first.")]
    cost: Annotated[float, key("What the workload costs, over what it costs in the reference.")]
    bounds: Annotated[Ends | None, key("Joint bounds of that ratio over all questions; or null.")]
    failed: Annotated[int, key("Failed launches.")]
    launched: Annotated[int, key("Launches.")]
    unreliable: Annotated[bool, key("Whether it ranks behind another because it fails more often.")]


class PlacePart(StandingPart):
    """The same with the interval's ends."""

    interval: Annotated[Ends | None, key("Interval of that ratio alone; null for the reference.")]
    level: Annotated[float | None, key("Level of the interval.")]


class PairPart(Part):
    """Two ranked environments."""

    environments: Annotated[tuple[str, str], key("The first and the second.")]
    ratio: Annotated[float, key("Cost of the first over that of the second.")]
    interval: Annotated[Ends, key("Its interval, of this pair alone.")]
    level: Annotated[float, key("Level of the interval.")]
    bounds: Annotated[Ends | None, key("Joint bounds over all questions; null below six blocks.")]
    p_family: Annotated[float | None, key("p over all questions.")]
    lag_1: Annotated[float, key("Correlation of neighbouring blocks.")]
    separated: Annotated[bool, key("Whether the bounds exclude 1.")]
    carried_by: Annotated[dict[str, float], key("Checks that make over half of the difference.")]


class ExcludedPart(Part):
    """An environment without a place."""

    environment: Annotated[str, key("The environment.")]
    why: Annotated[str, key("Why it has none.")]


class ScorePart(Part):
    """The overall score by the campaign's weights."""

    reference: Annotated[str, key("The environment that costs are over.")]
    n: Annotated[int, key("Blocks that count.")]
    places: Annotated[list[PlacePart], key("Environments, best first.")]
    pairs: Annotated[list[PairPart], key("What the places rest on.")]
    excluded: Annotated[list[ExcludedPart], key("Environments without a place.")]
    sensitivity: Annotated[dict[str, Any], key("Which weights would change the order.")]


class AheadPart(Part):
    """Who leads a check, and by how much."""

    scope: Annotated[str, key("The check, and the placement where there are several.")]
    metric: Annotated[str, key("The deciding metric.")]
    best: Annotated[str, key("The environment with the best estimate.")]
    runner_up: Annotated[str, key("The next one.")]
    n: Annotated[int, key("Common blocks.")]
    advantage: Annotated[float, key("Best over runner-up in the good direction; 1.05: 5 %.")]
    bounds: Annotated[Ends | None, key("Joint bounds over all questions; null below six blocks.")]
    verdict: Annotated[str, key("faster, equivalent, not slower, not resolved, …")]


class CheckLeaderPart(AheadPart):
    """The same with the interval's ends, and who was left out."""

    check: Annotated[str, key("The check.")]
    interval: Annotated[Ends, key("Interval of the advantage, by itself.")]
    level: Annotated[float, key("Level of the interval.")]
    unranked: Annotated[list[str], key("Environments left out for wrong answers.")]
    failing: Annotated[list[str], key("Environments that cannot lead: they fail more often.")]


class CellPart(Part, kw_only=True):
    """An environment against another. `advantage` to `lag_1_limit` are left out below three common
    blocks, what follows below six."""

    scope: Annotated[str, key("What was compared.")]
    label: Annotated[str, key("The curve or point in words.")]
    metric: Annotated[str, key("The deciding metric.")]
    at: Annotated[dict[str, Any], key("The point; empty for a curve or a whole check.")]
    environment: Annotated[str, key("The environment.")]
    reference: Annotated[str, key("What it is compared with.")]
    cases: Annotated[tuple[str, str], key("The case of each.")]
    n: Annotated[int, key("Common blocks.")]
    points: Annotated[int, key("Points that went in.")]
    verdict: Annotated[str, key("faster, slower, equivalent, not resolved, no verdict, …")]
    text: Annotated[str, key("The verdict in words.")]
    failed: Annotated[tuple[int, int], key("Failed launches of each.")]
    launched: Annotated[tuple[int, int], key("Launches of each.")]
    advantage: Annotated[float | UnsetType, key("Ratio in the good direction; 1.05: 5 %.")] = UNSET
    interval: Annotated[Ends | UnsetType, key("Interval of the advantage, by itself.")] = UNSET
    level: Annotated[float | UnsetType, key("Level of the interval.")] = UNSET
    p: Annotated[float | UnsetType, key("p of this comparison by itself.")] = UNSET
    p_holm: Annotated[float | UnsetType | None, key("The same by Holm over all cells.")] = UNSET
    cells_in_family: Annotated[int | UnsetType, key("Questions judged together.")] = UNSET
    lag_1: Annotated[float | UnsetType | None, key("Correlation of neighbouring blocks.")] = UNSET
    lag_1_limit: Annotated[float | UnsetType, key("Above this the verdict is too sure.")] = UNSET
    bounds: Annotated[Ends | UnsetType | None, key("Joint bounds over all questions.")] = UNSET
    p_family: Annotated[float | UnsetType, key("p over all questions.")] = UNSET
    detectable: Annotated[float | UnsetType | None, key("Least ratio at 80 % power.")] = UNSET


class NotRankedPart(Part):
    """An environment that a check does not rank."""

    check: Annotated[str, key("The check's title.")]
    environment: Annotated[str, key("The environment.")]


class ChoicePart(Part):
    """Environments against each other."""

    reference: Annotated[str, key("The environment that the others are compared with first.")]
    score: Annotated[ScorePart | None, key("The overall score; null below two environments.")]
    leaders: Annotated[list[CheckLeaderPart], key("Who leads each check.")]
    interims: Annotated[list[dict[str, Any]], key("The judgements of a sequential design.")]
    not_ranked: Annotated[list[NotRankedPart], key("Environments with wrong answers.")]
    overall: Annotated[list[CellPart], key("Comparisons over all points of a check.")]
    groups: Annotated[list[CellPart], key("Comparisons over each curve.")]
    points: Annotated[list[CellPart], key("Comparisons at each point.")]


class VerdictsForm(Form, kw_only=True):
    """verdicts.json: the verdicts of a run."""

    schema: Annotated[int, key("The version of this form.")] = 2
    run_id: Annotated[str, key("The run's id.")]
    campaign: Annotated[str, key("The campaign.")]
    site: Annotated[str, key("The site.")]
    complete: Annotated[bool, key("Whether every planned launch has its record.")]
    launches: Annotated[LaunchesPart, key("Launches by how they ended.")]
    answer: Annotated[AnswerPart, key("The answer.")]
    warnings: Annotated[list[str], key("What to beware of.")]
    summary: Annotated[list[str], key("The summary's sentences.")]
    choice: Annotated[ChoicePart, key("Environments against each other.")]


def choice_part(
    found: Comparisons, interims: Iterable[Interim], check_title: Callable[[str], str]
) -> ChoicePart:
    """The environments against each other, without the comparisons at single points: there may be
    very many, see `cell_part`."""
    leaders = []
    for ranking in rankings(found):
        keys = ahead_keys(ranking) | {"check": ranking.comparison.check}
        leaders.append(CheckLeaderPart.filled(ranking, **keys | _ends(keys["interval"])))
    return ChoicePart(
        reference=found.reference,
        score=None if found.score is None else _score(found.score),
        leaders=leaders,
        interims=[to_builtins(interim) for interim in interims],
        not_ranked=[NotRankedPart(check_title(c), name) for c, name in sorted(found.unranked)],
        overall=[cell_part(cell) for cell in found.overall],
        groups=[cell_part(cell) for cell in found.groups],
        points=[],
    )


def _ends(interval: Interval | None) -> dict[str, Any]:
    """The keys of an interval."""
    ends = interval and (interval.low, interval.high)
    return {"interval": ends, "level": interval and interval.level}


def _score(score: OverallScore) -> ScorePart:
    pairs = [
        PairPart.filled(
            pair,
            environments=(pair.first, pair.second),
            ratio=pair.effect.ratio,
            bounds=pair.judgement and pair.judgement.ends,
            p_family=pair.judgement and pair.judgement.p,
            lag_1=pair.lag,
            carried_by=dict(pair.carried),
            **_ends(pair.effect.interval),
        )
        for pair in score.pairs
    ]
    return ScorePart.filled(
        score,
        places=[
            PlacePart.filled(item, **standing_keys(item) | _ends(item.interval))
            for item in score.standings
        ],
        pairs=pairs,
        excluded=[ExcludedPart(*one) for one in score.excluded],
        sensitivity={"lowest": score.lowest, "turns": [asdict(turn) for turn in score.turns]},
    )


def standing_keys(item: Standing) -> dict[str, Any]:
    """The keys of a StandingPart that are not attributes of the standing."""
    return {
        "place": (item.best, item.worst),
        "cost": item.score,
        "bounds": item.judgement and item.judgement.ends,
        "failed": item.failures.failed,
        "launched": item.failures.launched,
    }


def ahead_keys(ranking: Ranking) -> dict[str, Any]:
    """The keys of an AheadPart that are not attributes of the ranking, and the interval; ratios are
    advantages of the best over the runner-up."""
    cell = ranking.comparison
    assert cell.effect is not None
    return {
        "n": cell.n,
        "advantage": cell.effect.ratio,
        "bounds": cell.judgement and cell.judgement.ends,
        "verdict": cell.word,
        "interval": cell.effect.interval,
    }


def cell_part(cell: Comparison) -> CellPart:
    """One comparison. Made without `filled`: there may be 100,000 of them."""
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
        part.level, part.p, part.p_holm = effect.interval.level, effect.p, cell.p_holm
        part.cells_in_family, part.lag_1 = cell.family, cell.lag
        part.lag_1_limit = lag_1_limit(cell.n)
    if judgement is not None:
        part.bounds, part.p_family = judgement.ends, judgement.p
        part.detectable = judgement.detectable if judgement.detectable < inf else None
    return part
