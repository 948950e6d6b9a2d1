# SPDX-License-Identifier: Apache-2.0
"""Nights of a dozen series: limits, first month, node sets, silence, growth, recovery."""

from dataclasses import replace

import numpy as np
import pytest

from bench.tests.simulated.nights import Event, heavy, judge_all, normal, simulate
from reports.load.nights import nights_of
from reports.verdicts.nightly.judge import judge
from reports.verdicts.nightly.tonight import evidence, rules_for

pytestmark = pytest.mark.numerical

SERIES = 12
RULES = rules_for(SERIES)


def told(event, nights, *, first=0, noise=normal, spread=0.01, seed=3):
    history = simulate(event, noise, spread, (SERIES, nights), seed)
    return judge_all(history, RULES, first)


def tonight_of(history, position):
    return evidence(nights_of(history), position, [], RULES)


def series_of(found, verdict):
    return {item.series for _, item in found.findings if item.verdict == verdict}


def test_limits_of_few_series_are_bounded():
    for seed in range(40):
        history = simulate(Event("nothing"), heavy, 0.01, (SERIES, 34), seed)
        assert tonight_of(history, 33).limit.max() <= 0.101


def test_limit_wider_than_the_bound_needs_a_spread_that_requires_it():
    history = simulate(Event("nothing"), normal, 0.05, (SERIES, 34), 1)
    tonight = tonight_of(history, 33)
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
    found = judge_all(history, RULES)
    nights = [place for place, item in found.findings if item.verdict == "silent"]
    assert nights[0] == 20
    assert 3 <= len(nights) <= 14
    assert series_of(found, "silent") == {4}
    assert not series_of(found, "better")


def test_series_that_was_never_there_or_is_zero_now_and_then_is_not_silent():
    history = simulate(Event("nothing"), normal, 0.01, (SERIES, 20), 2)
    history.counts[0], history.values[0] = 0, np.nan
    history.values[1, ::4] = 0.0
    assert not series_of(judge_all(history, RULES, 5), "silent")


def test_open_regression_that_grows_is_told_again():
    found = told(Event("grows", step=0.06, grows=0.06), 50, first=30)
    late = [item for place, item in found.findings if place >= 45]
    again = {item.series for item in late if item.verdict == "regression"}
    assert len(again) == SERIES


def test_step_of_the_first_nights_is_found_later():
    found = told(Event("early", step=0.08, at=5), 45)
    assert len(series_of(found, "regression")) == SERIES
    assert "early" in {change.stage for change in found.changes}


def test_recovered_only_when_it_is():
    stays = told(Event("stays", step=0.04), 40, first=30, spread=0.02, seed=2)
    assert series_of(stays, "regression")
    assert not series_of(stays, "recovered")
    ends = told(Event("ends", step=0.06, lasts=6), 43, first=30)
    assert len(series_of(ends, "recovered")) == SERIES
