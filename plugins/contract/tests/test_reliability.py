# SPDX-License-Identifier: Apache-2.0
"""Failures in a time: bounds of the mean time between them, and what a test can show."""

from math import inf

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped]

from plugins.contract import reliability

DAY = 86400.0


@pytest.mark.parametrize(
    ("allowed", "length", "chances"),
    [
        (0, 2.30, (0.32, 0.56, 0.75)),
        (1, 3.89, (0.42, 0.75, 0.91)),
        (2, 5.32, (0.50, 0.85, 0.97)),
        (3, 6.68, (0.57, 0.91, 0.99)),
        (4, 7.99, (0.63, 0.95, 1.00)),
    ],
)
def test_lengths_and_chances_are_those_of_the_published_table(allowed, length, chances):
    needed = reliability.length_needed(allowed)
    assert needed == pytest.approx(length, abs=0.01)
    assert reliability.most_allowed(needed) == allowed
    found = [reliability.pass_chance(needed, allowed, better) for better in (2, 4, 8)]
    assert found == pytest.approx(chances, abs=0.006)


def test_bounds_cover_the_truth_as_often_as_they_claim():
    rng = np.random.default_rng(7)
    bounds = [reliability.mean_time_bounds(4.0, count) for count in rng.poisson(4.0, 20_000)]
    low, high = zip(*bounds, strict=True)
    assert np.mean(np.array(low) <= 1.0) >= 0.895
    assert np.mean(np.array(high) >= 1.0) >= 0.895
    assert reliability.mean_time_bounds(5.0, 0)[1] == inf


def test_a_bound_that_passes_is_the_same_as_at_most_so_many_failures():
    for length in (1.0, 2.4, 4.0, 6.0):
        by_bound = [r for r in range(9) if reliability.mean_time_bounds(length, r)[0] >= 1.0]
        assert (by_bound[-1] if by_bound else None) == reliability.most_allowed(length)


def test_a_clause_of_one_mtbi_proves_nothing_and_too_many_failures_need_a_length():
    clause = reliability.Demonstration.of(30 * DAY, 720 * 3600.0)
    assert not clause.decides
    assert clause.sentence == (
        "30 days with an MTBI of 720 h is 1.00 MTBI long and can prove nothing: with 0 failures"
        " allowed, a machine at the promise's lower limit passes with 37 % (at most 10 % is a"
        " proof). A proof with 0 failures allowed takes 69.1 days (2.30 MTBI)."
    )
    many = reliability.Demonstration.of(120 * DAY, 720 * 3600.0, 3)
    assert not many.decides
    assert "can prove nothing" not in many.sentence
    assert "A proof with 3 failures allowed takes 200 days (6.68 MTBI)." in many.sentence


def test_a_test_that_decides_names_both_chances():
    clause = reliability.Demonstration.of(4 * 720 * 3600.0, 720 * 3600.0)
    assert clause.decides
    assert clause.allowed == 1
    assert clause.buyers_risk == pytest.approx(stats.poisson.cdf(1, 4.0))
    assert clause.vendors_risk(4) == pytest.approx(1 - stats.poisson.cdf(1, 1.0))


def test_the_chance_to_keep_an_availability_is_that_of_simulated_machines():
    rng, room = np.random.default_rng(3), 0.01 * 72_000
    for better in (1.0, 2.0):
        counts = rng.poisson(room / 100 / better, 20_000)
        lost = np.array([rng.exponential(100.0, count).sum() for count in counts])
        chance = reliability.availability_pass_chance(0.99, 72_000, 100.0, better)
        assert chance == pytest.approx(np.mean(lost <= room), abs=0.01)
