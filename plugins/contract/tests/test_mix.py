# SPDX-License-Identifier: Apache-2.0
"""Throughput of a mix: makespan from submissions, work of valid jobs."""

import json
from statistics import harmonic_mean

import pytest

from assay.documents.acceptance_files import RERUN, lists
from plugins.contract.mixes import Mix, MixJob, _fault, mix_facts, report_section
from records.criteria import Criteria
from records.run.record import read_records
from reports.analysis.run import analyse
from reports.load.loading import load_run
from reports.show.tables import RawLinks
from reports.tests import acceptance_runs as runs
from reports.tests.synthetic import chained, changed, with_records


def job(*, submitted=0.0, ended=10.0, work=1.0, mix=1):
    return MixJob((submitted, ended), work, mix)


def test_throughput_is_work_over_nodes_and_makespan_and_a_job_without_an_answer_does_none():
    mix = Mix([job(ended=10), job(submitted=2, ended=40, work=0), job(work=3)], 2)
    assert mix.makespans_s == {1: 40}
    assert mix.throughputs == {1: pytest.approx((1 + 3) / (2 * 40))}
    assert ("jobs", "3, 2 valid") in mix_facts(mix)


def test_of_several_mixes_the_median_counts():
    ended = {1: 10, 4: 20, 7: 40}
    mix = Mix([job(ended=s, mix=first) for first, s in ended.items()], 1)
    assert mix.makespans_s == ended
    assert mix.throughputs == {1: 0.1, 4: 0.05, 7: 0.025}
    assert dict(mix_facts(mix))["makespan"] == "20.0 s"
    assert ("mixes", "3, medians of them; 90.0 to 360") in mix_facts(mix)


def test_a_mix_that_was_cut_short_does_not_count():
    assert not _fault([job(ended=50), job(submitted=45, ended=60)], 2)
    late = [job(ended=50), job(submitted=350, ended=360)]
    assert "for 300 s no job of the mix was handed in" in _fault(late, 2)
    assert "2 of 3 jobs of the mix have a record" in _fault(late, 3)


def test_a_report_has_the_mix(tmp_path):
    (facts,) = report_section(analyse(load_run(mixed(tmp_path / "run"))), RawLinks("..")).blocks
    assert "135 work a node and hour" in dict(facts.pairs)["throughput"]


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

    return chained(with_records(run, timed))


def judged(run, **limit):
    criterion = {"id": "m", "kind": "mix", "title": "m", **limit}
    head = {"schema": 1, "name": "c", "title": "c", "confidence_of": "all", "unproven": "accept"}
    head |= {"rerun_blocks": 3, "reruns_at_most": 1, "criteria": [criterion]}
    return runs.dossier(run, Criteria.model_validate(head))


def test_a_throughput_is_held_against_a_limit_by_whole_mixes(tmp_path):
    run = mixed(tmp_path / "run")
    for at_least, verdict in ((0.03, "PASS"), (0.05, "FAIL"), (0.0375, "INCONCLUSIVE")):
        item = judged(run, at_least=at_least).judgement.criteria[-1].most_telling()
        assert (item.verdict, item.n) == (verdict, 3)
        assert item.level == pytest.approx(0.9586, abs=1e-4)  # of the first of two looks
        assert item.centre == pytest.approx(15 / (4 * 100))


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
