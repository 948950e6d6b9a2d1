# SPDX-License-Identifier: Apache-2.0
"""Scans that measure some pairs only: what they can miss is said, what was not planned is not; of a
scan of pairs only the undecided are run again, beside good ones."""

import json
from dataclasses import replace
from datetime import date
from types import SimpleNamespace

import numpy as np
import pytest

from records.run.interims import read_plan
from records.run.rerun import rerun_campaign, rerun_ids
from records.site.pair_scans import sampled_pairs
from reports.checks.alltoall_pairs import matrices, seen
from reports.load.loading import joined, load_run, pair_columns
from reports.tests import acceptance_runs as runs
from reports.tests.scanned_machine import criteria
from reports.tests.synthetic import analysed, case, chained, changed, metric, with_records
from reports.verdicts.acceptance.judge import LEAST_GOOD, judge
from reports.verdicts.acceptance.peers import MOST_MISSING
from reports.verdicts.acceptance.values import gather

pytestmark = pytest.mark.numerical

DAY = date(2026, 11, 21)
NODES = tuple(f"n{number}" for number in range(1, 13))
CRITERIA = criteria(
    {"kind": "links", "at_least": 0.9}, {"kind": "limit", "at_least": 1, "unit": "bytes/s"}
)


def scan(folder, measured, *, nodes=NODES, asked_nodes=None, **params):
    """A scan of good pairs, of which a block has those that `measured(block)` names."""
    run = runs.write_run(folder, nodes=nodes, checks=("alltoall_pairs",))
    (planned,) = json.loads((run / "plan.json").read_text())["cases"]
    planned |= {"params": planned["params"] | params, "nodes": asked_nodes or len(nodes)}
    changed(run / "plan.json", cases=[planned])

    def kept(record):
        pairs = {frozenset(pair) for pair in measured(record["block"])}
        metrics = [m for m in record["metrics"] if frozenset([*m["at"].values()]) in pairs]
        there = [node for node in nodes if any(node in pair for pair in pairs)]
        return record | {"params": planned["params"], "metrics": metrics, "nodes": there}

    return gather(load_run(chained(with_records(run, kept))), [])


def rounds_of(nodes, rounds):
    low, high = sampled_pairs(len(nodes), rounds, 1)
    return [(nodes[a], nodes[b]) for a, b in zip(low, high, strict=True)]


def links_of(evidence):
    result = judge(CRITERIA, evidence, DAY, 0)
    return result, next(one for one in result.criteria if one.kind == "links")


def test_an_acceptance_by_a_sample_says_what_it_can_miss(tmp_path):
    result, links = links_of(scan(tmp_path / "run", lambda _: rounds_of(NODES, 5), rounds=5))
    assert links.statement.startswith("bandwidth of every measured pair of nodes at least 0.9 ×")
    assert "; each launch measured 5 of 11 rounds: 30 of 66 pairs of 12 nodes;" in links.statement
    assert "the chance to miss a single bad link is 54.5 %" in links.statement
    assert not result.named and links.verdict == "PASS"


def test_an_acceptance_by_all_pairs_speaks_of_every_pair(tmp_path):
    _, links = links_of(scan(tmp_path / "run", lambda _: rounds_of(NODES, 0)))
    told = "bandwidth of every pair of nodes at least 0.9 × the good pairs' median"
    assert links.statement == told


def test_of_listed_pairs_those_alone_can_be_missing(tmp_path):
    listed = [("n2", "n1"), ("n3", "n4"), ("n5", "n6"), ("n7", "n12")]
    asked = {"asked_nodes": 12, "only": [":".join(pair) for pair in listed]}
    result, links = links_of(scan(tmp_path / "run", lambda _: listed, **asked))
    assert not result.named and links.verdict == "PASS"
    assert "of every measured pair of nodes" in links.statement
    result, _ = links_of(scan(tmp_path / "less", lambda _: listed[:-1], **asked))
    assert [(one.state, one.nodes) for one in result.named] == [("missing", ("n7", "n12"))]


@pytest.mark.parametrize("rounds", [0, 2])
def test_scans_of_other_nodes_in_each_block_miss_no_pair(tmp_path, rounds):
    def measured(block):
        return rounds_of([NODES[(5 * block + step) % 12] for step in range(4)], rounds)

    params = {"rounds": rounds} if rounds else {}
    result, links = links_of(scan(tmp_path / "run", measured, asked_nodes=4, **params))
    assert not [one for one in result.named if one.state == "missing"]
    assert "every measured pair of nodes" in links.statement


@pytest.mark.parametrize("lacking", [("n3", "n5"), ()])
def test_of_a_node_s_pairs_one_without_a_value_is_missing_and_no_other(tmp_path, lacking):
    pairs = [pair for pair in rounds_of(NODES, 0) if {*pair} != {*lacking}]
    found = scan(tmp_path / "run", lambda _: pairs)
    for node in ("n3", "n1"):
        links = CRITERIA.criteria[0].model_copy(update={"where": {"node": node}})
        asked = CRITERIA.model_copy(update={"criteria": [links, CRITERIA.criteria[1]]})
        result = judge(asked, found, DAY, 0)
        missing = [item.place for item in result.criteria[1].items if item.state == "missing"]
        assert missing == [lacking] * (node in lacking)
        if not lacking:
            assert not result.named
            assert {criterion.verdict for criterion in result.criteria} == {"PASS"}


