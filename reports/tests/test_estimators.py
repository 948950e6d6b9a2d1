# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped]

from reports.statistics.estimators import (
    Statistic,
    bca_interval,
    modified_z,
    one_sided_bound,
)
from reports.statistics.rank_tests import friedman

pytestmark = pytest.mark.numerical

SKEWED = np.random.default_rng(5).lognormal(0, 0.6, 25)


@pytest.mark.parametrize(("name", "oracle"), [("mean", np.mean), ("geometric mean", stats.gmean)])
def test_bootstrap_interval_agrees_with_scipy(name: Statistic, oracle: object) -> None:
    found = bca_interval(SKEWED.tolist(), name)
    expected = stats.bootstrap(
        (SKEWED,), oracle, method="BCa", n_resamples=9999, rng=np.random.default_rng(2)
    ).confidence_interval
    assert found is not None
    width = expected.high - expected.low
    assert (found.low, found.high) == pytest.approx(tuple(expected), abs=0.05 * width)


def test_bootstrap_is_the_same_for_the_same_seed_and_covers_the_point() -> None:
    found = bca_interval(SKEWED.tolist(), "median", seed=9)
    assert found == bca_interval(SKEWED.tolist(), "median", seed=9)
    assert found is not None
    assert found.low <= np.median(SKEWED) <= found.high


def test_bootstrap_of_few_or_equal_values() -> None:
    assert bca_interval([1.0, 2.0]) is None
    assert bca_interval([2.0] * 5) is None


def test_modified_z_agrees_with_its_formula() -> None:
    values = [10.0, 11.0, 9.0, 10.5, 20.0]
    mad = stats.median_abs_deviation(values)
    assert modified_z(values) == pytest.approx(0.6745 * (np.array(values) - 10.5) / mad)


def test_modified_z_without_spread() -> None:
    assert modified_z([3.0] * 4).tolist() == [0.0] * 4
    assert modified_z([2.0] * 8 + [5.0])[-1] > 3.5


def test_one_sided_bound_agrees_with_scipy_and_covers() -> None:
    oracle = stats.ttest_1samp(SKEWED, 0, alternative="greater").confidence_interval(0.95)
    assert one_sided_bound(SKEWED.tolist(), "lower") == pytest.approx(oracle.low)
    rows = np.random.default_rng(3).normal(1, 0.1, (2000, 5))
    kept = [float(one_sided_bound(row.tolist(), "upper") or 0) >= 1 for row in rows]
    assert np.mean(kept) == pytest.approx(0.95, abs=0.02)
    assert one_sided_bound([1.0], "lower") is None


@pytest.mark.parametrize("ties", [False, True])
def test_friedman_agrees_with_scipy(ties: bool) -> None:
    values = np.random.default_rng(6).normal(0, 1, (9, 4)) + np.array([0, 0.3, 0.6, 0.9])
    values = np.round(values) if ties else values
    found = friedman(values)
    oracle = stats.friedmanchisquare(*values.T)
    assert found is not None
    assert (found.statistic, found.p) == pytest.approx(tuple(oracle))


def test_friedman_without_any_difference_or_too_few() -> None:
    found = friedman(np.ones((5, 3)))
    assert found is not None
    assert (found.statistic, found.p) == (0.0, 1.0)
    assert friedman(np.ones((5, 2))) is None
