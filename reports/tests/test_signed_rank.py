# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped]

from reports.statistics.signed_rank import (
    least_n,
    paired_effect,
    paired_effects,
    signed_rank_p,
    tied_p,
)

pytestmark = pytest.mark.numerical


def brute_force_p(d: np.ndarray) -> float:
    """All sign patterns of the mid-ranks, slow."""
    d = d[d != 0]
    ranks = stats.rankdata(np.abs(d))
    centre = ranks.sum() / 2
    observed = abs(ranks[d > 0].sum() - centre)
    sums = np.array([*product((0, 1), repeat=len(d))]) @ ranks
    return float(np.mean(np.abs(sums - centre) >= observed - 1e-9))


@pytest.mark.parametrize("n", [3, 5, 8, 12, 25])
def test_p_agrees_with_scipy(n: int) -> None:
    rows = np.random.default_rng(n).normal(0.3, 1, (30, n))
    oracle = [stats.wilcoxon(row, method="exact").pvalue for row in rows]
    assert signed_rank_p(rows) == pytest.approx(oracle)


def test_p_with_ties_and_zeros_agrees_with_all_sign_patterns() -> None:
    rows = np.random.default_rng(2).integers(-3, 5, (40, 8)).astype(float)
    for row in rows:
        assert tied_p(row) == pytest.approx(brute_force_p(row))


def test_all_zero_differences_have_p_one() -> None:
    effect = paired_effect([2.0] * 6, [2.0] * 6)
    assert (effect.p, effect.ratio, effect.log_stddev) == (1.0, 1.0, 0.0)


def test_few_blocks_reach_what_2_to_the_n_allows() -> None:
    effect = paired_effect([2.0, 2.1, 2.2, 2.05, 2.15], [1.0] * 5)
    assert effect.p == effect.least_p == 0.0625
    assert effect.interval.level == pytest.approx(0.9375)
    assert paired_effect([1.0, 2.0, 3.0], [1.1, 2.1, 3.3]).interval.level == pytest.approx(0.75)
    assert paired_effect([*range(2, 13)], [1.0] * 11).p * 40 <= 0.05
    assert [least_n(0.05), least_n(0.05 / 40)] == [6, 11]
    with pytest.raises(ValueError, match="3 blocks"):
        paired_effect([1.0, 2.0], [1.0, 2.0])


def test_estimate_is_the_median_of_walsh_averages() -> None:
    rng = np.random.default_rng(5)
    a, b = rng.lognormal(0.1, 0.2, 9), rng.lognormal(0, 0.2, 9)
    d = np.log(a / b)
    walsh = [(d[i] + d[j]) / 2 for i in range(9) for j in range(i, 9)]
    assert paired_effect(a.tolist(), b.tolist()).ratio == pytest.approx(np.exp(np.median(walsh)))


def test_interval_is_the_inversion_of_the_test() -> None:
    d = np.random.default_rng(6).normal(0.1, 0.2, 10)
    effect = paired_effects(d[None, :])[0]
    for edge, inside in ((np.log(effect.interval.low), 1), (np.log(effect.interval.high), -1)):
        alpha = 1 - effect.interval.level
        assert stats.wilcoxon(d - edge - inside * 1e-6).pvalue > alpha - 1e-12
        assert stats.wilcoxon(d - edge + inside * 1e-6).pvalue <= alpha + 1e-12
