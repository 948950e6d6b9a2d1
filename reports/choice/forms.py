# SPDX-License-Identifier: Apache-2.0
"""verdicts.json: every key with its meaning."""

from __future__ import annotations

from typing import Annotated, Any

from records.forms import Form, Part, key
from reports.answers import AnswerPart

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


class PlacePart(Part):
    """An environment in the ranking."""

    environment: Annotated[str, key("The environment.")]
    place: Annotated[
        tuple[int, int], key("Best and worst place that the bounds allow; 1 is first.")
    ]
    cost: Annotated[float, key("What the workload costs, over what it costs in the reference.")]
    bounds: Annotated[
        Ends | None,
        key(
            "Bounds of that ratio that hold together for all questions; null where there are none."
        ),
    ]
    interval: Annotated[
        Ends | None,
        key("Interval of that ratio by itself, which decides nothing; null for the reference."),
    ]
    level: Annotated[float | None, key("Level of the interval.")]
    failed: Annotated[int, key("Failed launches.")]
    launched: Annotated[int, key("Launches.")]
    unreliable: Annotated[bool, key("Whether it ranks behind another because it fails more often.")]


class PairPart(Part):
    """Two ranked environments."""

    environments: Annotated[tuple[str, str], key("The first and the second.")]
    ratio: Annotated[float, key("Cost of the first over that of the second.")]
    interval: Annotated[Ends, key("Its interval, of this pair alone.")]
    level: Annotated[float, key("Level of the interval.")]
    bounds: Annotated[
        Ends | None,
        key("Bounds that hold together for all questions of the run; null below six blocks."),
    ]
    p_family: Annotated[float | None, key("p over all questions.")]
    lag_1: Annotated[float, key("Correlation of neighbouring blocks.")]
    separated: Annotated[bool, key("Whether the bounds exclude 1.")]
    carried_by: Annotated[
        dict[str, float],
        key("Checks that make more than half of the difference each, and their share of it."),
    ]


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


class CheckLeaderPart(Part):
    """Who leads a check."""

    scope: Annotated[
        str, key("What was compared: the check, and the placement where there are several.")
    ]
    check: Annotated[str, key("The check.")]
    metric: Annotated[str, key("The deciding metric.")]
    best: Annotated[str, key("The environment with the best estimate.")]
    runner_up: Annotated[str, key("The next one.")]
    n: Annotated[int, key("Common blocks.")]
    advantage: Annotated[
        float, key("How many times better the best is than the runner-up; 1.05 is 5 %.")
    ]
    interval: Annotated[Ends, key("Interval of the advantage, by itself.")]
    level: Annotated[float, key("Level of the interval.")]
    bounds: Annotated[
        Ends | None, key("Bounds that hold together for all questions; null below six blocks.")
    ]
    verdict: Annotated[str, key("faster, equivalent, not slower, not resolved, …")]
    unranked: Annotated[list[str], key("Environments left out for wrong answers.")]
    failing: Annotated[
        list[str], key("Environments that lead nothing because they fail more often.")
    ]


class CellPart(Part, kw_only=True):
    """An environment against another."""

    scope: Annotated[str, key("What was compared.")]
    label: Annotated[str, key("The curve or point in words.")]
    metric: Annotated[str, key("The deciding metric.")]
    at: Annotated[dict[str, Any], key("The point; empty for a curve or a whole check.")]
    environment: Annotated[str, key("The environment.")]
    reference: Annotated[str, key("What it is compared with.")]
    cases: Annotated[tuple[str, str], key("The case of each.")]
    n: Annotated[int, key("Common blocks.")]
    points: Annotated[int, key("Points that went in.")]
    verdict: Annotated[
        str, key("The verdict's word: faster, slower, equivalent, not resolved, no verdict, …")
    ]
    text: Annotated[str, key("The verdict in words.")]
    failed: Annotated[tuple[int, int], key("Failed launches of each.")]
    launched: Annotated[tuple[int, int], key("Launches of each.")]
    advantage: Annotated[
        float | None,
        key("How many times better the environment is; 1.05 is 5 %. Left out below three blocks."),
    ] = None
    interval: Annotated[Ends | None, key("Interval of the advantage, by itself.")] = None
    level: Annotated[float | None, key("Level of the interval.")] = None
    p: Annotated[float | None, key("p of this comparison by itself.")] = None
    p_holm: Annotated[float | None, key("The same by Holm over all cells.")] = None
    cells_in_family: Annotated[int | None, key("Questions judged together.")] = None
    lag_1: Annotated[float | None, key("Correlation of neighbouring blocks.")] = None
    lag_1_limit: Annotated[float | None, key("Above this the verdict is too sure.")] = None
    bounds: Annotated[
        Ends | None, key("Bounds that hold together for all questions. Left out below six blocks.")
    ] = None
    p_family: Annotated[float | None, key("p over all questions.")] = None
    detectable: Annotated[float | None, key("The least ratio found with 80 % power.")] = None


class NotRankedPart(Part):
    """An environment that a check does not rank."""

    check: Annotated[str, key("The check's title.")]
    environment: Annotated[str, key("The environment.")]


class ChoicePart(Part):
    """Environments against each other."""

    reference: Annotated[str, key("The environment that the others are compared with first.")]
    score: Annotated[
        ScorePart | None,
        key("The overall score; null: fewer than two environments have what it takes."),
    ]
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
