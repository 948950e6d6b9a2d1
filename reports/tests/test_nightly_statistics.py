# SPDX-License-Identifier: Apache-2.0
"""Stages A and B against slow oracles, SciPy and simulations with known truth."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped]

from bench.tests.simulated.nights import Event, judge_all, normal, simulate
from reports.statistics import levels
from reports.statistics.levels import residuals
from reports.verdicts.nightly import detection
from reports.verdicts.nightly.tonight import Rules, limits, references, rules_for

pytestmark = pytest.mark.numerical

RULES = Rules()
SIDES = RULES.least_before, RULES.least_after


def slow_statistic(row, k):
    """Q(k) by its definition, pair by pair."""
    x, y = row[:k], row[k:]
    between = np.mean([abs(a - b) for a in x for b in y])
    within = sum(np.mean([abs(a - b) for a, b in combinations(part, 2)]) for part in (x, y))
    return k * len(y) / len(row) * (2 * between - within)


@pytest.mark.parametrize("n", [12, 17, 30])
def test_best_split_is_that_of_the_definition(n):
    for row in np.random.default_rng(n).normal(10, 1, (20, n)):
        split, statistic = detection.best_split(row, *SIDES)
        slow = {k: slow_statistic(row, k) for k in range(8, n - 3)}
        greatest = pytest.approx(max(slow.values()), abs=1e-5 * n)
        assert slow[split] == greatest
        assert statistic * np.ptp(row) == greatest


def test_clear_step_is_a_change_and_noise_is_none():
    rows = np.random.default_rng(1).normal(100, 1, (2, 30))
    rows[0, 20:] += 8
    assert detection.best_split(rows[0], *SIDES)[0] == 20
    found = [
        detection.is_change(row, detection.best_split(row, *SIDES)[1], *SIDES, detection.P_ENERGY)
        for row in rows
    ]
    assert found == [True, False]


def reference_of(values):
    """Reference and residuals of series with one level."""
    chosen = np.isfinite(values)
    away = residuals(values, chosen, np.ones(values.shape, dtype=np.int64))
    return references(values, chosen, away, RULES), away


def test_limit_is_the_prediction_interval_where_no_tail_is_known():
    values = np.random.default_rng(2).normal(100, 5, (1, 60))
    found, away = reference_of(values)
    spread = 1.4826 * np.median(np.abs(values[0] / np.median(values) - 1)) * np.sqrt(60 / 59)
    student = stats.t.isf(RULES.allowed_tonight, 59)
    expected = spread * np.sqrt(1 + np.pi / 2 / 60) * student
    assert limits(found, away, np.array([0.0]), RULES)[0] == pytest.approx(expected)


def test_zero_spread_and_zero_level_are_not_judged_as_changes():
    values = np.array([[5.0] * 12, [0.0] * 12, [np.nan] * 12])
    limit = limits(*reference_of(values), np.full(3, 0.03), RULES)
    assert limit[0] == 0.03
    assert np.isnan(limit[1:]).all()


def test_row_medians_are_numpys():
    rows = np.random.default_rng(7).normal(size=(9, 12))
    rows[rows > 1] = np.nan
    rows[0] = np.nan
    assert np.isnan(levels.row_medians(rows)[0])
    assert levels.row_medians(rows)[1:] == pytest.approx(np.nanmedian(rows[1:], axis=1))


def test_spread_of_a_new_level_comes_from_the_nights_before_it():
    rng = np.random.default_rng(8)
    values = np.concatenate([rng.normal(100, 1, 40), rng.normal(80, 0.8, 3)])[np.newaxis]
    segments = np.array([[1] * 40 + [2] * 3])
    away = residuals(values, np.ones_like(values, dtype=bool), segments)
    assert np.nanstd(away) == pytest.approx(0.01, rel=0.25)
    assert references(values, segments == 2, away, RULES).spread[0] == pytest.approx(0.01, rel=0.4)


def test_a_night_does_not_know_itself_in_its_deviation():
    values = np.random.default_rng(9).normal(0, 1, (400, 30))
    for parts in (2, 5):
        crossed = levels.crossed_deviations(values, parts, 20, 0.002)
        assert np.isfinite(crossed).sum() == values.size
        assert np.nanstd(crossed) > 1.05


@pytest.mark.parametrize("draw", [stats.norm, stats.t(3)])
def test_far_quantile_of_the_pooled_tail(draw):
    values = draw.rvs(size=60_000, random_state=3)
    found = levels.fit_tail(values)(1e-4)
    assert 0.85 * draw.isf(1e-4) < found < 2 * draw.isf(1e-4)
    assert levels.fit_tail(values[:100]) is None


def test_budget_is_shared_by_all_series():
    one, many = rules_for(1), rules_for(10_000)
    assert one.allowed_tonight == RULES.allowed_tonight
    assert many.allowed_tonight < one.allowed_tonight
    assert many.p_ranks == pytest.approx(1 / (2 * 30 * 10_000))


def verdicts(told, verdict):
    return {finding.series for _, finding in told.findings if finding.verdict == verdict}


def test_step_of_five_percent_is_found_and_an_improvement_is_no_regression():
    words = "regression", "improvement"
    for step, (word, other) in ((0.05, words), (-0.05, words[::-1])):
        history = simulate(Event("step", step=step), normal, 0.01, (8, 38), 2)
        told = judge_all(history, rules_for(20), 30)
        assert len(verdicts(told, word)) == 8
        assert not verdicts(told, other)


def test_slow_drift_is_found():
    history = simulate(Event("drift", drift=0.06), normal, 0.005, (10, 100), 4)
    assert len(verdicts(judge_all(history, rules_for(10), 30), "regression")) == 10
