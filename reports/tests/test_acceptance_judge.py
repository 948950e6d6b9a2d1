# SPDX-License-Identifier: Apache-2.0
"""Slow nodes and links are named, nothing else is; each kind of criterion gives its verdict."""

from dataclasses import replace
from html import unescape

import numpy as np
import pytest

from assay.schema.criteria import load_criteria
from bench.tests.simulated import machines
from records.criteria import Criteria
from records.site.limits import Nominal
from reports.answers import MOST_WORDS, bound_text
from reports.load.loading import load_run
from reports.render import html
from reports.verdicts.acceptance.judge import judge
from reports.verdicts.acceptance.result import acceptance_result
from reports.verdicts.acceptance.values import gather

from . import acceptance_runs as runs

pytestmark = pytest.mark.numerical

DAY = runs.DAY


def entry(kind, check, metric, **more):
    return {"id": kind, "kind": kind, "title": kind, "check": check, "metric": metric, **more}


STREAM = entry("nodes", "node", "stream_triad", within=0.05)
#: Without an absolute limit nothing passes.
PROMISE = entry("limit", "node", "stream_triad", at_least=1e9, unit="bytes/s") | {"id": "promise"}
LINKS = entry("links", "alltoall_pairs", "pair_bandwidth", of="best", at_least=0.9)
RUN = "20261120T000000Z-0001"
TO_RUN, TO_VERIFY = "assay run acceptance --site virtual", f"assay verify {RUN}"


def criteria(*entries, promise=(PROMISE,), **more):
    asked = [*(entries or [STREAM, LINKS]), *promise]
    return Criteria.model_validate(
        {"schema": 1, "name": "c", "title": "C", "criteria": asked, **more}
    )


def evidence_of(tmp_path, reruns=(), **made):
    run = load_run(runs.write_run(tmp_path / RUN, **made))
    return gather(run, [load_run(path) for path in reruns])


def judgement(tmp_path, *entries, reruns=(), more=None, **made):
    evidence = evidence_of(tmp_path, reruns, **made)
    return judge(criteria(*entries, **(more or {})), evidence, DAY, len(reruns))


def rerun(tmp_path, number=1, **made):
    path = tmp_path / f"20261121T00000{number}Z-1000"
    return runs.write_run(path, seed=50 + number, blocks=3, **made)


def verdicts(result):
    return {criterion.id: criterion.verdict for criterion in result.criteria}


def named(result):
    return {(finding.title, finding.state) for finding in result.named}


def test_a_clean_machine_passes_and_nothing_is_named(tmp_path):
    result = judgement(tmp_path)
    assert set(verdicts(result).values()) == {"PASS"}
    assert (result.verdict, named(result), result.rerun) == ("PASS", set(), {})


def test_one_machine_without_a_scheduler_never_passes(tmp_path):
    evidence = replace(evidence_of(tmp_path), is_local=True)
    result = judge(criteria(), evidence, DAY, 0)
    assert set(verdicts(result).values()) == {"PASS"}
    assert result.verdict == "INCONCLUSIVE"


SLOW = {"slow_node": {"n2": 0.6}, "slow_link": {"n3": 0.5}}


@pytest.mark.parametrize(
    ("again", "state", "verdict"), [(False, "suspected", "SUSPECT"), (True, "confirmed", "FAIL")]
)
def test_a_slow_node_and_a_slow_link_and_nothing_else_are_suspected_and_confirmed(
    tmp_path, again, state, verdict
):
    reruns = [rerun(tmp_path, **SLOW)] if again else []
    result = judgement(tmp_path, reruns=reruns, **SLOW)
    titles = {"slow node n2", "slow link of n3", "slow link of n2"}
    assert named(result) == {(title, state) for title in titles}
    assert verdicts(result)["nodes"] == verdict
    assert verdicts(result)["links"] == "FAIL"  # half of the links, at once
    cases = {case.split("-")[0] for case in result.rerun}
    assert cases == (set() if again else {"node", "alltoall_pairs"})


