# SPDX-License-Identifier: Apache-2.0
"""Bounds hold what they promise; what explains slow pairs is found, and nothing else."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from records.site.pair_scans import sampled_pairs
from reports.statistics.bounds import decide, median_bounds, spread_bounds
from reports.statistics.levels import peers_of, reach_of, top_of
from reports.verdicts.acceptance.fabric import fabric_of

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


@pytest.mark.parametrize("n", [6, 8, 11])
@pytest.mark.parametrize("draw", ["normal", "t(3)", "exponential"])
def test_the_bound_of_a_spread_holds_for_tails(n, draw):
    rng = np.random.default_rng(4)
    rows = {
        "normal": rng.standard_normal((600, n)),
        "t(3)": rng.standard_t(3, (600, n)) / np.sqrt(3),
        "exponential": 1 - rng.exponential(1, (600, n)),
    }[draw]
    missed = np.mean([spread_bounds((1 + 0.02 * row).tolist(), 0.95).high < 0.02 for row in rows])
    assert missed <= 0.1


@pytest.mark.parametrize("n", [5, 7, 11])
@pytest.mark.parametrize("draw", ["normal", "lognormal", "standard_t"])
def test_the_bound_of_a_median_is_kept_as_often_as_promised(n, draw):
    shape = {"normal": (0, 1), "lognormal": (0, 1), "standard_t": (3,)}[draw]
    truth = 1.0 if draw == "lognormal" else 0.0
    samples = getattr(np.random.default_rng(7), draw)(*shape, size=(1500, n))
    bounds = [median_bounds(row.tolist(), 0.95) for row in samples]
    kept = np.mean([b.low <= truth for b in bounds])
    assert kept >= 0.93
    assert kept == pytest.approx(bounds[0].level, abs=0.02)


def test_equal_launches_have_no_spread():
    assert spread_bounds([2.0] * 5, 0.95).high == 0.0
    bounds = median_bounds([0.1] * 3, 0.95)
    assert (bounds.low, bounds.high) == pytest.approx((0.1, 0.1))


def fabric(nodes, *, links=(), pairs=(), cuts=(), share=0.5, error=0.01, seed=1):
    """What explains the slow pairs of a machine with these faults, limit 93 %."""
    matrix = np.ones((nodes, nodes))
    for node in links:
        matrix[node, :] = matrix[:, node] = share
    for group in cuts:
        inside = np.isin(np.arange(nodes), list(group))
        matrix[inside[:, None] != inside[None, :]] = share
    for one, other in pairs:
        matrix[one, other] = matrix[other, one] = share
    centres = np.log(matrix[np.triu_indices(nodes, 1)])
    centres += error * np.random.default_rng(seed).standard_normal(len(centres))
    ends = np.stack(np.triu_indices(nodes, 1), axis=1)
    found = fabric_of(centres, ends, nodes, -np.log(0.93), error)
    slow = np.flatnonzero((found.level - centres > -np.log(0.93)) & (found.explained < 0))
    every = list(combinations(range(nodes), 2))
    return [(part.kind, part.groups) for part in found.parts], [every[place] for place in slow]


@pytest.mark.parametrize("count", [3, 4, 5, 8, 16])
def test_one_slow_link_or_pair_is_found_whatever_the_fleet(count):
    for node in range(count):
        assert fabric(count, links=[node]) == ([("link", ((node,),))], [])
    for pair in list(combinations(range(count), 2))[: 30 if count > 3 else 0]:
        assert fabric(count, pairs=[pair]) == ([], [pair])


@pytest.mark.parametrize(("nodes", "slow"), [(4, 2), (8, 5), (16, 12), (16, 14), (40, 30)])
def test_slow_links_of_most_nodes_are_named_one_by_one(nodes, slow):
    assert fabric(nodes, links=range(slow)) == ([("link", ((n,),)) for n in range(slow)], [])


@pytest.mark.parametrize("rounds", [12, 29])
def test_many_slow_links_among_sampled_pairs_each_take_the_pairs_that_are_left(rounds):
    nodes, slow = 60, (3, 17, 18, 40, 59)
    ends = np.unique(sampled_pairs(nodes, rounds, 1), axis=1).T
    low, high = ends.T
    centres = np.where(np.isin(low, slow) | np.isin(high, slow), -0.3, 0.0)
    fabric = fabric_of(centres, ends, nodes, 0.07, 0.01)
    assert {part.nodes for part in fabric.parts} == {(node,) for node in slow}
    left = np.ones(len(low), dtype=bool)
    for part in fabric.parts:
        mine = left & ((low == part.nodes[0]) | (high == part.nodes[0]))
        assert part.pairs.tolist() == np.flatnonzero(mine).tolist()
        left[mine] = False
    assert ((fabric.explained >= 0) == (centres < 0)).all()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("rounds", [12, 20])
def test_a_slow_trunk_is_a_cut_in_a_sample_too(rounds, seed):
    ends = np.unique(sampled_pairs(64, rounds, seed), axis=1).T
    centres = np.where((ends[:, 0] < 24) != (ends[:, 1] < 24), -0.3, 0.0)
    (part,) = fabric_of(centres, ends, 64, 0.07, 0.01).parts
    assert (part.kind, part.groups) == ("cut", (tuple(range(24)), tuple(range(24, 64))))


@pytest.mark.parametrize("share", [0.5, 0.88])
@pytest.mark.parametrize(
    ("nodes", "group"), [(4, (0, 1)), (16, range(8)), (16, (3, 9)), (9, range(4))]
)
def test_a_slow_trunk_is_a_cut_between_its_two_sides(nodes, group, share):
    rest = tuple(n for n in range(nodes) if n not in group)
    parts = [("cut", tuple(sorted([tuple(group), rest])))]
    assert fabric(nodes, cuts=[group], share=share) == (parts, [])


def test_slow_uplinks_of_all_switches_are_one_cut_between_their_groups():
    leaves = [range(4 * i, 4 * i + 4) for i in range(4)]
    assert fabric(16, cuts=leaves)[0] == [("cut", tuple(tuple(leaf) for leaf in leaves))]


def test_slow_pairs_between_two_switches_of_three_are_a_cut_between_those():
    pairs = [(one, other) for one in range(4) for other in range(4, 8)]
    assert fabric(12, pairs=pairs) == ([("cut", ((0, 1, 2, 3), (4, 5, 6, 7)))], [])


def test_a_cut_a_slow_link_and_a_slow_pair_are_told_apart_and_nothing_else_is_blamed():
    parts, single = fabric(16, cuts=[range(8)], links=[12], pairs=[(1, 3)], share=0.4)
    assert parts == [("link", ((12,),)), ("cut", (tuple(range(8)), (*range(8, 12), 13, 14, 15)))]
    assert single == [(1, 3)]
    assert [fabric(nodes) for nodes in (2, 3, 4, 16)] == [([], [])] * 4


def test_the_level_is_that_of_the_upper_cluster():
    rng = np.random.default_rng(5)
    for slow, nodes in ((1, 16), (9, 16), (14, 16), (2, 4), (1, 2), (700, 1000)):
        centres = 0.005 * rng.standard_normal(nodes)
        centres[:slow] -= 0.22
        top = top_of(centres, 0.05, 0.005)
        assert top.level == pytest.approx(0, abs=0.01), (slow, nodes)
        assert top.good.sum() == nodes - slow
    # A node that is better is an exception.
    top = top_of(np.array([0.0, 0.001, 0.002, -0.001, 0.2, 0.0, 0.001, 0.0]), 0.05, 0.005)
    assert top.level == pytest.approx(0, abs=0.005)


@pytest.mark.parametrize("draw", ["standard_normal", "uniform", "standard_exponential"])
def test_one_cluster_is_not_cut_in_two(draw):
    rng = np.random.default_rng(6)
    for nodes in (4, 8, 16, 100):
        for _ in range(50):
            centres = 0.006 * getattr(rng, draw)(size=nodes)
            assert top_of(centres, 0.05, 0.005).good.all()


def test_peers_do_not_see_what_drifts_for_all_and_miss_no_hole():
    rng = np.random.default_rng(2)
    logs = 0.01 * rng.standard_normal((16, 5)) + np.array([0, 0.3, -0.2, 0.1, 0])
    logs[3, 1] = np.nan
    peers = peers_of(logs)
    assert peers.counts.tolist() == [5, 5, 5, 4, *[5] * 12]
    assert peers.noise == pytest.approx(0.01, rel=0.25)
    assert np.ptp(peers.centres) < 0.04


@pytest.mark.parametrize("n", [3, 5, 8, 14])
@pytest.mark.parametrize("draw", ["normal", "lognormal", "standard_t"])
def test_pooled_bounds_of_peers_are_kept_as_often_as_promised(n, draw):
    rng = np.random.default_rng(8)
    shape = {"normal": (0, 1), "lognormal": (0, 0.5), "standard_t": (3,)}[draw]
    low, high = [], []
    for _ in range(200):
        peers = peers_of(np.log1p(0.01 * getattr(rng, draw)(*shape, size=(16, n))))
        true = np.median(np.log1p(0.01 * getattr(rng, draw)(*shape, size=2000)))
        lows, highs = reach_of(peers, true, 0.95)
        shift = np.median(peers.centres) - true
        low.append(lows - shift <= 0)
        high.append(highs - shift >= 0)
    assert np.mean(low) >= 0.92 and np.mean(high) >= 0.92


def test_bounds_of_peers_are_wider_where_neighbouring_launches_are_alike():
    logs = np.random.default_rng(9).standard_normal((6, 12))
    alike = logs.copy()
    for block in range(1, 12):
        alike[:, block] += 0.9 * alike[:, block - 1]
    assert peers_of(logs).wider < 1.3
    assert peers_of(alike).wider > 1.5
    straight, wide = (reach_of(replace(peers_of(alike), wider=w), 0.0, 0.95) for w in (1.0, 2.0))
    assert (wide[0] < straight[0]).all() and (wide[1] > straight[1]).all()
