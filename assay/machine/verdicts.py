# SPDX-License-Identifier: Apache-2.0
"""The form of verdicts.json, which `assay report` writes."""

from __future__ import annotations

from typing import Any, ClassVar

from assay.machine.form import Form, Part
from assay.machine.runs import AnswerPart

Ends = tuple[float, float]


class Launches(Part):
    """Launches by how they ended, zeros too."""

    ok: int
    """Right to the end; only these enter statistics."""
    failed: int
    """Did not run to the end."""
    wrong: int
    """Ran, with a wrong answer or wrong evidence."""
    lost: int
    """A node or the scheduler died."""
    skipped: int
    """Cases that do not fit the site."""
    wrong_on_purpose: int
    """How many of the wrong ones are so on purpose."""
    not_run: int
    """Planned, and without a record."""
    replaced: int
    """Replaced by a later attempt."""
    oversubscribed: int
    """Ok launches whose busy ranks shared cores."""


class Place(Part):
    """An environment in the ranking."""

    environment: str
    """The environment."""
    place: tuple[int, int]
    """Best and worst place that the bounds allow; 1 is first."""
    cost: float
    """What the workload costs, over what it costs in the reference."""
    bounds: Ends | None
    """Bounds of that ratio that hold together for all questions; null where there are none."""
    interval: Ends | None
    """Interval of that ratio by itself, which decides nothing; null for the reference."""
    level: float | None
    """Level of the interval."""
    failed: int
    """Failed launches."""
    launched: int
    """Launches."""
    unreliable: bool
    """Whether it ranks behind another because it fails more often."""


class PairTold(Part):
    """Two ranked environments."""

    environments: tuple[str, str]
    """The first and the second."""
    ratio: float
    """Cost of the first over that of the second."""
    interval: Ends
    """Its interval, of this pair alone."""
    level: float
    """Level of the interval."""
    bounds: Ends | None
    """Bounds that hold together for all questions of the run; null below six blocks."""
    p_family: float | None
    """p over all questions."""
    lag_1: float
    """Correlation of neighbouring blocks."""
    separated: bool
    """Whether the bounds exclude 1."""
    carried_by: dict[str, float]
    """Checks that make more than half of the difference each, and their share of it."""


class Excluded(Part):
    """An environment without a place."""

    environment: str
    """The environment."""
    why: str
    """Why it has none."""


class Score(Part, extra="allow"):
    """The overall score by the campaign's weights."""

    reference: str
    """The environment that costs are over."""
    n: int
    """Blocks that count."""
    places: list[Place]
    """Environments, best first."""
    pairs: list[PairTold]
    """What the places rest on."""
    excluded: list[Excluded]
    """Environments without a place."""
    sensitivity: dict[str, Any]
    """Which weights would change the order."""


class Leader(Part):
    """Who leads a check."""

    scope: str
    """What was compared: the check, and the placement where there are several."""
    check: str
    """The check."""
    metric: str
    """The deciding metric."""
    best: str
    """The environment with the best estimate."""
    runner_up: str
    """The next one."""
    n: int
    """Common blocks."""
    advantage: float
    """How many times better the best is than the runner-up; 1.05 is 5 %."""
    interval: Ends
    """Interval of the advantage, by itself."""
    level: float
    """Level of the interval."""
    bounds: Ends | None
    """Bounds that hold together for all questions; null below six blocks."""
    verdict: str
    """faster, equivalent, not slower, not resolved, …"""
    unranked: list[str]
    """Environments left out for wrong answers."""
    failing: list[str]
    """Environments that lead nothing because they fail more often."""


class CellTold(Part):
    """An environment against another."""

    scope: str
    """What was compared."""
    label: str
    """The curve or point in words."""
    metric: str
    """The deciding metric."""
    at: dict[str, Any]
    """The point; empty for a curve or a whole check."""
    environment: str
    """The environment."""
    reference: str
    """What it is compared with."""
    cases: tuple[str, str]
    """The case of each."""
    n: int
    """Common blocks."""
    points: int
    """Points that went in."""
    verdict: str
    """The verdict's word: faster, slower, equivalent, not resolved, no verdict, …"""
    text: str
    """The verdict in words."""
    failed: tuple[int, int]
    """Failed launches of each."""
    launched: tuple[int, int]
    """Launches of each."""
    advantage: float | None = None
    """How many times better the environment is; 1.05 is 5 %. Left out below three blocks."""
    interval: Ends | None = None
    """Interval of the advantage, by itself."""
    level: float | None = None
    """Level of the interval."""
    p: float | None = None
    """p of this comparison by itself."""
    p_holm: float | None = None
    """The same by Holm over all cells."""
    cells_in_family: int | None = None
    """Questions judged together."""
    lag_1: float | None = None
    """Correlation of neighbouring blocks."""
    lag_1_limit: float | None = None
    """Above this the verdict is too sure."""
    bounds: Ends | None = None
    """Bounds that hold together for all questions. Left out below six blocks."""
    p_family: float | None = None
    """p over all questions."""
    detectable: float | None = None
    """The least ratio found with 80 % power."""


class NotRanked(Part):
    """An environment that a check does not rank."""

    check: str
    """The check's title."""
    environment: str
    """The environment."""


class Choice(Part):
    """Environments against each other."""

    reference: str
    """The environment that the others are compared with first."""
    score: Score | None
    """The overall score; null: fewer than two environments have what it takes."""
    leaders: list[Leader]
    """Who leads each check."""
    interims: list[dict[str, Any]]
    """The judgements of a sequential design."""
    not_ranked: list[NotRanked]
    """Environments with wrong answers."""
    overall: list[CellTold]
    """Comparisons over all points of a check."""
    groups: list[CellTold]
    """Comparisons over each curve."""
    points: list[CellTold]
    """Comparisons at each point."""


class Verdicts(Form):
    """verdicts.json: the verdicts of a run."""

    VERSION: ClassVar[int] = 2

    run_id: str
    """The run's id."""
    campaign: str
    """The campaign."""
    site: str
    """The site."""
    complete: bool
    """Whether every planned launch has its record."""
    launches: Launches
    """Launches by how they ended."""
    answer: AnswerPart
    """The answer."""
    warnings: list[str]
    """What to beware of."""
    summary: list[str]
    """The summary's sentences."""
    choice: Choice
    """Environments against each other."""
