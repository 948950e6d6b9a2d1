# SPDX-License-Identifier: Apache-2.0
"""Blocks added until it is known: bounds over several judgements, races, and what goes on."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest

from bench.tests.simulated.campaigns import NAMES, POINTS, simulated_run
from records.run.interims import Interim
from records.run.plan import Sequential
from reports.analysis.cells import ComparisonJudgement
from reports.analysis.compare import compare_after, compare_environments
from reports.analysis.races import NOTHING_IN_COMMON, Race, judge_after, known
from reports.load.loading import Run
from reports.notation.labels import check_labels
from reports.statistics.descriptive import Matrix
from reports.statistics.max_t import InterimJudgement, Question, answers, answers_after, spent

pytestmark = [pytest.mark.numerical, pytest.mark.full]
DESIGN = Sequential(interims=[6, 8, 10, 12], until=["score", "checks"])


def questions(rows: Matrix, blocks: int, declared: int = 0) -> list[Question]:
    at = np.arange(1, blocks + 1)
    return [Question(at, row[:blocks], 1.0, place < declared) for place, row in enumerate(rows)]


def in_turn(rows: Matrix, looks: Sequence[int], declared: int = 0) -> Matrix:
    """Both ends of the bounds of all questions at each look."""
    judged: list[InterimJudgement] = []
    told = []
    for block in looks:
        asked = questions(rows, block, declared)
        found, made = answers_after(asked, block, judged, [(0, looks[-1])])
        judged.append(made)
        told.append([(item.low, item.high) for item in found if item])
    return np.array(told)


def test_error_of_extensions_never_comes_to_more_than_that_of_one_judgement() -> None:
    stages = [(0, 6), *pairwise(range(6, 30))]
    told = [spent(block, stages[:count]) for count, (_, block) in enumerate(stages, start=1)]
    assert told[0] == pytest.approx(0.04) and max(told[1:]) < 0.04
    assert spent(6, stages) == pytest.approx(0.01) and spent(7, stages) == pytest.approx(0.025)


@pytest.mark.parametrize("scatter", [(1, 1, 1, 1), (1, 1, 1, 4), (1, 2, 4, 8)])
def test_bounds_hold_where_pairs_share_scatter(scatter: tuple[int, ...]) -> None:
    rng, missed, campaigns = np.random.default_rng(sum(scatter)), 0, 100
    for _ in range(campaigns):
        times = rng.normal(0, 1, (4, 4, 10)) * np.array(scatter)[:, None]
        judged: list[InterimJudgement] = []
        missing = False
        for block in (6, 8, 10):
            asked = [
                Question(np.arange(1, block + 1), row, 1.0, True, cell)
                for cell, of in enumerate(times[:, :, :block].tolist())
                for row in (np.subtract(of[b], of[a]) for a, b in combinations(range(4), 2))
            ]
            found, made = answers_after(asked, block, judged, [(0, 10)])
            judged.append(made)
            missing |= any(item is not None and not item.low <= 0 <= item.high for item in found)
        missed += missing
    assert missed <= 0.05 * campaigns + 3 * np.sqrt(0.05 * 0.95 * campaigns)


def test_shared_scatter_narrows_bounds() -> None:
    rows = np.random.default_rng(12).normal(0, 1, (6, 8))
    widths = []
    for cell in (None, "hpl"):
        asked = [Question(np.arange(1, 9), row, 1.0, True, cell) for row in rows]
        found, _ = answers_after(asked, 8, [], [(0, 12)])
        widths.append(np.mean([item.high - item.low for item in found if item]))
    assert widths[1] < 0.9 * widths[0]


def test_the_error_is_spent_once() -> None:
    rows = np.random.default_rng(2).normal(0, 1, (5, 12))
    at_last = in_turn(rows, (6, 8, 10, 12))[-1]
    for one, (low, high) in zip(answers(questions(rows, 12)), at_last, strict=True):
        assert one and low < one.low < one.high < high
    assert spent(12, [(0, 12)]) == pytest.approx(0.04)


def test_declared_questions_have_the_narrower_bounds() -> None:
    rows = np.tile(np.random.default_rng(3).normal(0, 1, 12), (20, 1))
    widths = np.diff(in_turn(rows, (12,), declared=2)[0])
    assert widths[0] < widths[-1]


def test_a_question_without_new_values_is_not_judged_again() -> None:
    rows = np.random.default_rng(4).normal(0, 1, (3, 8))
    both = [*questions(rows[:2], 8), *questions(rows[2:], 6)]
    found, _ = answers_after(both, 8, [InterimJudgement(6, 1e-4)], [(0, 12)])
    assert [item is None for item in found] == [False, False, True]


def test_p_says_the_same_as_bounds() -> None:
    rows = np.random.default_rng(6).normal(0.8, 1, (40, 10))
    found, _ = answers_after(questions(rows, 10, 10), 10, [InterimJudgement(6, 1e-4)], [(0, 12)])
    both = [(item.p <= 0.05, not item.low <= 0 <= item.high) for item in found if item]
    assert {True, False} == {p for p, _ in both}
    assert all(p == outside for p, outside in both)


@pytest.mark.parametrize(
    ("low", "high", "enough"),
    [
        (1.04, 1.9, True),
        (0.98, 1.02, True),
        (0.98, 1.035, True),
        (0.98, 1.2, False),
        (0.9, 1.1, False),
        (0.9, 0.96, True),
    ],
)
def test_narrow_bounds_are_known(low: float, high: float, enough: bool) -> None:
    assert known(ComparisonJudgement(low, high, 0.01, 1.1)) is enough
    assert not known(None)


def test_who_has_lost_a_race_is_no_question_in_it() -> None:
    wide, faster = ComparisonJudgement(0.5, 2, 1, 2), ComparisonJudgement(1.1, 2, 0.01, 2)
    pairs = {("b", "a"): faster, ("c", "a"): wide, ("c", "b"): wide}
    assert Race("x", pairs).beaten == {"a"}
    assert Race("x", pairs).open == [("c", "b")]
    assert Race("x", pairs, settled=frozenset({("c", "b")})).open == []
    unfit = Race("x", pairs, unfit=frozenset("b"))
    assert (unfit.beaten, unfit.open) == (frozenset(), [("c", "a")])


ALL = {name: ["hpl", "pt2pt", "startup"] for name in NAMES}


def times(slow: dict[str, float], noise: float = 0.01) -> Matrix:
    """ln of times; environments take longer by a factor, but for HPL, where all are alike."""
    logs = np.random.default_rng(9).normal(0, noise, (len(NAMES), POINTS, 12))
    for name, factor in slow.items():
        logs[NAMES.index(name), 2:] += np.log(factor)
    return np.asarray(logs)


def run_of(logs: Matrix, *going: dict[str, list[str]]) -> Run:
    """A run with a judgement after which this went on, for each."""
    interims = [
        Interim(block=block, open=["?"], going=names, ended=None)
        for block, names in zip(DESIGN.interims, going, strict=False)
    ]
    return simulated_run(logs, None, DESIGN, interims)


def test_large_differences_are_known_at_once() -> None:
    found = judge_after(run_of(times({"b": 1.5, "c": 1.5, "d": 1.5}, noise=0.002)), 6)
    assert (found.open, found.going) == ([], {})


def test_only_what_bears_on_an_open_question_goes_on() -> None:
    found = judge_after(run_of(times({"d": 1.5}, noise=0.02)), 6)
    assert found.going["d"] == ["hpl"]
    assert {text[:3] for text in found.open if " d" in text} == {"HPL"}


def test_what_stopped_keeps_its_bounds() -> None:
    run = run_of(times({"d": 1.5}), {name: ALL[name] for name in "abc"})
    labels = check_labels(run.plan.cases)
    first, last = compare_after(run, labels, [6]), compare_after(run, labels, [6, 8])
    before = {(c.scope, c.environment, c.reference): c.judgement for c in first.overall}
    for cell in last.overall:
        same = before[cell.scope, cell.environment, cell.reference] == cell.judgement
        assert same == ("d" in (cell.environment, cell.reference))
    assert first.score and last.score
    assert {p.judgement for p in first.score.pairs} & {p.judgement for p in last.score.pairs}


def test_what_the_last_block_would_not_tell_does_not_go_on() -> None:
    some, wide = (judge_after(run_of(times({}, noise=noise)), 6) for noise in (0.08, 0.15))
    assert some.going == {name: ["pt2pt"] for name in NAMES} and some.ended(last=True) == "blocks"
    assert any(text.startswith("HPL") for text in some.open) and some.ended(last=False) is None
    assert (wide.going, wide.ended(last=False)) == ({}, "forecast") and wide.open
    again = judge_after(run_of(times({}, noise=0.15)), 6, beyond=True)
    assert again.going == ALL, "of blocks that are added"


def decided(rows: Matrix, looks: Sequence[int], *, by_forecast: bool) -> int:
    """The block at which the first question is decided; 0: never, or given up before."""
    judged: list[InterimJudgement] = []
    for block in looks:
        (one, *_), made = answers_after(questions(rows, block, 4), block, judged, [(0, looks[-1])])
        judged.append(made)
        assert one is not None
        judgement = ComparisonJudgement.of(one)
        if known(judgement):
            return block
        if by_forecast and judgement.vain:
            return 0
    return 0


@pytest.mark.parametrize(("looks", "scatter"), [((6, 8), 0.05), ((6, 8, 10, 13, 17, 20), 0.08)])
def test_the_forecast_gives_up_nothing_that_is_decided(
    looks: Sequence[int], scatter: float
) -> None:
    """Of 200 rows for each difference at most 3 of 100 that are decided without it are given up."""
    rng = np.random.default_rng(15)
    for difference in (0.0, 0.05, 0.1, 0.15, 0.2, 0.3):
        found = []
        for _ in range(200):
            rows = scatter * rng.normal(0, 1, (12, looks[-1]))
            rows[0] += difference
            found.append([decided(rows, looks, by_forecast=by) for by in (True, False)])
        with_it, without = np.array(found).T
        assert not ((with_it > 0) & (with_it != without)).any()
        assert (with_it > 0).sum() >= 0.97 * (without > 0).sum() - 1


def test_nothing_in_common_is_an_open_question() -> None:
    bad = {(place, block): "lost" for place in range(20) for block in range(6)}
    found = judge_after(simulated_run(np.zeros((4, POINTS, 12)), bad, DESIGN, []), 6)
    assert (found.open, found.going) == ([NOTHING_IN_COMMON], ALL)


def test_an_environment_that_always_fails_does_not_go_on() -> None:
    logs = np.random.default_rng(1).normal(0, 0.2, (4, POINTS, 12))
    bad = {(place, block): "failed" for place in range(15, 20) for block in range(6)}
    assert {*judge_after(simulated_run(logs, bad, DESIGN, []), 6).going} == {"a", "b", "c"}


def test_a_report_has_the_judgements_that_the_run_had() -> None:
    run = run_of(times({"d": 1.2}), ALL)
    early = compare_environments(replace(run, interims=()), check_labels(run.plan.cases))
    assert {cell.judgement for cell in early.overall} == {None}