@pytest.mark.parametrize(
    ("blocks", "slow", "again", "told"),
    [
        (5, {"n2": 0.9}, {}, ("slow node n2", "not confirmed")),
        (3, {"n2": 0.6}, None, ()),  # too few launches to suspect anybody
        (3, {"n2": 0.6}, {"n2": 0.6}, ("slow node n2", "confirmed")),
        (5, {"n1": 0.5, "n2": 0.5}, None, ("slow group of nodes n1, n2", "suspected")),
    ],
)
def test_re_runs_and_launches_decide_who_is_named(tmp_path, blocks, slow, again, told):
    reruns = [] if again is None else [rerun(tmp_path, slow_node=again)]
    result = judgement(tmp_path, STREAM, reruns=reruns, blocks=blocks, slow_node=slow)
    assert [(one.title, one.state) for one in result.findings] == [told] * bool(told)
    fails = told[1:] in (("confirmed",), ("suspected",))
    assert named(result) == ({told} if fails else set())
    assert verdicts(result)["nodes"] == ("FAIL" if fails else "INCONCLUSIVE")
    assert result.rerun or again is not None


def test_two_launches_give_no_verdict(tmp_path):
    result = judgement(tmp_path, blocks=2)
    assert {*verdicts(result).values()} == {"PASS", "INCONCLUSIVE"}
    assert verdicts(result)["answers"] == "PASS"
    assert "a verdict needs 3" in result.criteria[1].items[0].note


@pytest.mark.parametrize(
    ("least", "verdict"), [(6e9, "PASS"), (8e9, "INCONCLUSIVE"), (10e9, "FAIL")]
)
def test_an_absolute_limit_is_met_missed_or_left_open(tmp_path, least, verdict):
    limit = entry("limit", "node", "stream_triad", at_least=least, unit="bytes/s")
    assert verdicts(judgement(tmp_path, limit))["limit"] == verdict


def test_efficiency_is_paired_by_block_so_that_drift_does_not_count(tmp_path):
    rate = {"check": "node", "metric": "dgemm_rate"}
    measured = entry("efficiency", "hpl", "rate", peak="measured", at_least=0.5, reference=rate)
    spread = entry("spread", "hpl", "rate", cv_at_most=0.5)
    result = judgement(tmp_path, measured, spread)
    assert verdicts(result)["efficiency"] == verdicts(result)["spread"] == "PASS"
    assert result.criteria[1].items[0].centre == pytest.approx(0.8, rel=0.15)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("zero", "others"), [(("n2",), "PASS"), (runs.NODES, "INCONCLUSIVE")])
def test_a_value_that_is_zero_has_no_spread(tmp_path, zero, others):
    evidence = evidence_of(tmp_path)
    values = [
        replace(v, values=0 * v.values) if v.at.get("node") in zero else v
        for v in evidence.values
        if v.metric == "stream_triad"
    ]
    spread = entry("spread", "node", "stream_triad", cv_at_most=0.1)
    result = judge(criteria(spread), replace(evidence, values=values), DAY, 0).criteria[1]
    told = {item.place[0]: item.verdict for item in result.items if item.place}
    assert told == {name: "INCONCLUSIVE" if name in zero else others for name in runs.NODES}


@pytest.mark.parametrize(
    ("subject", "expires", "verdict", "state"),
    [
        *(("n3", "2026-11-21", "PASS", "applied"), ("n3", "2026-11-20", "FAIL", "expired")),
        ("n1", "2027-01-01", "FAIL", "applied"),
    ],
)
def test_a_waiver_counts_for_its_subject_until_its_day(tmp_path, subject, expires, verdict, state):
    slow = {"slow_link": {"n3": 0.5}}
    waiver = {"criterion": "links", "subject": subject, "author": "A", "reason": "RMA"}
    more = {"waivers": [waiver | {"expires": expires}]}
    result = judgement(tmp_path, LINKS, reruns=[rerun(tmp_path, **slow)], more=more, **slow)
    assert (result.verdict, result.waivers[0].state) == (verdict, state)
    assert verdicts(result)["links"] == "FAIL"


@pytest.mark.parametrize(
    "slow",
    [
        {"slow_node": {f"n{i}": 0.8 for i in range(1, 7)}},
        {"slow_link": {f"n{i}": 0.5 for i in range(1, 7)}},
        {"slow_link": {f"n{i}-n{j}": 0.5 for i in range(1, 6) for j in range(6, 11)}},
    ],
)
def test_what_hits_half_of_the_machine_fails(tmp_path, slow):
    nodes = tuple(f"n{number}" for number in range(1, 11))
    links = LINKS | {"of": "median", "at_least": 0.93}
    result = judgement(tmp_path, STREAM, links, nodes=nodes, **slow)
    assert result.verdict == "FAIL"
    concerned = {name for finding in result.named for name in finding.nodes}
    assert concerned == ({*nodes} if len(slow.get("slow_link", {})) > 6 else {*nodes[:6]})


