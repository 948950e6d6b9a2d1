# SPDX-License-Identifier: Apache-2.0
"""Whether launches side by side disturbed each other, from runs whose truth is known."""

import math

import numpy as np
import pytest

from reports.analysis.neighbours import Neighbours, neighbours_of
from reports.analysis.run import analyse
from reports.load.loading import load_run
from reports.statistics.signed_rank import Shift, stratified_shift
from reports.tests.synthetic import case, changed, write_run
from reports.verdicts.choice.answer import answer_of
from reports.verdicts.choice.sentences import facts

CASES = [case("startup", "mpich", {"ranks": ranks, "ranks_per_node": 1}) for ranks in range(1, 9)]


def found(folder, alone, worse=1.0, *, in_one_job=True, drawn=True, ran=None, blocks=8):
    """What a run says whose launches ran alone where `alone` of their place is true; `ran`: which
    really did, where not these."""
    places = iter(range(10_000))

    def edit(record):
        place = next(places)
        if not (ran or alone)(place):
            record["neighbours"] = [{"case_id": "x-1", "block": 1, "nodes": ["n9"]}]
            for metric in record["metrics"]:
                metric["value"] *= worse
        return {**record, "drawn_alone": alone(place)} if drawn else record

    run = write_run(folder / "run", CASES, blocks=blocks, edit=edit)
    changed(run / "provenance.json", site={"name": "virtual", "in_one_job": in_one_job})
    return analyse(load_run(run))


def test_neighbours_that_cost_a_tenth_are_said_with_number_and_interval(tmp_path):
    analysis = found(tmp_path, lambda place: place % 3 == 0, worse=1.1)
    told = neighbours_of(analysis)
    assert told.mattered
    assert told.worse.low < np.log(1.1) < told.worse.high
    said = told.told()
    assert said.startswith("Neighbours mattered: launches beside others were")
    assert "n = 22 launches alone, 42 beside others" in said
    assert ("neighbours", said) in facts(analysis).pairs
    assert "launches beside others were" in answer_of(analysis).unknown


def test_neighbours_that_cost_nothing_are_not_accused(tmp_path):
    told = neighbours_of(found(tmp_path, lambda place: place % 3 == 0))
    assert not told.mattered
    assert told.told().startswith("No effect of neighbours was resolved")
    assert told.worse.low < 0 < told.worse.high


@pytest.mark.parametrize(
    ("alone", "said"),
    [
        (lambda _: True, "all 64 launches ran alone"),
        (lambda _: False, "all 64 launches ran beside others"),
        (lambda place: place == 5, "it takes 5 launches alone and beside others"),
    ],
)
def test_what_cannot_be_tested_is_said(tmp_path, alone, said):
    told = neighbours_of(found(tmp_path, alone, drawn=False))
    assert told.told().startswith("Whether neighbours mattered cannot be tested: " + said)


@pytest.mark.parametrize("ran", [lambda _: True, lambda place: place != 7])
def test_a_draw_that_nobody_ran_beside_says_nothing_of_neighbours(tmp_path, ran):
    told = neighbours_of(found(tmp_path, lambda place: place % 3 == 0, ran=ran))
    assert not told.mattered
    why = "all 64 launches ran alone" if ran(7) else "it takes 5 launches alone and beside others"
    assert told.told().startswith(f"Whether neighbours mattered cannot be tested: {why}")


def test_a_draw_that_was_kept_in_part_says_how_many_ran_beside_others(tmp_path):
    analysis = found(tmp_path, lambda place: place % 3 == 0, 1.1, ran=lambda place: place % 3 != 1)
    said = neighbours_of(analysis).told()
    assert "launches drawn to run beside others were" in said
    assert "n = 22 launches alone, 42 drawn to run beside others, of which 21 did)" in said


def test_marks_that_go_with_the_block_give_no_number(tmp_path):
    first = len(CASES)
    analysis = found(tmp_path, lambda place: place >= first, 1.1, drawn=False, blocks=2)
    said = neighbours_of(analysis).told()
    assert said.endswith("cannot be tested: which ran alone went with the block.")


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (0.01, 0.03, "(+1.0 … +3.0 %, n"),
        (-math.inf, 0.03, "(no bound … +3.0 %, n"),
        (0.01, math.inf, "(+1.0 % … no bound, n"),
        (-math.inf, math.inf, "(no bound … no bound, n"),
    ],
)
def test_an_end_without_a_bound_is_no_number(low, high, said):
    shift = Shift(0.02, low, high, 0.5, 6, 6, 3)
    assert said in Neighbours(True, 6, shift, None).told()


def test_launches_with_jobs_of_their_own_say_nothing_of_neighbours(tmp_path):
    assert neighbours_of(found(tmp_path, lambda _: True, in_one_job=False)) is None


def test_the_shift_is_that_of_a_slow_oracle():
    """The median of all differences within cases of one size that share no block."""
    rng = np.random.default_rng(4)
    values = rng.normal(size=20)
    marked = np.arange(20) % 2 == 0
    shift = stratified_shift(np.zeros(20, np.int64), np.zeros(20, np.int64), values, marked)
    differences = np.subtract.outer(values[marked], values[~marked]).ravel()
    ordered = np.sort(differences)
    assert ordered[49] - 1e-6 <= shift.value <= ordered[50] + 1e-6
    # So many of the 100 lie below the interval, by the normal limit of the rank sum.
    below = int(50 - 1.96 * (10 * 10 * 21 / 12) ** 0.5)
    assert shift.low == pytest.approx(ordered[below], abs=1e-5)
    assert shift.high == pytest.approx(ordered[99 - below], abs=1e-5)
