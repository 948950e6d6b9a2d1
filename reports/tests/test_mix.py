# SPDX-License-Identifier: Apache-2.0
"""Throughput of a mix: makespan from submissions, work of valid jobs, the slowest job named."""

from __future__ import annotations

import pytest

from records.errors import AssayError
from reports.verdicts.mix.result import mix_result
from reports.verdicts.mix.throughput import Mix, MixJob, mean_rate, refuse_pause


def job(kind="a", *, node="n1", submitted=0.0, ended=10.0, rate=2.0, work=1.0):
    return MixJob(kind, (node,), (submitted, ended), work, rate, "1/s")


def test_throughput_is_work_over_nodes_and_makespan():
    jobs = [job(ended=10), job(submitted=2, ended=40), job(kind="b", work=3)]
    mix = Mix(jobs, 2)
    assert mix.makespan_s == 40
    assert mix.throughput == pytest.approx((1 + 1 + 3) / (2 * 40))


def test_a_job_without_an_answer_does_no_work_and_fails_the_mix():
    mix = Mix([job(), job(rate=None)], 1)
    assert mix.throughput == pytest.approx(1 / 10)
    answer = mix_result(mix, "r", 0.5).data.answer
    assert answer.state == "fail"
    assert "1 job of 2 gave no right answer" in answer.sentence


def test_a_mix_that_was_cut_short_has_no_makespan():
    refuse_pause([job(ended=50), job(submitted=45, ended=60)])
    with pytest.raises(AssayError, match="for 300 s no job of the mix was handed in"):
        refuse_pause([job(ended=50), job(submitted=350, ended=360)])


def test_rates_of_a_kind_have_the_harmonic_mean():
    assert mean_rate([job(rate=1.0), job(rate=3.0), job(rate=None)]) == pytest.approx(1.5)
    assert mean_rate([job(rate=None)]) is None


def test_the_slowest_job_is_named_with_its_nodes():
    jobs = [*(job(rate=2.0) for _ in range(4)), job(rate=1.0, node="n3"), job(kind="b")]
    for at_least, state in ((0.4, "pass"), (0.8, "fail")):
        data = mix_result(Mix(jobs, 4), "r", at_least).data
        assert data.answer.state == state
        assert "50 % of its kind's median, a on n3" in data.answer.sentence
        assert (data.kinds[0].worst_nodes, data.kinds[0].worst_share) == (["n3"], 0.5)
