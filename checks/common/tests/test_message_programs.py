# SPDX-License-Identifier: Apache-2.0
"""The programs that pass messages, at 1 to 4 ranks with each library, and their verification."""

import re
from functools import cache

import pytest

from checks.collectives import OPERATIONS
from checks.common.registry import CHECKS
from checks.common.sources import LIBRARY
from checks.common.tests.program_runs import (
    LIBRARIES,
    built_programs,
    chosen,
    command_of,
    library_of,
    only,
    run_each,
)

if "bisection" not in CHECKS:
    pytest.skip(
        "half of these programs are of plugins/papers, which is not here", allow_module_level=True
    )

PROGRAMS = ["alltoall_pairs", "bisection", "cholesky", "collectives", "echo", "interference"]
PROGRAMS += ["one_sided", "pt2pt", "ring", "streams"]
PAIRS = "alltoall_pairs --latency-iterations=5 --bandwidth-iterations=3 --bandwidth-bytes=100000"
BISECTION = "bisection --matchings=3 --iterations=2 --message-bytes=20000"
ECHO = "echo --sizes=0,7,200000 --iterations=5 --warmup=1"
RING = "ring --sizes=8,70000 --turns=3 --warmup=1"
CHOLESKY = "cholesky --n=40 --repetitions=1"
COPIES = "one_sided --sizes=8,70000 --iterations=3 --warmup=1"
BESIDE = "interference --sizes=1,5000 --samples=3 --work=1e-4 --window=2"
STREAMS = "streams --sizes=7,70000 --iterations=2 --warmup=1 --window=4"

FEW_MATCHINGS = {"matchings": 3, "iterations": 2, "message_bytes": 20000}
FEW_ECHOES = {"sizes": [7, 200000], "iterations": 5, "warmup": 1}
FEW_TURNS = {"sizes": [8, 70000], "turns": 3, "warmup": 1}
FEW_WINDOWS = {"sizes": [7, 70000], "iterations": 2, "warmup": 1, "window": 4}
FEW_CALLS = {"sizes": [4, 1000], "repetitions": 1, "warmup": 1}
FEW_SAMPLES = {"sizes": [1, 5000], "samples": 3, "work_s": 1e-4, "window": 2}
ORDERS = ("natural", "gray", "random")
#: What must come to its end with every value that was asked for: command and parameters.
GOOD = dict(
    [
        *(command_of("bisection", ranks=ranks, **FEW_MATCHINGS) for ranks in (2, 3, 4)),
        command_of("echo", placement="self", **FEW_ECHOES),
        *(command_of("echo", distance=distance, **FEW_ECHOES) for distance in (1, 2, 3)),
        *(command_of("ring", ranks=ranks, **FEW_TURNS) for ranks in (1, 3)),
        *(command_of("ring", ranks=2, order=order, **FEW_TURNS) for order in ORDERS),
        *(command_of("ring", ranks=4, order=order, **FEW_TURNS) for order in ORDERS),
        *(command_of("cholesky", ranks=ranks, n=n) for ranks, n in ((1, 30), (3, 50), (4, 3))),
        command_of("one_sided", sizes=[1, 15, 70000], iterations=4, warmup=1),
        command_of("pt2pt", sizes=[1, 70000], iterations=4, warmup=1),
        command_of("streams", **FEW_WINDOWS),
        *(command_of("collectives", ranks=ranks, **FEW_CALLS) for ranks in (1, 2, 3, 4)),
        command_of("collectives", ranks=3, procedure="loop", runs=2, **FEW_CALLS),
        *(command_of("interference", ranks=ranks, **FEW_SAMPLES) for ranks in (2, 3, 4)),
    ]
)
#: Pairs on one host have no names of their own; these must come to their end.
UNNAMED = {f"2 {PAIRS}": 2, f"3 {PAIRS} --turns": 6}
UNNAMED |= {f"4 {PAIRS} --turns": 12, f"4 {PAIRS} --seed=7": 12}
#: Ranks between the ends of a stream sleep.
UNNAMED |= {f"{ranks} {STREAMS}": 4 for ranks in (3, 4)}
UNNAMED[f"3 {COPIES}"] = 16
#: Which LAM refuses.
LOCKED = {f"{ranks} {COPIES} --synchronisation=lock": 16 for ranks in (2, 3)}
ONE_ALTERED = f"2 {COPIES} --synchronisation=lock --inject-fault --operations="
LOCKED_ALTERED = [f"{ONE_ALTERED}{operation}" for operation in ("put", "get")]
AT_LEAST_2 = "found 1 ranks, allowed are at least 2"
#: Commands that must be refused or caught, and what is said of them.
BAD = {
    **dict.fromkeys([f"1 {one}" for one in (PAIRS, BISECTION, STREAMS, COPIES)], AT_LEAST_2),
    f"1 {BESIDE}": "found 1 rank, allowed are at least 2",
    f"3 {RING} --orders=gray": "allowed are powers of two",
    "2 streams --sizes=0": "allowed are sizes above 0",
    "2 one_sided --sizes=0": "allowed are sizes above 0",
    "2 one_sided --synchronisation=fence,lock": "allowed is fence or lock",
    "2 collectives --sizes=6": "multiples of 4",
    "2 collectives --procedure=each,loop": "allowed is one of them",
    "2 collectives --operations=gathering": "gathering",
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
    f"2 {COPIES} --inject-fault": "is not what was sent",
    f"3 {CHOLESKY} --inject-fault": "the residual is",
    **{
        f"{ranks} collectives --sizes=1000 --inject-fault --operations={name}": name
        for ranks, name in zip((1, 2, 3, 4) * 3, OPERATIONS, strict=False)
    },
    "2 collectives --inject-fault --operations=barrier": "let ranks leave",
    "2 collectives --inject-fault --operations=scan --procedure=loop": "scan",
    f"2 {BESIDE} --inject-fault=message": "is not what was sent",
    f"3 {BESIDE} --inject-fault=count": "turns ended at",
}


