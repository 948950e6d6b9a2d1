# SPDX-License-Identifier: Apache-2.0
"""Collective operations and interference, at 1 to 4 ranks with each library, faults injected."""

from __future__ import annotations

import subprocess

import pytest

from checks.collectives import OPERATIONS
from checks.common.registry import CHECKS
from checks.common.sources import LIBRARY
from checks.common.tests.program_runs import COMPILERS, built_programs, command_of, run_each

pytestmark = pytest.mark.long
BESIDE = "interference --sizes=1,5000 --samples=3 --work=1e-4 --window=2"
SMALL = {"sizes": [4, 1000], "repetitions": 1, "warmup": 1}
FEW = {"sizes": [1, 5000], "samples": 3, "work_s": 1e-4, "window": 2}

#: What must come to its end with every value that was asked for: command and parameters.
GOOD = dict(
    [
        *(command_of("collectives", ranks=ranks, **SMALL) for ranks in (1, 2, 3, 4)),
        command_of("collectives", ranks=3, procedure="loop", runs=2, **SMALL),
        *(command_of("interference", ranks=ranks, **FEW) for ranks in (2, 3, 4)),
    ]
)
#: Commands that must be refused, and what is said of them.
REFUSED = {
    f"1 {BESIDE}": "found 1 rank, allowed are at least 2",
    "2 collectives --sizes=6": "multiples of 4",
    "2 collectives --procedure=each,loop": "allowed is one of them",
    "2 collectives --operations=gathering": "gathering",
}
#: Faults that the verification must catch, and what is said of them.
WRONG = {
    **{
        f"{ranks} collectives --sizes=1000 --inject-fault --operations={name}": name
        for ranks, name in zip((1, 2, 3, 4) * 3, OPERATIONS, strict=False)
    },
    "2 collectives --inject-fault --operations=barrier": "let ranks leave",
    "2 collectives --inject-fault --operations=scan --procedure=loop": "scan",
    f"2 {BESIDE} --inject-fault=message": "is not what was sent",
    f"3 {BESIDE} --inject-fault=count": "turns ended at",
}


@pytest.fixture(scope="module", params=list(COMPILERS))
def runs(request):
    out = built_programs(request.param, ["collectives", "interference"])
    return run_each(request.param, out, [*GOOD, *REFUSED, *WRONG])


@pytest.mark.parametrize("command", GOOD)
def test_a_program_comes_to_its_end(runs, command):
    run = runs[command]
    assert run.status == 0, run.text
    assert [line["ok"] for line in run.lines("end")] == [True]
    assert len(run.lines("evidence")[0]["ranks"]) == int(command.split()[0])
    definition = CHECKS[command.split()[1]]
    assert definition.read(GOOD[command], run.output).wrong is None


@pytest.mark.parametrize("command", REFUSED)
def test_what_is_wrong_is_refused(runs, command):
    run = runs[command]
    assert run.status != 0
    assert any(REFUSED[command] in said for said in run.output.errors), run.text


@pytest.mark.parametrize("command", WRONG)
def test_an_injected_fault_is_a_wrong_answer(runs, command):
    run = runs[command]
    assert run.status != 0
    assert not run.output.errors
    assert any(WRONG[command] in said for said in run.output.wrong), run.text


def test_a_neighbour_who_wakes_late_finds_that_the_stream_has_ended():
    out = built_programs("openmpi", ["interference"])  # which takes in several messages at once
    late = out / "late_nap.so"
    source = str(LIBRARY / "proof" / "late_nap.c")
    subprocess.run(["cc", "-fPIC", "-shared", "-o", str(late), source], check=True)
    command = f"4 {BESIDE}"
    assert run_each("openmpi", out, [command], late)[command].status == 0