@pytest.mark.parametrize("limit", [{"at_least": 0}, {"at_least": -5.0}, {"at_most": 1e20}])
def test_a_limit_that_every_machine_keeps_to_is_no_absolute_one(tmp_path, limit):
    vacuous = entry("limit", "node", "stream_triad", unit="bytes/s", **limit)
    result = judge(criteria(vacuous, promise=()), evidence_of(tmp_path), DAY, 0)
    assert verdicts(result)["limit"] == "PASS"
    assert (result.verdict, result.absolute, result.rerun) == ("INCONCLUSIVE", False, {})


def test_a_nominal_rate_that_the_machine_far_exceeds_is_wrong(tmp_path):
    evidence = replace(evidence_of(tmp_path), rates=Nominal(node_memory_bytes_per_s=205.0))
    nominal = entry("efficiency", "node", "stream_triad", peak="nominal", at_least=0.6)
    judged = judge(criteria(nominal), evidence, DAY, 0).criteria[1]
    assert judged.verdict == "INCONCLUSIVE"
    assert "the site declares a wrong memory_bytes_per_second" in judged.items[0].note


NODE_RATES = ("core_peak_flop_per_s", "memory_bytes_per_second")


@pytest.mark.full(sample=2)
def test_one_better_node_of_a_small_machine_leaves_open_whether_the_others_are_slow(tmp_path):
    machine = machines.Machine(16, slow_nodes=dict.fromkeys(range(15), 0.8))
    noise = machines.Noise(0.004, drift=0.002)
    run = machines.write_run(tmp_path / RUN, machine, noise, np.random.default_rng(26))
    judged = runs.dossier(run, load_criteria("standard")[0]).judgement.criteria
    (nodes,) = (one for one in judged if one.id == "stream")
    (item,) = (one for one in nodes.items if one.verdict != "PASS")
    assert (item.subject, item.verdict) == ("n16", "INCONCLUSIVE")
    assert "better than all others: it is not like them, or they all are slow" in item.note


@pytest.mark.parametrize(
    ("stated", "share", "verdict", "told"),
    [
        ((*NODE_RATES, "network"), 0.65, "FAIL", "STREAM triad"),
        (("network",), 0.65, "INCONCLUSIVE", "declares no memory_bytes_per_second"),
        (NODE_RATES, 1.0, "INCONCLUSIVE", "declares no network.bits_per_second"),
        ((), 0.65, "INCONCLUSIVE", "cannot detect a fault common to all nodes"),
        ((*NODE_RATES, "network"), 0.9, "PASS", "No criterion compares"),
        ((*NODE_RATES, "network"), 1.0, "PASS", "No criterion compares"),
    ],
)
def test_nodes_that_all_are_35_per_cent_slow_do_not_pass(tmp_path, stated, share, verdict, told):
    machine = machines.Machine(16, slow_nodes=dict.fromkeys(range(16), share))
    noise, site = machines.Noise(0.004, drift=0.002), {one: machines.SITE[one] for one in stated}
    run = machines.write_run(tmp_path / RUN, machine, noise, np.random.default_rng(26), site=site)
    dossier = runs.dossier(run, load_criteria("standard")[0])
    assert dossier.judgement.verdict == verdict
    page = " ".join(unescape(html.page(acceptance_result(dossier))).split())
    assert told in page
    compared = "No criterion compares one-node HPL rate, latency of the pair and program time of"
    assert (compared in page) == (len(stated) == 3), "of a FAIL, too"
    if verdict == "FAIL":
        failed = {one.id for one in dossier.judgement.criteria if one.verdict == "FAIL"}
        assert failed == {"stream-nominal", "dgemm-nominal"}
    elif verdict == "PASS":
        assert "with an offer or a nominal rate: a machine of which every node" in page
    elif stated:
        assert f"Why: the site {told}" in page


def test_each_limit_of_standard_has_a_source_that_the_document_shows(tmp_path):
    standard, _ = load_criteria("standard")
    assert all(one.source for one in standard.criteria)
    dossier = runs.dossier(runs.write_run(tmp_path / RUN), standard)
    judged = {one.id for one in dossier.judgement.criteria}
    page = " ".join(unescape(html.page(acceptance_result(dossier))).split())
    for one in standard.criteria:
        assert (f"Source of the limit: {one.source}." in page) == (one.id in judged)