GROUPS = (GOOD, UNNAMED, BAD, ALTERED, [*LOCKED, *LOCKED_ALTERED])
#: Of those below, which take a second and more: full.
SLOW = ("2 collectives --inject-fault --operations=b", "3 collectives --op", "3 cholesky --n=50")


def some(*groups):
    """The commands of groups; fast: those of two cores, and the first larger one of a program."""
    commands = [command for group in groups for command in group]
    larger = {one.split()[1]: one for one in reversed(commands) if int(one[0]) > 2}
    small = [one for one in commands if int(one[0]) <= 2]
    return only([one for one in (*small, *larger.values()) if not one.startswith(SLOW)], commands)


@pytest.fixture(scope="module", params=LIBRARIES)
def runs(request):
    """Result of a command; the first one asked of a group and program has all of them run."""
    out = built_programs(request.param, PROGRAMS)
    asked = {*chosen(request, "command"), *GROUPS[-1], next(iter(GOOD))}

    @cache
    def of_group(number, program):
        group = [one for one in GROUPS[number] if one in asked and one.split()[1] == program]
        return run_each(request.param, out, group)

    def of(command):
        number = next(i for i, group in enumerate(GROUPS) if command in group)
        return of_group(number, command.split()[1])[command]

    return of


@pytest.mark.parametrize("command", some(BAD))
def test_what_cannot_be_measured_is_refused(runs, command):
    run = runs(command)
    assert run.status != 0
    assert not run.lines("end")
    assert any(BAD[command] in line["message"] for line in run.lines("error")), run.text


@pytest.mark.parametrize("command", some(GOOD, UNNAMED))
def test_a_program_comes_to_its_end_and_answers_what_was_asked(runs, command):
    run = runs(command)
    assert run.status == 0, run.text
    assert [line["ok"] for line in run.lines("end")] == [True]
    assert len(run.lines("evidence")[0]["ranks"]) == int(command.split()[0])
    definition, metrics = CHECKS[command.split()[1]], run.lines("metric")
    known = definition.metrics_by_name
    assert all(line["value"] > 0 or known[line["name"]].may_be_zero for line in metrics)
    if command in GOOD:
        assert definition.read(GOOD[command], run.output).wrong is None
    assert len(metrics) == UNNAMED.get(command, len(metrics))


#: What the device is called that carries the messages of each library.
DEVICES = {"MPICH": r"ch[34]:\w+.*", "Open MPI": r"ob1:.*\btcp\b.*|ucx|cm", "LAM/MPI": r"sysv"}


def test_each_library_tells_its_device(runs):
    evidence = runs(next(iter(GOOD))).output.evidence
    (device,) = (one for name, one in DEVICES.items() if evidence.library.startswith(name))
    assert re.fullmatch(device, evidence.device)


@pytest.mark.parametrize("command", some(ALTERED))
def test_altered_data_are_caught_as_a_wrong_answer(runs, command):
    run = runs(command)
    assert run.status != 0
    assert not run.lines("end")
    assert not run.output.errors
    assert any(ALTERED[command] in said for said in run.output.wrong), run.text


def test_copies_under_a_lock_are_verified_where_the_library_has_locks(runs):
    if runs(next(iter(LOCKED))).lines("error"):
        for command in (*LOCKED, *LOCKED_ALTERED):
            (said,) = (line["message"] for line in runs(command).lines("error"))
            assert "lock, which this library lacks" in said
        return
    for command, values in LOCKED.items():
        assert len(runs(command).lines("metric")) == values
        assert [line["ok"] for line in runs(command).lines("end")] == [True]
    for command in LOCKED_ALTERED:
        assert any("is not what was sent" in said for said in runs(command).output.wrong)


@pytest.mark.full
def test_a_neighbour_who_wakes_late_finds_that_the_stream_has_ended():
    out = built_programs("openmpi", ["interference"])  # which takes in several messages at once
    late = library_of(out, LIBRARY / "proof" / "late_nap.c")
    command = f"4 {BESIDE}"
    assert run_each("openmpi", out, [command], late)[command].status == 0
