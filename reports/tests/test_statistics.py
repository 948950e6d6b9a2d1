# SPDX-License-Identifier: Apache-2.0
"""Summaries, ratios and signed ranks against SciPy and slow oracles; bounds that hold together."""

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped]

from reports.analysis.cells import LEAST_DIFFERENCE, ComparisonJudgement
from reports.statistics import descriptive
from reports.statistics.descriptive import Matrix, paired_effect, paired_effects, summarise
from reports.statistics.max_t import JointBounds, Question, answers, detectable_at_least_blocks

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
    found = descriptive.median_weights(n)
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
    for row, found in zip(matrix, descriptive.summarise_rows(matrix), strict=True):
        alone = summarise(row.tolist())
        assert found.mean == pytest.approx(alone.mean, rel=1e-12)
        assert found.median_interval == alone.median_interval


def test_ratio_of_independent_runs_agrees_with_welch() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.lognormal(0, 0.1, 6).tolist(), rng.lognormal(0.2, 0.3, 9).tolist()
    found = descriptive.log_ratio_interval(a, b)
    oracle = stats.ttest_ind(np.log(b), np.log(a), equal_var=False).confidence_interval(0.95)
    assert found is not None
    assert (found[1].low, found[1].high) == pytest.approx(tuple(np.exp(oracle)))


def test_ratio_needs_two_positive_values_each() -> None:
    assert descriptive.log_ratio_interval([1.0], [1.0, 2.0]) is None
    assert descriptive.log_ratio_interval([0.0, 1.0], [1.0, 2.0]) is None
    found = descriptive.log_ratio_interval([1.0, 1.0], [2.0, 2.0])
    assert found and (found[0], found[1].low, found[1].high) == pytest.approx((2, 1, 4))


def test_all_zero_differences_have_ratio_one() -> None:
    effect = paired_effect([2.0] * 6, [2.0] * 6)
    assert (effect.ratio, effect.log_stddev) == (1.0, 0.0)


def test_few_blocks_reach_what_2_to_the_n_allows() -> None:
    five = paired_effect([2.0, 2.1, 2.2, 2.05, 2.15], [1.0] * 5)
    assert five.interval.level == pytest.approx(0.9375)
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


def judged(rows: Matrix) -> list[JointBounds]:
    blocks = np.arange(1, rows.shape[1] + 1)
    found = answers([Question(blocks, row) for row in rows])
    assert all(found)
    return [answer for answer in found if answer]


def test_one_question_has_nearly_the_interval_of_student() -> None:
    rows = np.random.default_rng(1).normal(0, 1, (200, 12))
    held = np.mean([answer.low <= 0 <= answer.high for row in rows for answer in judged(row[None])])
    assert held == pytest.approx(0.95, abs=0.04)


def test_what_questions_share_counts_once() -> None:
    row = np.random.default_rng(3).normal(0.5, 1, 12)
    (alone,), many = judged(row[None]), judged(np.repeat(row[None], 40, axis=0))
    assert (many[0].low, many[0].high) == pytest.approx((alone.low, alone.high))
    rows = np.random.default_rng(4).normal(0, 1, (40, 12))
    other, scale = judged(rows)[0], rows[0].std(ddof=1) / row.std(ddof=1)
    assert other.high - other.low > 1.2 * (alone.high - alone.low) * scale


def test_p_and_bounds_say_the_same() -> None:
    rng = np.random.default_rng(5)
    for _ in range(30):
        for answer in judged(rng.normal(0, 1, (8, 10)) + rng.normal(0, 1, (8, 1))):
            assert (answer.p <= 0.05) == (not answer.low <= 0 <= answer.high)


def test_five_blocks_have_no_answer_and_do_not_disturb_others() -> None:
    rng = np.random.default_rng(6)
    few = Question(np.arange(1, 6), rng.normal(0, 1e-6, 5))
    row = Question(np.arange(1, 11), rng.normal(0, 1, 10))
    (alone,), both = answers([row]), answers([few, row])
    assert both == [None, alone]


def test_equal_values_bound_nothing() -> None:
    """Ties say nothing of the variance: zeros have no bounds, another value has its own size."""
    rows = np.array([[0.0] * 8, [0.3] * 8, np.random.default_rng(2).normal(0, 0.01, 8)])
    nothing, something, measured = judged(rows)
    told = ComparisonJudgement.of(nothing)
    assert (nothing.low, nothing.high, nothing.p) == (-np.inf, np.inf, 1)
    assert (told.word, told.told(3)) == ("not resolved", "no bounds")
    assert (something.low, something.high) == pytest.approx((0, 0.6), abs=1e-9)
    assert something.p > 0.04 and ComparisonJudgement.of(something).word == "not slower"
    assert measured.high - measured.low < np.inf


@pytest.mark.full(sample=2)
@pytest.mark.parametrize("noise", [0.0, 0.001, 0.002, 0.004, 0.006, 0.008])
def test_a_coarse_timer_makes_no_winner(noise: float) -> None:
    """Six blocks of equal libraries whose times are multiples of 1 % (before: 1 to 23 of 25)."""
    rng = np.random.default_rng(int(1e4 * noise))
    false = 0
    for _ in range(200):
        times = np.round(1.003 * np.exp(rng.normal(0, noise, (2, 5, 6))), 2)
        rows = np.log(times[0] / times[1])
        found = [ComparisonJudgement.of(answer) for answer in judged(rows)]
        assert not any(np.isnan(one.low) or one.low == one.high for one in found)
        false += any(one.word in ("faster", "slower") or one.separated for one in found)
    assert false <= stats.binom.ppf(0.999, 200, 0.05)


