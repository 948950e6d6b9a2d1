# SPDX-License-Identifier: Apache-2.0
"""Summaries, ratios and signed ranks against SciPy and slow oracles."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped]

from reports.statistics.descriptive import (
    log_ratio_interval,
    median_weights,
    paired_effect,
    paired_effects,
    summarise,
    summarise_rows,
)

pytestmark = pytest.mark.numerical


@pytest.mark.parametrize("n", [2, 3, 5, 6, 17, 40])
def test_summary_agrees_with_scipy(n: int) -> None:
    values = np.random.default_rng(n).lognormal(0, 0.4, n)
    found = summarise(values.tolist())
    assert found.n == n
    told = (found.mean, found.stddev, found.cv, found.median, found.least, found.greatest)
    spread = values.std(ddof=1), stats.variation(values, ddof=1)
    ends = np.median(values), values.min(), values.max()
    assert told == pytest.approx((values.mean(), *spread, *ends))
    expected = stats.t.interval(0.95, n - 1, values.mean(), stats.sem(values))
    assert found.mean_interval is not None
    assert (found.mean_interval.low, found.mean_interval.high) == pytest.approx(expected)


def test_one_value_has_no_spread_and_mean_zero_no_cv_and_no_value_is_refused() -> None:
    found = summarise([4.0])
    assert (found.n, found.mean, found.median) == (1, 4.0, 4.0)
    assert (found.stddev, found.cv, found.mean_interval) == (None, None, None)
    assert summarise([-1.0, 1.0]).cv is summarise([0.0, 0.0]).cv is None
    with pytest.raises(ValueError, match="at least one"):
        summarise([])


@pytest.mark.parametrize("value", [0.1, 6.8e-6, 1e300, -3.0])
def test_equal_values_have_spread_zero_exactly(value: float) -> None:
    found = summarise([value] * 7)
    assert (found.mean, found.stddev, found.cv) == (value, 0.0, 0.0)
    assert found.outliers == ()


@pytest.mark.parametrize(("n", "rank"), [(6, 1), (10, 2), (15, 4), (20, 6), (30, 10)])
def test_median_ranks_of_the_literature(n: int, rank: int) -> None:
    found = median_weights(n)
    assert found and found[0] == rank


def test_median_interval_does_not_exist_below_five() -> None:
    assert summarise([1.0, 2.0, 3.0, 4.0]).median_interval is None
    found = summarise([1.0, 2.0, 3.0, 4.0, 5.0]).median_interval
    assert found and (found.low, found.high, found.level) == (1.0, 5.0, 0.9375)


def test_median_interval_lies_between_those_of_neighbouring_ranks() -> None:
    row = np.sort(np.random.default_rng(4).lognormal(0, 1, 10))
    found = summarise(row.tolist()).median_interval
    assert found and row[1] <= found.low <= row[2]
    assert row[7] <= found.high <= row[8]


@pytest.mark.parametrize(
    ("values", "flagged"),
    [
        ([1.0, 1.01, 0.99, 1.02, 0.98, 3.0, 1.0], (5,)),
        ([2.0] * 8 + [5.0], (8,)),  # among equal values, where the MAD is zero
        ([1.0, 1.0, 1.0, 1.0, 1.0, 9.0], ()),  # too few
    ],
)
def test_outliers_are_flagged_and_kept(values: list[float], flagged: tuple[int, ...]) -> None:
    found = summarise(values)
    assert (found.outliers, found.greatest) == (flagged, max(values))


def test_rows_are_independent_of_each_other() -> None:
    matrix = np.random.default_rng(0).normal(5, 1, (20, 9)) * np.logspace(-9, 9, 20)[:, None]
    for row, found in zip(matrix, summarise_rows(matrix), strict=True):
        alone = summarise(row.tolist())
        assert found.mean == pytest.approx(alone.mean, rel=1e-12)
        assert found.median_interval == alone.median_interval


def test_ratio_of_independent_runs_agrees_with_welch() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.lognormal(0, 0.1, 6).tolist(), rng.lognormal(0.2, 0.3, 9).tolist()
    found = log_ratio_interval(a, b)
    oracle = stats.ttest_ind(np.log(b), np.log(a), equal_var=False).confidence_interval(0.95)
    assert found is not None
    assert (found[1].low, found[1].high) == pytest.approx(tuple(np.exp(oracle)))


def test_ratio_needs_two_positive_values_each() -> None:
    assert log_ratio_interval([1.0], [1.0, 2.0]) is None
    assert log_ratio_interval([0.0, 1.0], [1.0, 2.0]) is None
    found = log_ratio_interval([1.0, 1.0], [2.0, 2.0])
    assert found and (found[0], found[1].low, found[1].high) == pytest.approx((2, 1, 4))


def test_all_zero_differences_have_ratio_one() -> None:
    effect = paired_effect([2.0] * 6, [2.0] * 6)
    assert (effect.ratio, effect.log_stddev) == (1.0, 0.0)


def test_few_blocks_reach_what_2_to_the_n_allows() -> None:
    effect = paired_effect([2.0, 2.1, 2.2, 2.05, 2.15], [1.0] * 5)
    assert effect.interval.level == pytest.approx(0.9375)
    assert paired_effect([1.0, 2.0, 3.0], [1.1, 2.1, 3.3]).interval.level == pytest.approx(0.75)
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
