# SPDX-License-Identifier: Apache-2.0
"""The programs that pass messages, at 1 to 4 ranks with each library, and their verification."""

from __future__ import annotations

import pytest

from checks.common.tests.program_runs import COMPILERS, built_programs, run_each

PROGRAMS = ["alltoall_pairs", "bisection", "echo", "ring", "streams"]
PAIRS = "alltoall_pairs --latency-iterations=5 --bandwidth-iterations=3 --bandwidth-bytes=100000"
BISECTION = "bisection --matchings=3 --iterations=2 --message-bytes=20000"
ECHO = "echo --sizes=0,7,200000 --iterations=5 --warmup=1"
RING = "ring --sizes=8,70000 --turns=3 --warmup=1"
STREAMS = "streams --sizes=7,70000 --iterations=2 --warmup=1 --window=4"

#: Commands that must come to their end, and how many metrics they must print.
GOOD = {
    f"2 {PAIRS}": 2,
    f"3 {PAIRS} --turns": 6,
    f"4 {PAIRS} --turns": 12,
    f"4 {PAIRS} --seed=7": 12,
    f"2 {BISECTION}": 2,
    f"3 {BISECTION}": 2,
    f"4 {BISECTION}": 2,
    **{f"{ranks} {ECHO}": 7 + 2 * 8 for ranks in (1, 2, 3, 4)},
    **{f"{ranks} {RING}": 6 for ranks in (1, 3)},
    **{f"{ranks} {RING} --orders=all": 18 for ranks in (2, 4)},
    **{f"{ranks} {STREAMS}": 4 for ranks in (2, 3, 4)},
}
#: Commands that must be refused or caught, and what is said of them.
BAD = {
    f"1 {PAIRS}": "found 1 ranks, allowed are at least 2",
    f"1 {BISECTION}": "found 1 ranks, allowed are at least 2",
    f"1 {STREAMS}": "found 1 ranks, allowed are at least 2",
    f"3 {RING} --orders=gray": "allowed are powers of two",
    "2 streams --sizes=0": "allowed are sizes above 0",
}
#: Commands whose data are altered on the way.
ALTERED = {
    f"2 {PAIRS} --inject-fault": "does not answer it",
    f"4 {PAIRS} --turns --inject-fault": "does not answer it",
    f"4 {BISECTION} --inject-fault": "is not what was sent",
    f"1 {ECHO} --inject-fault": "does not answer it",
    f"2 {ECHO} --inject-fault": "does not answer it",
    f"1 {RING} --inject-fault": "is not the one sent",
    f"4 {RING} --inject-fault": "is not the one sent",
    f"2 {STREAMS} --inject-fault": "is not what was sent",
}


@pytest.fixture(scope="module", params=list(COMPILERS))
def runs(request):
    with built_programs(request.param, PROGRAMS) as out:
        yield run_each(request.param, out, [*GOOD, *BAD, *ALTERED])


@pytest.mark.parametrize("command", GOOD)
def test_a_program_comes_to_its_end(runs, command):
    run = runs[command]
    assert run.status == 0, run.text
    assert [line["ok"] for line in run.lines("end")] == [True]
    assert len(run.lines("evidence")[0]["ranks"]) == int(command.split()[0])
    values = [line["value"] for line in run.lines("metric")]
    assert len(values) == GOOD[command]
    assert min(values) > 0


@pytest.mark.parametrize("command", BAD)
def test_what_cannot_be_measured_is_refused(runs, command):
    run = runs[command]
    assert run.status != 0
    assert not run.lines("end")
    assert any(BAD[command] in line["message"] for line in run.lines("error")), run.text


@pytest.mark.parametrize("command", ALTERED)
def test_altered_data_are_caught_as_a_wrong_answer(runs, command):
    run = runs[command]
    assert run.status != 0
    assert not run.lines("end")
    said = [line["message"] for line in run.lines("error") if line.get("wrong")]
    assert any(ALTERED[command] in message for message in said), run.text


def test_a_rate_is_the_length_over_the_half_round_trip(runs):
    metrics = runs[f"2 {ECHO}"].lines("metric")
    found = {(line["name"], line.get("at", {}).get("message_bytes")): line for line in metrics}
    for name in ("", "_best", "_loop"):
        time_s = found[f"half_round_trip{name}", 200000]["value"]
        assert found[f"bandwidth{name}", 200000]["value"] == pytest.approx(200000 / time_s)
    zero = found["half_round_trip", 0]
    assert len(zero["samples"]) == 5
    assert found["echo_latency", None]["value"] == zero["value"]
    assert found["echo_latency_least", None]["value"] == min(zero["samples"])


def test_the_ring_rate_counts_every_step_of_every_turn(runs):
    metrics = runs[f"4 {RING} --orders=all"].lines("metric")
    found = {(line["name"], *line["at"].values()): line for line in metrics}
    for order in ("natural", "gray", "random"):
        turns = found["ring_turn", order, 70000]["samples"]
        time_s = found["ring_time", order, 70000]["value"]
        assert time_s == pytest.approx(sum(turns), rel=1e-6)
        rate = found["ring_rate", order, 70000]["value"]
        assert rate == pytest.approx(4 * 3 * 70000 / time_s, rel=1e-6)
