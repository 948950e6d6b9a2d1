# SPDX-License-Identifier: Apache-2.0
"""Of a scan of pairs only the undecided are run again, beside good ones."""

from __future__ import annotations

from typing import Any

import pytest

from records.run.interims import read_plan
from records.run.rerun import rerun_campaign, rerun_ids
from reports.load.loading import load_run
from reports.verdicts.acceptance.judge import LEAST_GOOD, judge
from reports.verdicts.acceptance.values import gather

from . import acceptance_runs as runs
from .synthetic import chained
from .test_pair_samples import CRITERIA, DAY, NODES

pytestmark = pytest.mark.numerical


def scan(folder, **made):
    return runs.write_run(folder, nodes=NODES, checks=("alltoall_pairs",), **made)


def judged(run, *again):
    reruns = [load_run(path) for path in again]
    return judge(CRITERIA, gather(load_run(run), reruns), DAY, len(reruns))


@pytest.mark.parametrize(("again", "verdict"), [(0.5, "FAIL"), (1.0, "PASS")])
def test_one_slow_pair_is_confirmed_or_cleared_by_its_own_launches(tmp_path, again, verdict):
    run = scan(tmp_path / "20261120T000000Z-0001", slow_link={"n3-n8": 0.5})
    first = judged(run)
    ((case, pairs),) = first.rerun.items()
    assert first.verdict == "SUSPECT"
    assert "n3:n8" in pairs
    assert len(pairs) == 1 + LEAST_GOOD
    part: dict[str, Any] = {"blocks": 3, "only": pairs, "slow_link": {"n3-n8": again}}
    folders = [tmp_path / f"20261121T00000{number}Z-0002" for number in range(2)]
    rounds = [scan(folder, seed=number, **part) for number, folder in enumerate(folders, 7)]
    last = judged(run, *rounds)
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
    found = judged(scan(tmp_path / "20261120T000000Z-0001", slow_link=slow)).rerun
    assert [*found.values()] == [()]


def test_a_case_of_another_length_is_no_rerun(tmp_path):
    run = scan(tmp_path / "20261120T000000Z-0001")
    plan = read_plan(run / "plan.json")
    (case,) = plan.cases
    text = plan.to_json().replace(case.id, "alltoall_pairs-00000000")
    other = type(plan).from_json(text.replace('"ranks":4', '"ranks":5'))
    assert rerun_ids(plan, other) == {}


def test_a_wrong_answer_of_some_pairs_counts_as_one_of_their_case(tmp_path):
    run = scan(tmp_path / "20261120T000000Z-0001", slow_link={"n3-n8": 0.5})
    (pairs,) = judged(run).rerun.values()
    again = scan(tmp_path / "20261121T000001Z-0002", blocks=3, only=pairs)
    text = (again / "records.jsonl").read_text()
    wrong = text.replace('"status":"ok","reason":null', '"status":"wrong","reason":"bytes"', 1)
    assert wrong != text
    (again / "records.jsonl").write_text(wrong)
    chained(again)
    answers = judged(run, again).criteria[0]
    assert (answers.kind, answers.verdict) == ("answers", "FAIL")
