# SPDX-License-Identifier: Apache-2.0
"""Stages A and B against slow oracles, SciPy and simulations with known truth."""

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped]

from campaigns.history.model import Acceptance, Change
from reports.nightly.change_points import best_splits, is_change
from reports.nightly.judge import judge
from reports.nightly.reference import limits, references
from reports.nightly.rules import Rules, rules_for
from reports.nightly.simulated import Event, heavy, judge_all, normal, simulate
from reports.nightly.tail import fit_tail

RULES = Rules()


def slow_statistic(row, k):
    """Q(k) by its definition, pair by pair."""
    x, y = row[:k], row[k:]
    between = np.mean([abs(a - b) for a in x for b in y])
    within = [
        np.mean([abs(a - b) for i, a in enumerate(part) for b in part[i + 1 :]]) for part in (x, y)
    ]
    return k * len(y) / len(row) * (2 * between - sum(within))


@pytest.mark.parametrize("n", [12, 17, 30])
def test_best_split_is_that_of_the_definition(n):
    rows = np.random.default_rng(n).normal(10, 1, (20, n))
    for row, split in zip(rows, best_splits(rows, 8, 4), strict=True):
        slow = {k: slow_statistic(row, k) for k in range(8, n - 3)}
        greatest = pytest.approx(max(slow.values()), abs=1e-5 * n)
        assert slow[split.place] == greatest
        assert split.statistic * np.ptp(row) == greatest


def test_clear_step_is_a_change_and_noise_is_none():
    rng = np.random.default_rng(1)
    rows = rng.normal(100, 1, (2, 30))
    rows[0, 20:] += 8
    splits = best_splits(rows, 8, 4)
    assert splits[0].place == 20
    assert is_change(rows[0], splits[0], RULES)
    assert not is_change(rows[1], splits[1], RULES)


def test_limit_is_the_prediction_interval():
    values = np.random.default_rng(2).normal(100, 5, (1, 60))
    found = references(values, np.ones((1, 60), dtype=bool), RULES)
    expected = 1.4826 * stats.median_abs_deviation(values[0]) / np.median(values)
    expected *= np.sqrt(61 / 60 * stats.f.ppf(0.999, 1, 59))
    assert limits(found, np.array([0.0]), 0.999)[0] == pytest.approx(expected)


def test_zero_spread_and_zero_level_are_not_judged_as_changes():
    values = np.array([[5.0] * 12, [0.0] * 12, [np.nan] * 12])
    found = references(values, np.isfinite(values), RULES)
    limit = limits(found, np.full(3, 0.03), 0.999)
    assert limit[0] == 0.03
    assert np.isnan(limit[1:]).all()


@pytest.mark.parametrize("draw", [stats.norm, stats.t(3)])
def test_far_quantile_of_the_pooled_tail(draw):
    values = draw.rvs(size=60_000, random_state=3)
    assert fit_tail(values).quantile(1e-4) == pytest.approx(draw.isf(1e-4), rel=0.25)


def test_tail_needs_enough_nights():
    assert fit_tail(np.random.default_rng(1).normal(size=100)) is None


def test_budget_is_shared_by_all_series():
    one, many = rules_for(1), rules_for(10_000)
    assert one.level_confirm == RULES.level_confirm
    assert many.level_confirm > one.level_confirm
    assert many.p_ranks == pytest.approx(1 / (2 * 30 * 10_000))


def verdicts(told, verdict):
    return {finding.series for _, finding in told.findings if finding.verdict == verdict}


@pytest.mark.parametrize("noise", [normal, heavy])
def test_steady_series_give_no_alarm(noise):
    history = simulate(Event("nothing"), noise, 0.01, (100, 70), 1)
    told = judge_all(history, rules_for(100), 30)
    assert len(verdicts(told, "regression")) <= 1


def test_step_of_five_percent_is_found_and_an_improvement_is_no_regression():
    for step, word, other in (
        (0.05, "regression", "improvement"),
        (-0.05, "improvement", "regression"),
    ):
        history = simulate(Event("step", step=step), normal, 0.01, (8, 38), 2)
        told = judge_all(history, rules_for(20), 30)
        assert len(verdicts(told, word)) == 8
        assert not verdicts(told, other)


def test_bad_moment_is_dismissed_by_its_rerun():
    history = simulate(Event("bad", bad_share=0.1), normal, 0.005, (20, 50), 3)
    told = judge_all(history, rules_for(20), 30)
    assert verdicts(told, "dismissed")
    assert not verdicts(told, "regression")


def test_slow_drift_is_found():
    history = simulate(Event("drift", drift=0.06), normal, 0.005, (10, 100), 4)
    assert len(verdicts(judge_all(history, rules_for(10), 30), "regression")) == 10


def test_accepted_change_begins_a_new_reference():
    history = simulate(Event("step", step=0.10), normal, 0.005, (1, 45), 5)
    since = history.nights[30].id
    change = Change(0, "regression", "tonight", since, since, 1.0, 1.1, 30)
    accepted = Change(
        0, "regression", "tonight", since, since, 1.0, 1.1, 30, accepted=Acceptance("a", "b", "c")
    )
    assert judge(history, 44, [change], RULES).of("open")
    assert not judge(history, 44, [accepted], RULES).findings


def test_fewer_than_three_launches_are_no_value():
    history = simulate(Event("nothing"), normal, 0.01, (2, 20), 6)
    history.counts[0, 19] = 1
    judgement = judge(history, 19, [], RULES)
    assert judgement.judged == 1
    assert judgement.unjudged == {"fewer than 3 valid launches tonight": 1}
