# SPDX-License-Identifier: Apache-2.0
"""Throughput of a mix: makespan from submissions, work of valid jobs, the slowest job named."""

from __future__ import annotations

import json
from statistics import harmonic_mean

import numpy as np
import pytest

from assay.documents.acceptance_files import RERUN, lists
from records.criteria import Criteria
from records.run.record import read_records
from reports.tests import acceptance_runs as runs
from reports.tests.synthetic import changed, with_records
from reports.verdicts.mix.result import mix_result
from reports.verdicts.mix.throughput import Mix, MixJob, _fault, mean_rate


def job(kind="a", *, node="n1", submitted=0.0, ended=10.0, rate=2.0, work=1.0, mix=1):
    return MixJob(kind, (node,), (submitted, ended), work, rate, "1/s", mix=mix)


def normal(noise):
    return lambda rng: np.exp(noise * rng.standard_normal(15))


def states(rates_of, slow=1.0):
    """The answers of 100 mixes of three kinds on four nodes, 15 jobs a kind; those on n2 are
    `slow`. `rates_of` draws a kind's rates."""
    found = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        jobs = [
            job(kind, node=f"n{place % 4 + 1}", rate=rate * (slow if place % 4 == 1 else 1.0))
            for kind in "abc"
            for place, rate in enumerate(rates_of(rng))
        ]
        found.append(mix_result(Mix(jobs, 4), "r", 0.8).data.answer)
    return found


def test_throughput_is_work_over_nodes_and_makespan():
    mix = Mix([job(ended=10), job(submitted=2, ended=40), job(kind="b", work=3)], 2)
    assert (mix.makespan_s, mix.throughput) == (40, pytest.approx((1 + 1 + 3) / (2 * 40)))


def test_a_job_without_an_answer_does_no_work_and_fails_the_mix():
    mix = Mix([job(), job(rate=None)], 1)
    assert mix.throughput == pytest.approx(1 / 10)
    answer = mix_result(mix, "r", 0.5).data.answer
    assert answer.state == "fail"
    assert "1 job of 2 gave no right answer" in answer.sentence


def test_of_several_mixes_the_median_counts():
    ended = {1: 10, 4: 20, 7: 40}
    mix = Mix([job(ended=s, mix=first) for first, s in ended.items()], 1)
    assert mix.makespans_s == ended
    assert (mix.makespan_s, mix.throughput) == (20, 1 / 20)
    data = mix_result(mix, "r", 0.5).data
    assert [(one.block, one.throughput) for one in data.mixes] == [(1, 0.1), (4, 0.05), (7, 0.025)]


def test_a_mix_that_was_cut_short_does_not_count():
    assert not _fault([job(ended=50), job(submitted=45, ended=60)], 2)
    late = [job(ended=50), job(submitted=350, ended=360)]
    assert "for 300 s no job of the mix was handed in" in _fault(late, 2)
    assert "2 of 3 jobs of the mix have a record" in _fault(late, 3)


def test_a_healthy_mix_on_shared_cores_does_not_fail():
    """A job has between half a core and a whole one, as many as run at once."""
    shared = states(lambda rng: rng.uniform(0.5, 1.0, 15))
    assert [one.state for one in shared].count("fail") <= 5
    assert any("the jobs scatter so much" in one.unknown for one in shared)
    noisy = [one.state for one in states(normal(0.15))]
    assert noisy.count("fail") <= 5


def test_a_healthy_mix_on_cores_of_its_own_passes_and_a_slow_node_fails_one_and_is_named():
    assert {one.state for one in states(normal(0.03))} == {"pass"}
    for found in states(normal(0.03), slow=0.6):
        assert found.state == "fail"
        assert found.sentence.endswith("on n2")


def test_rates_of_a_kind_have_the_harmonic_mean():
    assert mean_rate([job(rate=1.0), job(rate=3.0), job(rate=None)]) == pytest.approx(1.5)
    assert mean_rate([job(rate=None)]) is None


def test_the_slowest_job_is_named_with_its_nodes():
    jobs = [*(job(rate=2.0) for _ in range(14)), job(rate=1.0, node="n3"), job(kind="b")]
    for at_least, state in ((0.4, "pass"), (0.8, "fail")):
        data = mix_result(Mix(jobs, 4), "r", at_least).data
        assert data.answer.state == state
        assert "50 % of its kind's median, a on n3" in data.answer.sentence
        assert (data.kinds[0].worst_nodes, data.kinds[0].worst_share) == (["n3"], 0.5)
    assert mix_result(Mix(jobs[-4:], 4), "r", 0.8).data.answer.state == "inconclusive"  # too few


def mixed(folder, makespans=(100, 102, 98)):
    """A run of mixes of five jobs of HPL, work 2 each, and five of the node check."""
    run = runs.write_run(folder, blocks=5 * len(makespans), checks=("hpl", "node"))
    weights = {"hpl": 2.0, "node": 1.0}
    changed(run / "plan.json", limits={"jobs_at_once": 10}, weights=weights)
    changed(run / "provenance.json", site={"name": "virtual", "nodes": 4})

    def timed(record):
        mix, hour = (record["block"] - 1) // 5, "2026-11-20T1{}:{:02}:{:02}.000Z"
        start, end = hour.format(mix, 0, 0), hour.format(mix, *divmod(makespans[mix], 60))
        return record | {"submitted_at": start, "started_at": start, "ended_at": end}

    return with_records(run, timed)


def judged(run, **limit):
    criterion = {"id": "m", "kind": "mix", "title": "m", **limit}
    head = {"schema": 1, "name": "c", "title": "c", "rerun_blocks": 3, "reruns_at_most": 1}
    criteria = Criteria.model_validate({**head, "unproven": "accept", "criteria": [criterion]})
    return runs.dossier(run, criteria)


def test_a_throughput_is_held_against_a_limit_by_whole_mixes(tmp_path):
    run = mixed(tmp_path / "run")
    for at_least, verdict in ((0.03, "PASS"), (0.05, "FAIL"), (0.0375, "INCONCLUSIVE")):
        item = judged(run, at_least=at_least).judgement.criteria[-1].most_telling()
        assert (item.verdict, item.bounds.n) == (verdict, 3)
        assert item.bounds.centre == pytest.approx(15 / (4 * 100))


def test_the_rate_of_a_kind_in_a_mix_is_the_harmonic_mean(tmp_path):
    run = mixed(tmp_path / "run")
    rates = [record.metrics[0].value for record in read_records(run / "records.jsonl")][::2]
    found = judged(run, check="hpl", metric="rate", at_least=1e9, unit="flop/s")
    item = found.judgement.criteria[-1].most_telling()
    means = [harmonic_mean(rates[first : first + 5]) for first in (0, 5, 10)]
    assert item.shares == pytest.approx(means)
    assert item.verdict == "PASS"


def test_a_mix_is_run_again_as_a_whole(tmp_path):
    """A mix without an end does not count, and two give no verdict."""
    found = judged(mixed(tmp_path / "run", (100, 102)), at_least=0.03)
    item = found.judgement.criteria[-1].most_telling()
    assert (item.verdict, item.note) == ("INCONCLUSIVE", "n = 2; a verdict needs 3 mixes")
    again = json.loads(lists(found)[RERUN].split(b"\n", 2)[2])
    assert (again["blocks"], again["limits"]) == (5, {"jobs_at_once": 10})
    assert again["weights"] == {"hpl": 2, "node": 1}
    assert [case["check"] for case in again["cases"]] == ["hpl", "node"]
