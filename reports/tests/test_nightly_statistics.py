# SPDX-License-Identifier: Apache-2.0
"""Stages A and B against slow oracles, SciPy and simulations with known truth; nights of a dozen
series; what else changed."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped]

from bench.tests.simulated.nights import Event, heavy, judge_all, normal, simulate
from records.history.model import Night
from reports.load.nights import context_starts, nights_of
from reports.statistics import levels
from reports.statistics.levels import residuals
from reports.verdicts.nightly import detection
from reports.verdicts.nightly.evidence import Rules, evidence, limits, references, rules_for
from reports.verdicts.nightly.forms import context_changes
from reports.verdicts.nightly.judge import judge

pytestmark = pytest.mark.numerical

RULES = Rules()
SIDES = detection.SIDES


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


def test_rows_left_out_have_no_shift_at_any_split():
    rows = np.random.default_rng(12).normal(1, 0.012, (300, 30))
    left_out = [row for row in rows if not detection.may_shift(row, 0.03)]
    assert 20 < len(left_out) < 280
    for place in range(SIDES[0], 31 - SIDES[1]):
        for row in left_out:
            assert abs(np.median(row[place:]) / np.median(row[:place]) - 1) <= 0.03


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
    return references(values, chosen, away), away


def test_limit_is_the_prediction_interval_where_no_tail_is_known():
    values = np.random.default_rng(2).normal(100, 5, (1, 60))
    found, away = reference_of(values)
    spread = 1.4826 * np.median(np.abs(values[0] / np.median(values) - 1)) * np.sqrt(60 / 59)
    expected = spread * np.sqrt(1 + np.pi / 2 / 60) * stats.t.isf(RULES.allowed_tonight, 59)
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
    assert references(values, segments == 2, away).spread[0] == pytest.approx(0.01, rel=0.4)


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


SERIES = 12
OF_A_SITE = rules_for(SERIES)


def told(event, nights, *, first=30, spread=0.01, seed=3, series=SERIES):
    history = simulate(event, normal, spread, (series, nights), seed)
    return judge_all(history, rules_for(series), first)


def tonight_of(history, position):
    return evidence(nights_of(history), position, [], OF_A_SITE)


def series_of(found, verdict):
    return {item.series for _, item in found.findings if item.verdict == verdict}


@pytest.mark.parametrize(
    ("step", "found", "other"),
    [(0.05, "regression", "improvement"), (-0.05, "improvement", "regression")],
)
def test_step_of_five_percent_is_found_and_an_improvement_is_no_regression(step, found, other):
    history = simulate(Event("step", step=step), normal, 0.01, (8, 38), 2)
    judged = judge_all(history, rules_for(20), 30)
    assert len(series_of(judged, found)) == 8
    assert not series_of(judged, other)


def test_slow_drift_is_found():
    drifts = told(Event("drift", drift=0.06), 100, spread=0.005, seed=4, series=10)
    assert len(series_of(drifts, "regression")) == 10


def test_limits_of_few_series_are_bounded():
    for seed in range(40):
        history = simulate(Event("nothing"), heavy, 0.01, (SERIES, 34), seed)
        assert tonight_of(history, 33).limit.max() <= 0.101


def test_limit_wider_than_the_bound_needs_a_spread_that_requires_it():
    tonight = tonight_of(simulate(Event("nothing"), normal, 0.05, (SERIES, 34), 1), 33)
    assert np.median(tonight.limit) > 0.10
    assert judge(tonight).wide["its nights stray that far"] > 5


def test_reason_of_a_series_that_is_not_judged_is_true():
    history = simulate(Event("nothing"), normal, 0.01, (1, 8), 1)
    history.nights[:] = [
        replace(night, context={"host.kernel": f"6.{place}"})
        for place, night in enumerate(history.nights)
    ]
    (reason,) = judge(tonight_of(history, 7)).unjudged
    assert "no three nights of one context" in reason


@pytest.mark.parametrize("how", ["no record", "zero"])
def test_series_that_falls_silent_is_told_the_same_night_for_some_nights(how):
    history = simulate(Event("nothing"), normal, 0.01, (SERIES, 40), 2)
    history.values[4, 20:] = 0.0 if how == "zero" else np.nan
    history.counts[4, 20:] *= how == "zero"
    found = judge_all(history, OF_A_SITE)
    nights = [place for place, item in found.findings if item.verdict == "silent"]
    assert nights[0] == 20
    assert 3 <= len(nights) <= 14
    assert series_of(found, "silent") == {4}
    assert not series_of(found, "better")


def test_series_that_was_never_there_or_is_zero_now_and_then_is_not_silent():
    history = simulate(Event("nothing"), normal, 0.01, (SERIES, 20), 2)
    history.counts[0], history.values[0] = 0, np.nan
    history.values[1, ::4] = 0.0
    assert not series_of(judge_all(history, OF_A_SITE, 5), "silent")


def test_open_regression_that_grows_is_told_again():
    found = told(Event("grows", step=0.06, grows=0.06), 50)
    late = replace(found, findings=[one for one in found.findings if one[0] >= 45])
    assert len(series_of(late, "regression")) == SERIES


def test_step_of_the_first_nights_is_found_later():
    found = told(Event("early", step=0.08, at=5), 45, first=0)
    assert len(series_of(found, "regression")) == SERIES
    assert "early" in {change.stage for change in found.changes}


def test_recovered_only_when_it_is():
    stays = told(Event("stays", step=0.04), 40, spread=0.02, seed=2)
    assert series_of(stays, "regression")
    assert not series_of(stays, "recovered")
    ends = told(Event("ends", step=0.06, lasts=6), 43)
    assert len(series_of(ends, "recovered")) == SERIES


KNOWN = {"host.kernel": "6.1", "node.kernel": "Linux 5.14", "environments.mpich.library": "4.0.2"}


def night(context):
    return Night("r", "s", "c", "2026-01-01T00:00:00Z", context, ("c1",), {})


@pytest.mark.parametrize(
    ("name", "after"),
    [
        ("node.kernel", "Linux 5.14 on c1; Linux 6.1 on c2"),
        ("node.gpus", "A100"),
        ("environments.mpich.library", "4.1"),
    ],
)
def test_a_changed_fact_of_nodes_is_named(name, after):
    (change,) = context_changes(night(KNOWN), night(KNOWN | {name: after}))
    assert (change.name, change.before, change.after) == (name, KNOWN.get(name), after)


def test_a_night_that_asked_no_nodes_says_nothing_of_them():
    assert context_changes(night({"host.kernel": "6.1"}), night(KNOWN)) == []
    (change,) = context_changes(night({"host.kernel": "5.9"}), night(KNOWN))
    assert change.name == "host.kernel"


def test_facts_of_nodes_begin_no_level():
    nights = [night({"host.kernel": "6.1"}), night(KNOWN), night({**KNOWN, "node.kernel": "x"})]
    assert context_starts(nights, "mpich").tolist() == [0, 0, 0]
    nights.append(night({**KNOWN, "host.kernel": "6.2"}))
    assert context_starts(nights, "mpich").tolist() == [0, 0, 0, 3]
