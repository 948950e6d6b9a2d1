# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped]

from reports.statistics.descriptive import one_sided_bound
from reports.statistics.signed_rank import friedman

pytestmark = pytest.mark.numerical

SKEWED = np.random.default_rng(5).lognormal(0, 0.6, 25)


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