def test_no_factor_is_told_that_six_coarse_values_cannot_show() -> None:
    """Times of 1 with noise of 8 % in steps of 10 %."""
    for seed in range(100):
        times = np.round(np.exp(np.random.default_rng(seed).normal(0, 0.08, (2, 60, 6))), 1)
        for one in map(ComparisonJudgement.of, judged(np.log(times[0] / times[1]))):
            assert not one.bounded or one.high / one.low <= 100
            assert one.detectable <= 10.3 or one.detectable == np.inf
    apart = ComparisonJudgement.of(JointBounds(np.log(1.5), np.log(300), 0.01, 1.0))
    assert (apart.word, apart.bounded) == ("faster", True)


def test_a_row_of_ties_takes_no_bounds_from_the_others() -> None:
    rows = np.random.default_rng(8).normal(1, 0.05, (20, 6))
    tied = np.array([[0.0, 0.01, 0.0, 0.01, 0.01, 0.0], [0.01] * 6, [0.0] * 6])
    alone, beside = judged(rows), judged(np.concatenate([rows, tied]))
    for one, other in zip(alone, beside, strict=False):
        assert other.high - other.low < 2 * (one.high - one.low)
    for one in beside[20:]:
        assert one.low <= 0 <= one.high


@pytest.mark.parametrize("grid", [0.01, 1e-3])
def test_intervals_are_not_narrower_than_the_grid_of_their_values(grid: float) -> None:
    ties = np.array([[0, 0, 0, 0, 0, grid, 0, 0], [grid] * 8, [0, grid] * 4])
    for row, effect in zip(ties, paired_effects(ties), strict=True):
        low, high = np.log([effect.interval.low, effect.interval.high])
        assert high - low >= 2 * grid * (1 - 1e-9), row
        assert low <= 1e-12
    for n in (3, 4):
        found = descriptive.log_ratio_interval([1.0] * n, [1 + grid] * n)
        assert found is not None and found[1].low <= 1 <= found[1].high
    far = descriptive.log_ratio_interval([1.0, 1 + grid, 1.0], [2.0, 2 + grid, 2.0])
    assert far is not None and far[1].low > 1.9


@pytest.mark.full(sample=1)
@pytest.mark.parametrize("n", [6, 8, 12])
def test_the_detectable_difference_is_found_four_times_in_five(n: int) -> None:
    """Each campaign's own figure, planted in another one: what a reader does with it."""
    rng = np.random.default_rng(n)
    shifts = (judged(rng.normal(0, 1, (5, n)))[0].detectable for _ in range(300))
    found = [shown(rng.normal(0, 1, (5, n)), shift) for shift in shifts]
    assert np.mean(found) == pytest.approx(0.8, abs=0.075)  # two standard errors more than 0.03


def shown(again: Matrix, shift: float) -> bool:
    again[0] += shift
    return judged(again)[0].low > 0


def test_what_five_blocks_call_detectable_six_find_four_times_in_five() -> None:
    rng, least = np.random.default_rng(1), detectable_at_least_blocks(5, 5)
    scatters = (float(rng.normal(0, 1, 5).std(ddof=1)) for _ in range(200))
    found = [shown(rng.normal(0, 1, (5, 6)), scatter * least) for scatter in scatters]
    assert np.mean(found) == pytest.approx(0.8, abs=0.09)


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        *((1.031, 1.2, "faster"), (1.01, 1.2, "not slower"), (0.975, 1.2, "not slower")),
        *((0.9, 0.97, "slower"), (0.971, 1.029, "equivalent"), (0.9, 1.2, "not resolved")),
        (0.9705, 1.0, "not faster"),  # 0.97 < 0.9705 < 1/1.03
    ],
)
def test_words_turn_round_with_the_pair(low: float, high: float, word: str) -> None:
    other = {"faster": "slower", "slower": "faster"}
    turned = " ".join(other.get(one, one) for one in word.split())
    assert ComparisonJudgement(low, high, 0.5, 1.1).word == word
    assert ComparisonJudgement(1 / high, 1 / low, 0.5, 1.1).word == turned
    assert LEAST_DIFFERENCE == 1.03


def test_limits_of_a_share_agree_with_scipy() -> None:
    for count, n in ((0, 12), (1, 12), (3, 12), (12, 12), (15, 60)):
        oracle = stats.binomtest(count, n).proportion_ci(0.95, method="exact")
        found = descriptive.clopper_pearson(count, n)
        assert (found.low, found.high) == pytest.approx((oracle.low, oracle.high))
        one_sided = stats.fisher_exact([[count, n - count], [2, 28]], alternative="greater").pvalue
        assert descriptive.fisher_greater(count, n, 2, 30) == pytest.approx(one_sided)


def test_neighbouring_blocks_are_compared() -> None:
    rows = np.random.default_rng(8).normal(0, 1, (400, 12))
    off = rows[0] - rows[0].mean()
    lag_1 = np.sum(off[1:] * off[:-1]) / np.sum(off**2)
    assert descriptive.lag_1(rows[:1])[0] == pytest.approx(lag_1)
    assert not descriptive.serial_dependence(list(rows)).found
    alike = np.array(rows)
    for block in range(1, 12):
        alike[:, block] = 0.7 * alike[:, block - 1] + 0.7 * rows[:, block]
    found = descriptive.serial_dependence(list(alike))
    assert found.found and found.wider == pytest.approx(np.sqrt(1.7 / 0.3), rel=0.25)
