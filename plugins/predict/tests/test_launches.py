# SPDX-License-Identifier: Apache-2.0
"""Intervals from resampled launches, lack of fit, and segments that are no lines."""

import numpy as np
import pytest

from plugins.predict.launches import lack_of_fit, with_launches
from plugins.predict.point_to_point import _fit, segmented
from plugins.predict.tests.test_point_to_point import ALPHA_S, BETA, SIZES, times

pytestmark = pytest.mark.numerical

LIMIT = 16384
#: A curve that no line describes: 25 % rms off, five launches of 3 % and 5 % noise.
WAVY = [9600, 16384, 32768, 65536, 98304, 131072, 262144, 1048576]


def drawn(exact_s, luck, n, seed):
    """Launches of a curve, a row a size, a column a launch. `luck`: what launches share, what each
    size has of its own, and whether tails are heavy."""
    rng = np.random.default_rng([seed, n])
    shared, own, heavy = luck

    def draw(*shape):
        return 0.88 * rng.standard_t(3, shape) if heavy else rng.standard_normal(shape)

    noise = shared * draw(1, n) + own * draw(len(exact_s), n)
    return np.asarray(exact_s, dtype=float)[:, np.newaxis] * np.exp(noise)


def modelled(sizes, launches):
    """Segments that the report makes of launches."""
    found = segmented(sizes, np.median(launches, axis=1).tolist())
    return with_launches(found, sizes, launches)


def covered(luck, n, curves=40):
    """Shares of intervals of α, R∞ and n½ of two segments that hold the truth."""
    hits = np.zeros(3)
    for seed in range(curves):
        model = modelled(SIZES, drawn(times(LIMIT, 20e-6), luck, n, seed))
        for line, alpha in ((model.segments[0], ALPHA_S), (model.segments[-1], ALPHA_S + 20e-6)):
            known = (alpha, 1 / BETA, alpha / BETA)
            found = (line.alpha, line.bandwidth, line.half_length)
            hits += [one.low <= value <= one.high for one, value in zip(found, known, strict=True)]
    return hits / (2 * curves)


@pytest.mark.full
@pytest.mark.parametrize("n", [5, 8])
@pytest.mark.parametrize("luck", [(0.1, 0.01, False), (0.0, 0.05, False), (0.03, 0.02, True)])
def test_the_intervals_hold_the_truth(luck, n):
    assert (covered(luck, n) >= 0.88).all()


def test_few_launches_give_no_interval_but_a_test():
    four, two = (
        modelled(SIZES, drawn(times(), (0.03, 0.02, False), n, 1)).segments[0] for n in (4, 2)
    )
    assert four.alpha is None and four.lack_of_fit > 0.01
    assert two.lack_of_fit is two.poor is None


def test_lack_of_fit_is_found_at_its_level_and_no_launch_effect_is_one():
    m = np.array(SIZES[:20], dtype=float)
    exact_s = ALPHA_S + 1e-7 * m
    found = []
    for seed in range(200):
        launches = drawn(exact_s, (0.2, 0.02, False), 5, seed)
        line = _fit(m, np.median(launches, axis=1))
        found.append(lack_of_fit(line, m, launches))
    assert np.mean(np.array(found) < 0.05) <= 0.1
    assert np.mean(np.array(found) < 0.5) >= 0.3
    bent = drawn(exact_s * (1 + 0.1 * np.sin(m / 40)), (0.2, 0.02, False), 5, 1)
    line = _fit(m, np.median(bent, axis=1))
    assert lack_of_fit(line, m, bent) < 1e-4


def test_times_off_every_line_give_no_latency_and_a_negative_start_up_time_is_no_line():
    m = np.array(WAVY, dtype=float)
    exact_s = m / 90e6 * (1 + 0.35 * np.sin(2.5 * np.log(m)))
    model = modelled(WAVY, drawn(exact_s, (0.03, 0.05, False), 5, 1))
    assert all(line.poor for line in model.segments)
    (line, *_) = modelled(WAVY, drawn(m / 90e6 - 60e-6, (0.0, 0.02, False), 5, 1)).segments
    assert line.alpha_s == 0.0 and line.poor


def test_exact_repeats_have_no_lack_of_fit():
    model = modelled(SIZES, np.tile(np.array(times(LIMIT, 20e-6))[:, np.newaxis], 5))
    assert [line.poor for line in model.segments] == [None, None]
    for line in model.segments:
        assert line.alpha.low == pytest.approx(line.alpha.high)


def test_missing_launches_cost_themselves_only():
    launches = drawn(times(LIMIT, 20e-6), (0.03, 0.02, False), 8, 3)
    whole = modelled(SIZES, launches).segments[0]
    launches[5, 2] = launches[40, 7] = np.nan
    found = segmented(SIZES, np.nanmedian(launches, axis=1).tolist())
    model = with_launches(found, SIZES, launches)
    alpha = model.segments[0].alpha
    assert (alpha.low, alpha.high) == pytest.approx((whole.alpha.low, whole.alpha.high), rel=0.02)
    (switch,) = model.switches
    assert switch.low_bytes <= LIMIT < switch.high_bytes


def test_the_same_launches_give_the_same_intervals():
    launches = drawn(times(LIMIT, 20e-6), (0.03, 0.02, False), 6, 1)
    assert modelled(SIZES, launches) == modelled(SIZES, launches)
