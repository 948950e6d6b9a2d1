# SPDX-License-Identifier: Apache-2.0
"""The validation of advice: its pairs on a simulated run, its table, its blind set."""

from pathlib import Path

import yaml

import bench.advised.advice
from bench.advised.advice import BLIND, pairs, summary, table, variants
from reports.analysis.run import analyse
from reports.load.loading import load_run
from reports.tests.advice_machine import Mix, curves_run, profile_of

PROGRAM: Mix = (("Send", 64, 30_000), ("Allreduce", 8, 10_000))


def test_a_true_prediction_holds_and_a_false_one_is_shown(tmp_path: Path) -> None:
    analysis = analyse(load_run(curves_run(tmp_path / "run", program=PROGRAM)))
    true = profile_of(PROGRAM, ranks=2, factor=1.2, wait=0)
    false = profile_of(PROGRAM, ranks=2, factor=1.2, wait=0, compute_s=50)
    every = variants(analysis)
    found = [*pairs(analysis, {("hpl", False): true}, every, every)]
    assert [one.environments for one in found] == [("openmpi", "mpich"), ("lam", "mpich")]
    assert all(one.inside for one in found)
    assert all(row.kept for row in summary(found))
    wrong = [*pairs(analysis, {("hpl", False): false}, every, ())]
    assert "**outside**" in table(wrong, "")
    assert not all(row.kept for row in summary(wrong))


def test_the_blind_cases_are_in_the_campaign() -> None:
    file = Path(bench.advised.advice.__file__).with_name("validation.yaml")
    cases = {case.get("name"): case for case in yaml.safe_load(file.read_text())["cases"]}
    given = {(one["mix"], one["factor"]) for one in cases["proxy"]["matrix"]["program"]}
    given |= {("exchange", factor) for factor in cases["exchange"]["matrix"]["factor"]}
    assert {*BLIND} < given