def test_an_optional_criterion_without_a_rate_is_left_out_by_name(tmp_path):
    nominal = entry("efficiency", "hpl", "rate", peak="nominal", at_least=0.5, required=False)
    result = judgement(tmp_path, STREAM, nominal)
    assert (result.verdict, [one.id for one in result.left_out]) == ("PASS", ["efficiency"])


@pytest.mark.parametrize("lost", [("stream_triad", "n2", None), ("pair_bandwidth", "n1", "n3")])
def test_a_planned_node_or_pair_without_a_value_is_a_finding(tmp_path, lost):
    evidence = evidence_of(tmp_path)
    at = {(v.metric, v.at.get("node"), v.at.get("peer")): v for v in evidence.values}
    assert len(at) == len(evidence.values) and at.pop(lost)
    result = judge(criteria(), replace(evidence, values=[*at.values()]), DAY, 0)
    assert result.verdict == "INCONCLUSIVE"
    (finding,) = result.named
    assert (finding.state, [*finding.nodes]) == ("missing", [name for name in lost[1:] if name])


def test_what_stays_undecided_is_run_again_until_the_rounds_are_spent(tmp_path):
    limit = entry("limit", "hpl", "rate", at_least=1.28e11, unit="flop/s")
    more = {"reruns_at_most": 3}
    again = []
    for number in range(1, 5):
        result = judgement(tmp_path / str(number), limit, reruns=again, more=more)
        assert [case.split("-")[0] for case in result.rerun] == ["hpl"] * (number < 4), number
        again.append(rerun(tmp_path / f"again{number}", number))
    assert verdicts(result)["limit"] == "INCONCLUSIVE"


def answered(tmp_path, *entries, reruns=(), **made):
    run = runs.write_run(tmp_path / RUN, **made)
    dossier = runs.dossier(run, criteria(*entries), reruns=reruns)
    result = acceptance_result(dossier)
    answer = result.answer
    assert answer.state.word == dossier.judgement.verdict
    assert 3 <= len(answer.sentence.split()) <= MOST_WORDS
    assert any(character.isdigit() for character in answer.sentence)
    return result


SLOW_PAIR, SLOW_NODE = {"slow_link": {"n1-n4": 0.5}}, {"slow_node": {"n2": 0.6}}


@pytest.mark.parametrize(
    ("asked", "slow", "sentence", "command"),
    [
        (LINKS, SLOW_PAIR, "link n1–n4, pair bandwidth 49 % of the others", TO_RUN),
        (STREAM, SLOW_NODE, "node n2, stream triad 60 % of the others (limit ≥ 95 %).", ""),
        (STREAM, {}, "All 3 criteria met; nearest: n", TO_VERIFY),
    ],
    ids=["confirmed", "suspect", "pass"],
)
def test_an_answer_tells_the_share_of_what_is_slow_or_what_is_nearest_to_its_limit(
    tmp_path, asked, slow, sentence, command
):
    reruns = [rerun(tmp_path, **slow)] if asked == LINKS else []
    result = answered(tmp_path, asked, reruns=reruns, **slow)
    assert result.answer.sentence.startswith(sentence)
    assert result.answer.command == (command or f"assay accept {RUN} --rerun")
    told = [one.text for one in result.sentences]
    assert ("Whether it stays: no re-run was made yet." in told) == (not command)


@pytest.mark.parametrize("seed", range(6))
def test_every_answer_of_an_acceptance_is_short_and_has_its_number(tmp_path, seed):
    rng = np.random.default_rng(seed)
    nodes = tuple(f"a-node-with-a-long-name-{n}" for n in range(int(rng.integers(2, 9))))
    slow = {node: float(rng.uniform(0.3, 1.0)) for node in nodes if rng.random() < 0.4}
    links = {node: float(rng.uniform(0.3, 1.0)) for node in nodes if rng.random() < 0.4}
    made = {"checks": ("node", "alltoall_pairs"), "blocks": int(rng.integers(1, 7)), "seed": seed}
    answered(tmp_path, STREAM, LINKS, nodes=nodes, slow_node=slow, slow_link=links, **made)


def test_the_bound_that_decides_is_shown(tmp_path):
    items = judgement(tmp_path, STREAM, slow_node={"n2": 0.6}).criteria[1].items
    shown = {item.verdict: bound_text(item)[:3] for item in items}
    assert (shown["SUSPECT"], shown["PASS"]) == ("≤ 6", "≥ 9")
