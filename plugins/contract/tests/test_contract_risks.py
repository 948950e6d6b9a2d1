# SPDX-License-Identifier: Apache-2.0
"""Declared risks: what a design cannot decide is named before anything runs, with what decides."""

import json

import numpy as np
import pytest
from msgspec.structs import replace

from assay.cli import main
from assay.tests.campaign_texts import SITE_FILE
from plugins.contract.log import CONTRACTS
from plugins.contract.risks import chances, share_chances
from plugins.contract.tests.test_contracts import CONTRACT
from records.criteria import Criteria
from reports.statistics.bounds import decide, level_of_look, median_bounds
from reports.statistics.descriptive import lag_1, widening


def criteria(**more):
    limit = {"id": "l", "kind": "limit", "title": "l", "check": "node", "metric": "dgemm_rate"}
    given = {"schema": 1, "name": "c", "title": "c", "confidence_of": "all", **more}
    return Criteria.model_validate({**given, "criteria": [{**limit, "at_least": 1.0, "unit": "x"}]})


def judged_by_turns(design, repeats, margin, cv, trials):
    """The shares that pass and fail when each launch is judged by the functions of the judge."""
    rng, words = np.random.default_rng(3), []
    for _ in range(trials):
        values, word = list[float](), "INCONCLUSIVE"
        for look in range(design.reruns_at_most + 1):
            more = design.rerun_blocks if look else repeats
            values += list(np.exp(margin + cv * rng.standard_normal(more)))
            level = level_of_look(design, repeats, len(values))
            one = median_bounds(values, level, 3)
            wider = float(widening(lag_1(np.log(values)), len(values)))
            low = one.centre + wider * (one.low - one.centre)
            high = one.centre + wider * (one.high - one.centre)
            word, _ = decide(replace(one, low=low, high=high), 1.0, None, 3)
            if word != "INCONCLUSIVE":
                break
        words.append(word)
    return words.count("PASS") / trials, words.count("FAIL") / trials


@pytest.mark.parametrize("repeats", [3, 5, 8])
def test_declared_chances_are_those_of_the_judge_launch_by_launch(repeats):
    design = criteria(reruns_at_most=3)
    for margin in (0.0, 0.02):
        declared = chances(design, repeats, margin, 0.02)
        passed, failed = judged_by_turns(design, repeats, margin, 0.02, 2000)
        assert (declared.passed, declared.failed) == pytest.approx((passed, failed), abs=0.04)


@pytest.mark.parametrize("looks", [0, 1, 3, 5])
@pytest.mark.parametrize("repeats", [3, 5, 8])
def test_early_verdicts_keep_the_error_over_all_judgements(repeats, looks):
    found = chances(criteria(reruns_at_most=looks), repeats, 0.0, 0.03)
    assert max(found.passed, found.failed) <= 0.055


def test_a_share_of_answers_cannot_be_shown_by_few_jobs():
    assert [share_chances(0.99, jobs, 1.0, 0.95).passed for jobs in (50, 299)] == [0, 1]


#: A site whose limits are known.
SITE = f"""{SITE_FILE}\
  mpich: {{description: MPICH, compiler: mpicc.mpich, launcher: assay-hydra, library: MPICH}}
core_peak_flop_per_s: 1.0e+10
network: {{bits_per_second: 1.0e+10}}
storage:
  disk: {{folder: /scratch, file_system: xfs}}
  memory: {{folder: /dev/shm, file_system: tmpfs}}
"""


def started(folder, text, capsys):
    (folder / "mine.yaml").write_text(text)
    assert main(["contract", "start", "mine.yaml", "--site", "here", "--json"]) == 0
    return {one["criterion"]: one for one in json.loads(capsys.readouterr().out)["risks"]}


@pytest.fixture
def here(folder):
    site = folder / "site-config" / "here"
    site.mkdir(parents=True)
    (site / "site.yaml").write_text(f"{SITE}hpl_source: {site}/site.yaml\n")
    return folder


def test_a_risk_beyond_what_the_contract_allows_is_not_decided(here, capsys):
    text = CONTRACT.replace("stages:", "risks: {buyer: 0.045, vendor: 0.9}\nstages:")
    found = started(here, f"{text}    repeats: 3\n    reruns_at_most: 0\n", capsys)["dgemm"]
    assert 0.045 < found["buyer"] < 0.055 and not found["decided"]


