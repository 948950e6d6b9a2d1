# SPDX-License-Identifier: Apache-2.0
"""The programs that pass messages, at 1 to 4 ranks with each library, and their verification."""

from __future__ import annotations

import json

import pytest

from checks.tests.program_runs import COMPILERS, built_programs, run_each

PAIRS = "alltoall_pairs --latency-iterations=5 --bandwidth-iterations=3 --bandwidth-bytes=100000"

#: Commands that must come to their end.
GOOD = [
    f"2 {PAIRS}",
    f"3 {PAIRS} --turns",
    f"4 {PAIRS} --turns",
    f"4 {PAIRS} --seed=7",
]
#: Commands that must be refused or caught, and what is said of them.
BAD = {
    f"1 {PAIRS}": "found 1 ranks, allowed are at least 2",
    f"2 {PAIRS} --inject-fault": "does not answer it",
    f"4 {PAIRS} --turns --inject-fault": "does not answer it",
}


@pytest.fixture(scope="module", params=list(COMPILERS))
def runs(request):
    with built_programs(request.param, ["alltoall_pairs"]) as out:
        yield run_each(request.param, out, [*GOOD, *BAD])


def lines(run, kind):
    """The JSON lines of one kind."""
    own = [json.loads(text) for text in run.text.splitlines() if text.startswith('{"assay"')]
    return [line for line in own if line["assay"] == kind]


@pytest.mark.parametrize("command", GOOD)
def test_a_program_comes_to_its_end(runs, command):
    run = runs[command]
    assert run.status == 0, run.text
    assert [line["ok"] for line in lines(run, "end")] == [True]
    ranks = lines(run, "evidence")[0]["ranks"]
    assert len(ranks) == int(command.split()[0])
    assert all(line["value"] > 0 for line in lines(run, "metric"))


@pytest.mark.parametrize("command", BAD)
def test_what_is_wrong_is_refused_or_caught(runs, command):
    run = runs[command]
    assert run.status != 0
    assert not lines(run, "end")
    assert any(BAD[command] in line["message"] for line in lines(run, "error")), run.text


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_every_pair_is_measured_once(runs, ranks):
    run = next(runs[command] for command in GOOD if command.startswith(f"{ranks} alltoall"))
    names = [line["name"] for line in lines(run, "metric")]
    pairs = ranks * (ranks - 1) // 2
    assert names.count("pair_latency") == names.count("pair_bandwidth") == pairs