def test_very_many_missing_pairs_are_counted(tmp_path):
    nodes = tuple(f"n{number}" for number in range(1, 21))
    result, links = links_of(scan(tmp_path / "run", lambda _: rounds_of(nodes, 3), nodes=nodes))
    (missing,) = (item for item in links.items if item.state == "missing")
    assert missing.subject == "160 pairs of nodes" and not missing.place
    assert MOST_MISSING < 160 and len(missing.launches) == 5
    assert [one.name for one in result.named] == ["160 pairs of nodes (pair bandwidth, mpich)"]
    assert [*result.rerun.values()] == [()]


def test_launches_are_looked_through_once_whatever_is_missing(tmp_path):
    class Counting(dict):
        passes = 0

        def __iter__(self):
            Counting.passes += 1
            return super().__iter__()

    passes = []
    for rounds in (10, 6):  # 6 and 30 missing pairs
        found = scan(tmp_path / f"run{rounds}", lambda _, k=rounds: rounds_of(NODES, k))
        Counting.passes = 0
        _, links = links_of(replace(found, launches=Counting(found.launches)))
        assert sum(item.state == "missing" for item in links.items) == 66 - 6 * rounds
        passes.append(Counting.passes)
    assert passes[0] == passes[1]


SAMPLE = "2 of 3 rounds: 4 of 6 pairs of 4 nodes; the chance to miss a single bad link is 33.3 %"


def test_a_sample_is_told_below_its_matrix_in_a_file_as_one_of_the_nodes_of_a_launch(tmp_path):
    """Two rounds of four nodes each launch, on other nodes each."""
    planned = case("alltoall_pairs", "lam", {"ranks": 4, "rounds": 2}, 4) | {"nodes": 4}

    def edit(record):
        pairs = rounds_of([NODES[(5 * record["block"] + step) % 12] for step in range(4)], 2)
        found = [metric("pair_bandwidth", 1e7, node=a, peer=b) for a, b in pairs]
        return record | {"metrics": found}

    sampled = analysed(tmp_path / "run", [planned], blocks=3, edit=edit)
    assert SAMPLE in matrices(sampled, "pair_bandwidth").caption
    blocks = [
        pair_columns(names, ([0, 2], [1, 3]), block, np.full(2, 1e7))
        for block, names in enumerate((NODES[:4], NODES[4:8]), 1)
    ]
    scan = SimpleNamespace(case=0, metrics=("pair_bandwidth",), columns=lambda _: joined(blocks))
    run = replace(sampled.run, scans=(scan,))
    found = seen(replace(sampled, run=run), "pair_bandwidth")
    (one,) = (one for one in found if len(one.columns.names) == 8)
    assert one.sample.startswith(SAMPLE)


def all_pairs(folder, **made):
    return runs.write_run(folder, nodes=NODES, checks=("alltoall_pairs",), **made)


def judged_again(run, *again):
    reruns = [load_run(path) for path in again]
    return judge(CRITERIA, gather(load_run(run), reruns), DAY, len(reruns))


@pytest.mark.parametrize(("again", "verdict"), [(0.5, "FAIL"), (1.0, "PASS")])
def test_one_slow_pair_is_confirmed_or_cleared_by_its_own_launches(tmp_path, again, verdict):
    run = all_pairs(tmp_path / "20261120T000000Z-0001", slow_link={"n3-n8": 0.5})
    first = judged_again(run)
    ((case, pairs),) = first.rerun.items()
    assert first.verdict == "SUSPECT"
    assert "n3:n8" in pairs and len(pairs) == 1 + LEAST_GOOD
    part = {"blocks": 3, "only": pairs, "slow_link": {"n3-n8": again}}
    folders = [tmp_path / f"20261121T00000{number}Z-0002" for number in range(2)]
    rounds = [all_pairs(folder, seed=number, **part) for number, folder in enumerate(folders, 7)]
    last = judged_again(run, *rounds)
    assert last.verdict == verdict
    assert [finding.title for finding in last.named] == ["slow link n3–n8"] * (verdict == "FAIL")
    assert not last.rerun
    plan = read_plan(run / "plan.json")
    content = rerun_campaign(plan, first.rerun, name="r", question="", blocks=3, seed=2)
    assert content["cases"][0]["fixed"]["only"] == [*pairs]
    (other,) = read_plan(rounds[0] / "plan.json").cases
    assert other.id != case
    assert rerun_ids(plan, read_plan(rounds[0] / "plan.json")) == {other.id: case}


def test_much_of_a_machine_is_scanned_anew_as_a_whole(tmp_path):
    slow = {f"n{one}": 0.5 for one in range(1, 10)}
    found = judged_again(all_pairs(tmp_path / "20261120T000000Z-0001", slow_link=slow)).rerun
    assert [*found.values()] == [()]


def test_a_case_of_another_length_is_no_rerun(tmp_path):
    run = all_pairs(tmp_path / "20261120T000000Z-0001")
    plan = read_plan(run / "plan.json")
    (case,) = plan.cases
    text = plan.to_json().replace(case.id, "alltoall_pairs-00000000")
    other = type(plan).from_json(text.replace('"ranks":4', '"ranks":5'))
    assert rerun_ids(plan, other) == {}


def test_a_wrong_answer_of_some_pairs_counts_as_one_of_their_case(tmp_path):
    run = all_pairs(tmp_path / "20261120T000000Z-0001", slow_link={"n3-n8": 0.5})
    (pairs,) = judged_again(run).rerun.values()
    again = all_pairs(tmp_path / "20261121T000001Z-0002", blocks=3, only=pairs)
    wrong = {"status": "wrong", "reason": "bytes"}
    with_records(again, lambda record: record | (wrong if record["block"] == 1 else {}))
    answers = judged_again(run, chained(again)).criteria[0]
    assert (answers.kind, answers.verdict) == ("answers", "FAIL")
