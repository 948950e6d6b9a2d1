# SPDX-License-Identifier: Apache-2.0
"""Whether launches side by side disturbed each other, from runs whose truth is known."""

import json

import numpy as np
import pytest

from reports.analysis import analyse
from reports.answer.run import answer_of
from reports.load.loading import load_run
from reports.neighbours import neighbours_of
from reports.statistics.stratified import stratified_shift
from reports.tests.synthetic import case, write_run
from reports.write.summary import summary_sentences

CASES = [case("startup", "mpich", {"ranks": ranks, "ranks_per_node": 1}) for ranks in range(1, 9)]


def found(folder, alone, worse=1.0, *, in_one_job=True, drawn=True):
    """What a run says whose launches ran alone where `alone` of their place is true."""
    places = iter(range(10_000))

    def edit(record):
        lonely = alone(next(places))
        if not lonely:
            record["neighbours"] = [{"case_id": "x-1", "block": 1, "nodes": ["n9"]}]
            for metric in record["metrics"]:
                metric["value"] *= worse
        return {**record, "drawn_alone": lonely} if drawn else record

    run = write_run(folder / "run", CASES, blocks=8, edit=edit)
    provenance = json.loads((run / "provenance.json").read_text())
    provenance["site"]["in_one_job"] = in_one_job
    (run / "provenance.json").write_text(json.dumps(provenance))
    return analyse(load_run(run))


def test_neighbours_that_cost_a_tenth_are_said_with_number_and_interval(tmp_path):
    analysis = found(tmp_path, lambda place: place % 3 == 0, worse=1.1)
    told = neighbours_of(analysis)
    assert told.mattered
    assert told.worse.low < np.log(1.1) < told.worse.high
    said = told.told()
    assert said.startswith("Neighbours mattered: launches beside others were")
    assert "n = 22 launches alone, 42 beside others" in said
    assert said in [one.text for one in summary_sentences(analysis)]
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


def test_launches_with_jobs_of_their_own_say_nothing_of_neighbours(tmp_path):
    assert neighbours_of(found(tmp_path, lambda _: True, in_one_job=False)) is None


def test_the_shift_is_that_of_a_slow_oracle():
    """The median of all differences within cases, where cases are of one size and none share a
    block."""
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
