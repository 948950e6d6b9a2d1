# SPDX-License-Identifier: Apache-2.0
"""Bounds hold what they promise; the explanation of bad pairs finds the nodes behind them."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from reports.acceptance.bounds import decide, median_bounds, spread_bounds
from reports.acceptance.judge import explain_links
from reports.acceptance.peers import shares_of_best, shares_of_median

pytestmark = pytest.mark.numerical


def many_launches(count=300):
    """Seeded sets of 1 to 40 launches of every size, with equal values among them."""
    rng = np.random.default_rng(11)
    for _ in range(count):
        values = np.exp(rng.uniform(-20, 25) + rng.exponential(0.5) * rng.standard_normal(40))
        values = values[rng.integers(0, 40, rng.integers(1, 41))]
        yield values.tolist(), float(values[0] * rng.choice([0.5, 0.99, 1.0, 1.01, 2.0]))


def test_bounds_enclose_the_centre_and_a_verdict_never_contradicts_them():
    seen = set()
    for values, limit in many_launches():
        bounds = median_bounds(values, 0.95)
        verdict, _ = decide(bounds, limit, None, 3)
        seen.add(verdict)
        assert bounds.n == len(values)
        if len(values) >= 5:
            assert min(values) <= bounds.low <= bounds.centre <= bounds.high <= max(values)
        if verdict == "PASS":
            assert bounds.low >= limit
        if verdict == "FAIL":
            assert bounds.high < limit
    assert seen == {"PASS", "FAIL", "INCONCLUSIVE"}


@pytest.mark.parametrize("n", [5, 7, 11])
@pytest.mark.parametrize("draw", ["normal", "lognormal", "standard_t"])
def test_the_bound_of_a_median_is_kept_as_often_as_promised(n, draw):
    rng = np.random.default_rng(7)
    shape = {"normal": (0, 1), "lognormal": (0, 1), "standard_t": (3,)}[draw]
    truth = 1.0 if draw == "lognormal" else 0.0
    samples = getattr(rng, draw)(*shape, size=(1500, n))
    bounds = [median_bounds(row.tolist(), 0.95) for row in samples]
    kept = np.mean([b.low <= truth for b in bounds])
    assert kept >= 0.93
    assert kept == pytest.approx(bounds[0].level, abs=0.02)


def test_equal_launches_have_no_spread_and_exact_bounds():
    assert spread_bounds([2.0] * 5, 0.95).high == 0.0
    bounds = median_bounds([0.1] * 3, 0.95)
    assert (bounds.low, bounds.high) == (pytest.approx(0.1), pytest.approx(0.1))


def test_the_bound_of_a_spread_is_kept_as_often_as_promised():
    rng = np.random.default_rng(3)
    rows = 100 * (1 + 0.05 * rng.standard_normal((1500, 6)))
    kept = np.mean([spread_bounds(row.tolist(), 0.95).high >= 0.05 for row in rows])
    assert kept == pytest.approx(0.95, abs=0.02)


@pytest.mark.parametrize("count", range(4, 10))
def test_one_slow_link_or_pair_is_found_whatever_the_fleet(count):
    nodes = [f"n{i}" for i in range(1, count + 1)]
    pairs = list(combinations(nodes, 2))
    for node in nodes:
        assert explain_links([p for p in pairs if node in p], pairs, []) == ([node], [])
    for pair in pairs:
        assert explain_links([pair], pairs, []) == ([], [pair])
    for one, other in pairs:
        bad = [p for p in pairs if one in p or other in p]
        found = explain_links(bad, pairs, [])[0]
        assert found == [one, other] or count == 4


def test_pairs_of_a_slow_node_are_its_consequence():
    pairs = list(combinations(["n1", "n2", "n3", "n4"], 2))
    bad = [pair for pair in pairs if "n2" in pair or "n3" in pair]
    assert explain_links(bad, pairs, ["n2"]) == (["n3"], [])


def test_when_all_pairs_are_bad_no_node_is_blamed():
    pairs = list(combinations(["n1", "n2", "n3"], 2))
    assert explain_links(pairs, pairs, []) == ([], pairs)


def test_shares_do_not_see_what_drifts_for_all():
    values = {"n1": {1: 10.0, 2: 20.0}, "n2": {1: 10.0, 2: 20.0}, "n3": {1: 5.0, 2: 10.0}}
    assert shares_of_median(values, inverse=False)["n3"] == {1: 0.5, 2: 0.5}
    times = {"n1": {1: 1.0}, "n2": {1: 1.0}, "n3": {1: 2.0}}
    assert shares_of_median(times, inverse=True)["n3"] == {1: 0.5}
    assert shares_of_best(times, least=True)["n3"] == {1: 2.0}
