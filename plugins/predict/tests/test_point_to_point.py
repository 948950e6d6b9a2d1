# SPDX-License-Identifier: Apache-2.0
"""Lines and protocol segments on data of known laws, and against slow searches."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from scipy.optimize import lsq_linear, nnls  # type: ignore[import-untyped]

from plugins.predict.parts import best_edges, costs_of_parts
from plugins.predict.point_to_point import _fit, segmented

pytestmark = pytest.mark.numerical

ALPHA_S, BETA = 20e-6, 1e-9
#: Four sizes an octave, 8 bytes to 512 KiB.
SIZES = sorted({round(8 * 2 ** (k / 4)) for k in range(65)})
#: Smooth times in s of lengths in bytes; a step multiplies the first law by a factor.
SMOOTH = {
    "a straight line": lambda m: ALPHA_S + BETA * m,
    "a line that bends upwards": lambda m: ALPHA_S + BETA * m * (1 + 0.1 * np.log2(1 + m / 4096)),
    "a power of the length": lambda m: 1e-6 * m**0.7,
    "α and a power": lambda m: ALPHA_S + 5e-9 * m**0.9,
    "a bow": lambda m: ALPHA_S * (1 + (m / 20000) ** 0.8) ** 1.2,
}
#: Few lengths: 64 B to 256 KiB, and 1 B to 16 MiB.
FEW = tuple(64 * 2**k for k in range(13)), tuple(4**k for k in range(13))


def times(limit=None, step_s=0.0, noise=0.0, seed=0, bend=0.0):
    """α + β·m, `step_s` more above `limit`, a slope steeper by `bend` there, relative noise."""
    m = np.array(SIZES, dtype=float)
    above = m > (limit or np.inf)
    t = ALPHA_S + BETA * m + np.where(above, step_s + bend * BETA * (m - (limit or 0)), 0.0)
    return (t * (1 + noise * np.random.default_rng(seed).standard_normal(len(m)))).tolist()


def found_in(sizes, times, noise, curves):
    """The switches found in so many curves of one noisy time a size, seeds 0 and up."""
    luck = [np.random.default_rng(seed).standard_normal(len(times)) for seed in range(curves)]
    noisy = [(times * np.exp(noise * own)).tolist() for own in luck]
    return [segmented(sizes, one).switches for one in noisy]


def packets(size, alpha_s=5e-6):
    """Times of SIZES in packets that are sent whole, s: stairs, without a switch of protocol."""
    return alpha_s + BETA * size * np.ceil(np.array(SIZES) / size)


def test_a_line_recovers_its_law():
    line = _fit(np.array(SIZES, dtype=float), np.array(times()))
    assert (line.alpha_s, line.beta_s_per_byte) == pytest.approx((ALPHA_S, BETA), rel=1e-9)
    assert line.half_length_bytes == pytest.approx(20_000)
    assert line.bandwidth_bytes_per_s == pytest.approx(1e9)
    assert line.rms < 1e-12
    assert (line.first_bytes, line.last_bytes, line.points) == (8, SIZES[-1], len(SIZES))


@pytest.mark.parametrize("seed", range(10))
def test_a_line_is_the_non_negative_least_squares_of_relative_residuals(seed):
    rng = np.random.default_rng(seed)
    m = np.cumsum(rng.integers(1, 2000, 12))
    t = rng.uniform(1e-6, 1e-5, 12) + rng.uniform(-2e-10, 2e-9) * m
    expected, residual = nnls(np.column_stack([1 / t, m / t]), np.ones(12))
    line = _fit(m.astype(float), t)
    assert line.alpha_s == pytest.approx(expected[0], rel=1e-6, abs=1e-12)
    assert line.beta_s_per_byte == pytest.approx(expected[1], rel=1e-6, abs=1e-16)
    assert line.rms == pytest.approx(residual / np.sqrt(12), rel=1e-6)


def test_constant_times_have_no_bandwidth():
    line = _fit(np.array([0.0, 1.0, 2.0, 4.0]), np.full(4, 5e-6))
    assert (line.alpha_s, line.beta_s_per_byte) == (pytest.approx(5e-6), 0.0)
    assert line.half_length_bytes is line.bandwidth_bytes_per_s is None


@pytest.mark.parametrize("seed", range(5))
def test_the_search_finds_what_trying_all_breaks_finds(seed):
    rng = np.random.default_rng(seed)
    m = np.cumsum(rng.integers(1, 5000, 16)).astype(float)
    t = rng.uniform(1e-6, 2e-5, 16)
    costs = costs_of_parts(m, t)
    found = best_edges(costs, 3)

    def cost(edges):
        return sum(costs[low, high] for low, high in pairwise(edges))

    for parts in (2, 3):
        tried = min(cost([0, *inner, 16]) for inner in combinations(range(17), parts - 1))
        assert cost(found[parts - 1]) == pytest.approx(tried)
    bounds = ([-np.inf, 0], [np.inf, np.inf])
    for high in range(4, 17):
        table = np.column_stack([1 / t[:high], m[:high] / t[:high]])
        slow = lsq_linear(table / table.max(axis=0), np.ones(high), bounds)
        assert costs[0, high] == pytest.approx(2 * slow.cost, rel=1e-6, abs=1e-9)


@pytest.mark.full(sample=3)
@pytest.mark.parametrize("limit", [16384, 65536, 131072])
@pytest.mark.parametrize("noise", [0.0, 0.01, 0.02])
def test_a_switch_is_found_in_the_interval_that_holds_it(limit, noise):
    for seed in range(5):
        result = segmented(SIZES, times(limit, 40e-6, noise, seed))
        assert len(result.switches) == 1, (limit, noise, seed)
        switch = result.switches[0]
        assert switch.below_bytes <= limit < switch.above_bytes
        assert switch.step > 0.1


def test_two_switches_are_both_found():
    m = np.array(SIZES, dtype=float)
    data = ALPHA_S + BETA * m + 20e-6 * (m > 1024) + 60e-6 * (m > 32768)
    switches = segmented(SIZES, data.tolist()).switches
    assert [one.below_bytes <= 1024 < one.above_bytes for one in switches] == [True, False]
    assert switches[1].below_bytes <= 32768 < switches[1].above_bytes


@pytest.mark.parametrize("noise", [0.0, 0.01, 0.02, 0.05])
def test_a_line_without_a_switch_gives_none(noise):
    for seed in range(20):
        assert not segmented(SIZES, times(noise=noise, seed=seed)).switches


@pytest.mark.full(sample=2)
@pytest.mark.parametrize("sizes", FEW)
@pytest.mark.parametrize("law", SMOOTH)
def test_few_noisy_lengths_on_a_smooth_curve_give_no_switch(law, sizes):
    found = found_in(sizes, SMOOTH[law](np.array(sizes, dtype=float)), 0.1, 50)
    assert sum(map(bool, found)) <= 5  # 5 % are allowed; six of 50 have a probability of 4 %


@pytest.mark.full(sample=1)
@pytest.mark.parametrize("noise", [0.03, 0.05])
@pytest.mark.parametrize("size", [4096, 16384, 65536])
def test_stairs_of_packets_give_no_switch(size, noise):
    found = found_in(tuple(SIZES), packets(size), noise, 20)
    assert sum(map(bool, found)) <= 3  # 5 % are allowed; four of 20 have a probability of 2 %


@pytest.mark.full(sample=1)
@pytest.mark.parametrize("sizes", FEW)
@pytest.mark.parametrize("noise", [0.0, 0.02, 0.1])
def test_few_noisy_lengths_give_a_clear_step(noise, sizes):
    m = np.array(sizes, dtype=float)
    found = found_in(sizes, np.where(m > sizes[4], 3.0, 1.0) * (ALPHA_S + BETA * m), noise, 10)
    assert sum(any(s.below_bytes == sizes[4] for s in one) for one in found) >= 8


@pytest.mark.parametrize("noise", [0.0, 0.01, 0.03])
def test_a_bend_is_a_break_and_no_switch(noise):
    for seed in range(10):
        result = segmented(SIZES, times(16384, 0.0, noise, seed, bend=4.0))
        assert len(result.segments) > 1
        assert not result.switches, (noise, seed)


def test_lines_that_cross_where_the_right_one_is_below_zero_are_a_bend():
    sizes = [64 * 4**step for step in range(9)]
    m = np.array(sizes, dtype=float)
    rise = 2 * BETA * 20e3 * np.logaddexp(0, (m - 60e3) / 20e3)  # three times the slope from 60 kB
    assert not any(found_in(tuple(sizes), ALPHA_S + BETA * m + rise, 0.03, 20))