def test_what_cannot_be_decided_is_named_with_what_would(here, capsys):
    weak = CONTRACT.replace("at_least: 1,", "at_least: 0.98, promise: 1.0,")
    weak += """\
      - {id: jobs, kind: success, title: Jobs end, check: node, at_least: 0.99}
    repeats: 3
    reruns_at_most: 0
  - name: stability
    title: Thirty days
    stability: {days: 30, mtbi_h: 720}
"""
    found = started(here, weak, capsys)
    assert not any(one["decided"] for one in found.values())
    assert "repeats decide, 3 do not" in found["dgemm"]["remedy"]
    assert found["dgemm"]["vendor"] > 0.5
    assert "below 299 nothing passes" in found["jobs"]["remedy"]
    assert "can prove nothing" in found["mtbi"]["remedy"]
    strong = weak.replace("at_least: 0.98", "at_least: 0.9").replace("repeats: 3", "repeats: 8")
    strong = strong.replace("days: 30", "days: 240")
    found = started(here, strong, capsys)
    assert found["dgemm"]["decided"] and found["mtbi"]["decided"]


MIX = CONTRACT[: CONTRACT.index("    campaign:")]
MIX += """\
    campaign: mix
    criteria:
      - {id: throughput, kind: mix, title: T, at_least: 0.01, promise: 0.0101}
      - {id: hpl, kind: mix, title: H, check: hpl, metric: rate, at_least: 1.0e+8, unit: flop/s}
"""


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("campaign: mix", "campaign: acceptance", "campaign acceptance hands in one job after"),
        ("at_least: 0.01,", "at_least: 0.01, unit: 1/h,", 'unit: found "1/h" (text)'),
        ("at_least: 0.01,", "at_least: 0.01, where: {n: 1},", "where: is of no use without check"),
        ("at_least: 1.0e+8", "at_least: 1.0e+14", "beyond the"),
        ("at_least: 1,", "at_least: 2, promise: 1,", "promise: = 1 is worse than the limit 2"),
        (
            "at_least: 1,",
            "at_least: 9.0e+12,",
            "stage nodes, criterion dgemm: asks for 9.00 Tflop/s, beyond the",
        ),
        (
            CONTRACT[CONTRACT.index("    checks:") :],
            "    checks: [alltoall_pairs]\n    criteria:\n      - {id: link, kind: limit, title: L,"
            " check: alltoall_pairs, metric: pair_bandwidth, at_least: 1.0e+8, promise: 1.3e+9,"
            " unit: bytes/s}\n",
            "stage nodes, criterion link: asks for 1.30 GB/s, beyond the 1.25 GB/s that site here"
            " can give at best (network.bits_per_second); correct the criterion, or site.yaml",
        ),
        ("check: node, metric: dgemm_rate", "check: hpl, metric: rate", "judges check hpl"),
        ("campaign: acceptance", "campaign: none", "stage nodes: no campaign 'none'"),
        (
            "\n    criteria:\n",
            "\n    criteria:\n      - {id: low, kind: limit, title: L, check: node,"
            " metric: dgemm_rate, at_most: 0.5, unit: flop/s}\n",
            "contradicts criterion low: dgemm asks for at least 1 flop/s, low for at most 0.5",
        ),
    ],
)
def test_promises_that_cannot_be_are_refused_and_nothing_is_started(here, said, old, new, told):
    contract = CONTRACT if old in CONTRACT else MIX
    (here / "mine.yaml").write_text(contract.replace(old, new))
    assert told in said(2, "contract", "start", "mine.yaml", "--site", "here")
    assert not CONTRACTS.exists()


def test_what_all_links_carry_together_and_storage_are_not_held_against_one_link(here, capsys):
    text = CONTRACT.replace("check: node, metric: dgemm_rate, at_least: 1,", "%s")
    text = text.replace("flop/s", "bytes/s").replace("checks: [node]", "checks: [%s]")
    for campaign, check, metric in (
        ("storage", "storage", "storage_write_rate"),
        ("measurements", "bisection", "bisection_rate"),
    ):
        criterion = f"check: {check}, metric: {metric}, at_least: 2.0e+9,"
        filled = text.replace("campaign: acceptance", f"campaign: {campaign}")
        assert "dgemm" in started(here, filled % (check, criterion), capsys)


def test_a_criterion_that_judges_nothing_of_its_stage_is_named(here, capsys):
    for environment, decided in (("mpich", True), ("openmpi", False)):
        text = CONTRACT.replace("check: node,", f"check: node, environment: {environment},")
        assert (told := started(here, text, capsys)["dgemm"])["decided"] is decided
    assert "judges nothing that the stage runs here" in told["remedy"]


def test_mixes_are_the_repeats_of_what_a_mix_comes_to(here, capsys):
    found = started(here, MIX, capsys)
    assert found["throughput"]["repeats"] == "3 mixes + 1 up to 3 times"
    assert "mixes decide, 3 do not" in found["throughput"]["remedy"]
    assert found["hpl"]["decided"]
