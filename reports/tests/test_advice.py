# SPDX-License-Identifier: Apache-2.0
"""Advice on simulated libraries with known times: what it says is true, and it says no more."""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs

from records.application_profile import ApplicationProfile, OverRanks, ProfiledCall
from records.errors import AssayError
from reports.analysis.run import analyse
from reports.load.loading import load_run
from reports.render import html, terminal
from reports.tests.advice_machine import (
    HALO,
    MACHINES,
    SIZES,
    Machine,
    curves_run,
    profile_of,
    program_s,
)
from reports.verdicts.advice.advise import ERROR_OF_FACTOR, MODEL_ERROR, Advice, advise
from reports.verdicts.advice.lengths import LengthCurve
from reports.verdicts.advice.outcome import AdvisedPart, LikelyPart
from reports.verdicts.advice.result import advice_result


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return curves_run(tmp_path_factory.mktemp("advice") / "run")


def advice_of(run: Path, profile: ApplicationProfile, **options: float) -> Advice:
    return advise(analyse(load_run(run)), profile, **options)  # type: ignore[arg-type]


def by_name(advice: Advice) -> dict[str, AdvisedPart]:
    return {one.environment: one for one in advice.advised}


def test_the_profiles_own_environment_takes_what_was_measured(run: Path) -> None:
    profile = profile_of()
    found = by_name(advice_of(run, profile))["mpich"]
    assert found.time_s.value == pytest.approx(profile.elapsed_s.mean, rel=1e-9)


def test_the_order_is_the_true_one_and_libraries_alike_are_tied(run: Path) -> None:
    small = (("Isend", 64, 20_000), ("Allreduce", 8, 10_000))
    found = by_name(advice_of(run, profile_of(small, compute_s=0.1)))
    assert (found["openmpi"].place, found["openmpi"].tied_with) == (3, [])
    assert found["mpich"].tied_with == ["lam"]


def test_the_ratio_turns_with_the_size_of_messages(run: Path) -> None:
    profile = profile_of((("Send", 64, 20_000),), compute_s=0.01)
    assert advice_of(run, profile).advised[0].environment != "openmpi"
    assert advice_of(run, profile, sizes=10_000).advised[0].environment == "openmpi"


def test_ninety_percent_intervals_hold_the_truth_in_ninety_percent(tmp_path: Path) -> None:
    """A program's calls differ from the check's in each library by what is allowed for."""
    rng, inside = np.random.default_rng(5), list[bool]()
    error = MODEL_ERROR + ERROR_OF_FACTOR * math.log(1.2)
    for seed in range(6):
        at = curves_run(tmp_path / str(seed), seed=seed, noise=0.03)
        profile = profile_of(HALO[:1], compute_s=0.05, factor=1.2)
        found = by_name(advice_of(at, profile))
        for name, drawn in product(("openmpi", "lam"), rng.standard_normal(20)):
            factor = 1.2 * math.exp(error * drawn)
            truth, part = program_s(MACHINES[name], HALO[:1], 4, factor), found[name]
            inside.append(part.communication_s.low <= truth <= part.communication_s.high)
    assert 0.9 <= sum(inside) / len(inside) <= 0.97


def test_messages_both_ways_have_a_curve_of_their_own(tmp_path: Path) -> None:
    """LAM's take twice as long when another comes at the same time, MPICH's do not."""
    at = curves_run(tmp_path / "run", exchange={"mpich": 1.0, "openmpi": 1.0, "lam": 2.0})
    halo, one_way = ((((call), 20_000, 4000),) for call in ("Isend", "Send"))
    profiles = (profile_of(one, factor=1.0, wait=0.0) for one in (halo, one_way))
    both, alone = (by_name(advice_of(at, one))["lam"].communication_ratio for one in profiles)
    assert both.value == pytest.approx(2 * alone.value, rel=0.05)


def test_what_calls_take_longer_than_the_checks_is_the_same_in_every_library(tmp_path) -> None:
    """A factor of 1.5 over MPICH is half a message more; over LAM, twice as slow, a quarter."""
    at, mix = curves_run(tmp_path / "run", exchange={"mpich": 1.0, "lam": 2.0}), HALO[:1]
    profiles = (profile_of(mix, factor=one, wait=0.0, compute_s=0.0) for one in (1.0, 1.5, 0.8))
    found = [by_name(advice_of(at, one)) for one in profiles]
    mpich, lam = ([one[name].communication_s.value for one in found] for name in ("mpich", "lam"))
    assert lam[1] - lam[0] == pytest.approx(mpich[1] - mpich[0], rel=0.01)
    assert lam[2] / lam[0] == pytest.approx(0.8, rel=0.01)


def test_messages_that_pass_at_once_take_as_long_as_in_such_a_window(tmp_path: Path) -> None:
    """Two at once take 0.75 of the time of one; LAM's have windows of one alone."""
    at = curves_run(tmp_path / "run", exchange={"openmpi": 1.0}, windows=(1, 2))
    alone = profile_of(HALO[:1], wait=0.0)
    many = profile_of(HALO[:1], wait=0.0, further=[call("Waitall", 0.0, count=4000)])
    times = [by_name(advice_of(at, one))["openmpi"].communication_s.value for one in (alone, many)]
    assert times[1] / times[0] == pytest.approx(0.75, rel=0.05)


def test_operations_count_as_between_the_two_ways_to_come_to_them(tmp_path: Path) -> None:
    at = curves_run(tmp_path / "run", loop=1.5)
    profile = profile_of((("Allreduce", 512, 4000),), factor=1.0, wait=0.0)
    (part,) = advice_of(at, profile).explained
    assert part.curves_s / part.measured_s == pytest.approx(1.5**0.5, rel=0.05)


def test_a_protocols_limit_between_two_lengths_is_close_to_the_power_of_two() -> None:
    below = LengthCurve(np.array([3584.0, 4096]), np.array([[10.0, 30]]))
    above = LengthCurve(np.array([4096.0, 5120]), np.array([[10.0, 30]]))
    nowhere = LengthCurve(np.array([3000.0, 3500]), np.array([[10.0, 30]]))
    assert below.at(4000)[0].tolist() == [10]
    assert above.at(4200)[0].tolist() == [30]
    assert nowhere.at(3200)[1] > 0.3
    assert below.asks_at(4096)
    assert not below.asks_at(3584)


def test_longer_messages_of_a_sender_that_runs_ahead_are_refused(run: Path) -> None:
    received = call("Recv", 0.1, sampled=4, sampled_s=0.1, ahead=4, ranks=2, nodes=2)
    profile = profile_of((("Send", 3000, 1000),), further=[received])
    assert not advice_of(run, profile).refused
    assert "whether its sender waits" in "; ".join(advice_of(run, profile, sizes=4).refused)


def test_a_wide_interval_has_no_value() -> None:
    assert [LikelyPart(1.1, 1.0, high).stated for high in (1.2, 1.3)] == [True, False]


def test_a_barrier_has_no_length_and_messages_of_a_rank_to_itself_need_no_curve(run: Path) -> None:
    barrier = profile_of((("Barrier", 0, 1000),))
    assert not advice_of(run, barrier).refused and not advice_of(run, barrier, sizes=4).refused
    alone = call("Isend", 0.1, least_bytes=8, greatest_bytes=8, bytes=32, ranks=2, nodes=1)
    assert not advice_of(run, profile_of(further=[alone])).refused
    assert advice_of(run, profile_of(further=[alone], on_node=2)).refused


def test_more_ranks_without_a_new_profile_use_the_operations_on_so_many(run: Path) -> None:
    profile = profile_of((("Allreduce", 4096, 10_000),), ranks=2, factor=1.0, compute_s=0.01)
    found = by_name(advice_of(run, profile, ranks=4))
    truth = program_s(MACHINES["openmpi"], (("Allreduce", 4096, 10_000),), 4)
    assert found["openmpi"].communication_s.value == pytest.approx(truth, rel=0.1)


def sentence_of(run: Path, profile: ApplicationProfile) -> str:
    result = advice_result(advice_of(run, profile), None)
    assert result.answer is not None
    return result.answer.sentence


def test_what_cannot_be_told_apart_is_said_as_the_table_has_it(tmp_path: Path) -> None:
    """The profile's own environment has the narrowest interval: apart from one, tied with another
    that is not apart from that one."""
    own, first, last = (Machine(alpha_s=micro * 1e-6) for micro in (20.3, 20.0, 22.7))
    profile = profile_of((("Send", 64, 20_000),), own, factor=1.0, compute_s=0.01)
    pair = curves_run(tmp_path / "pair", {"lam": first, "mpich": own}, noise=0.005)
    assert "lam and mpich cannot be told apart: mpich takes" in sentence_of(pair, profile)
    machines = {"lam": first, "mpich": own, "openmpi": last}
    three = curves_run(tmp_path / "three", machines, noise=0.005)
    found = by_name(advice_of(three, profile))
    assert found["openmpi"].tied_with == ["lam"]
    assert "lam cannot be told apart from mpich and openmpi" in sentence_of(three, profile)


def test_what_the_curves_of_its_environment_were_not_held_against_is_said(run: Path) -> None:
    profile = profile_of((("Send", 64, 20_000),), further=[call("Alltoall", 0.01)])
    notes = advice_result(advice_of(run, profile), None).data.notes
    assert any("no curves of mpich for the profile's collectives" in note for note in notes)


def test_calls_without_a_curve_are_not_held_against_the_curves_of_others(run: Path) -> None:
    """40 ms without a curve, beside sums of 12 ms, of which the curves give ten."""
    mix = (("Isend", 20_000, 4000), ("Allreduce", 8, 250))
    profile = profile_of(mix, wait=0.0, further=[call("Alltoall", 0.16)])
    advice = advice_of(run, profile)
    sums = advice.explained[1]
    assert sums.measured_s == pytest.approx(program_s(MACHINES["mpich"], mix[1:], 4, 1.2))
    assert not advice.refused
    found = by_name(advice)["mpich"]
    assert found.time_s.value == pytest.approx(profile.elapsed_s.mean, rel=1e-9)
    operation = profile_of(HALO, further=[call("Alltoall", 5.0)])
    assert advice_of(run, operation).refused == ["total exchange was not measured"]


def test_what_is_beyond_the_measured_lengths_is_named_and_wider(run: Path) -> None:
    profile = profile_of((("Send", SIZES[-1], 100),), compute_s=0.01)
    inside, beyond = advice_of(run, profile), advice_of(run, profile, sizes=4)
    data = advice_result(beyond, None).data
    assert data.beyond
    assert not advice_result(inside, None).data.beyond
    widths = [by_name(one)["openmpi"].communication_s for one in (inside, beyond)]
    assert widths[1].high / widths[1].low > widths[0].high / widths[0].low
    assert advice_of(run, profile, sizes=100).refused


def call(name: str, time_s: float, **further: float) -> ProfiledCall:
    fixed = {"least_bytes": 0, "greatest_bytes": 0, "bytes": 0, "ranks": 4, "nodes": 4, "count": 4}
    return ProfiledCall(call=name, time_s=time_s, **fixed | further)  # type: ignore[arg-type]


OF_THREADS = structs.replace(profile_of(), elapsed_s=OverRanks.of([profile_of().mpi_s.mean / 2]))
WITHOUT_SIZES = structs.replace(profile_of((("Send", 0, 1000),)), source="mpiP")


@pytest.mark.parametrize(
    ("profile", "why"),
    [
        (profile_of(wait=0.4), "wait for other ranks"),
        (profile_of(further=[call("Win_fence", 5.0)]), "Win_fence"),
        (profile_of(further=[call("Alltoall", 5.0)]), "total exchange was not measured"),
        (profile_of(on_node=2), "2 ranks a node"),
        (profile_of(ranks=64), "64 ranks"),
        (profile_of(factor=9), "times what the curves"),
        (profile_of(()), "no communication"),
        (OF_THREADS, "several threads were in MPI at once"),
        (WITHOUT_SIZES, "no message sizes"),
    ],
)
def test_it_refuses_where_it_cannot_know(run: Path, profile: ApplicationProfile, why: str) -> None:
    advice = advice_of(run, profile)
    assert why in "; ".join(advice.refused)
    assert why != "64 ranks" or advice.confirm is None
    result = advice_result(advice, advice.confirm)
    assert result.answer is not None
    assert result.answer.sentence.startswith("It cannot be told from the profile")
    assert not result.data.environments


def test_curves_of_ranks_that_shared_cores_are_said_and_hold_for_no_messages(tmp_path) -> None:
    run = curves_run(tmp_path / "run", crowded=4)
    sums, halo = profile_of((("Allreduce", 8, 4000),)), profile_of()
    notes = advice_result(advice_of(run, sums), None).data.notes
    assert any("ranks shared cores" in note for note in notes)
    assert "4 ranks share cores here" in "; ".join(advice_of(run, halo).refused)


def test_an_environment_that_the_run_has_not_is_named(run: Path) -> None:
    with pytest.raises(AssayError, match="it has mpich, openmpi, lam"):
        advise(analyse(load_run(run)), profile_of(), environment="other")


def test_a_foreign_profile_is_predicted_more_widely(run: Path) -> None:
    own = by_name(advice_of(run, profile_of()))["openmpi"].ratio
    foreign = by_name(advice_of(run, profile_of(environment="")))["openmpi"].ratio
    assert foreign.high / foreign.low > own.high / own.low


def test_what_decides_comes_first_and_a_tie_has_a_run_that_tells_more(run: Path) -> None:
    mix = (("Send", 64, 40_000), ("Allreduce", 8, 10))
    profile = profile_of(mix, compute_s=0.01)
    advice = advice_of(run, profile)
    assert advice.deciding[0].call == "Send" and advice.deciding[0].share > 0.9
    assert advice.confirm is not None
    assert sorted(advice.confirm.environments) == ["lam", "mpich"]
    assert advice.confirm.checks == ["pt2pt"]


def test_the_same_is_on_page_and_terminal(run: Path) -> None:
    profile = profile_of(machine=Machine(), compute_s=0.1)
    advice = advice_of(run, profile)
    result = advice_result(advice, advice.confirm)
    assert result.answer is not None
    for made in (html.page(result), terminal.text(result)):
        assert "assay plan" in made and "openmpi" in made
    assert result.answer.sentence in terminal.text(result)
    assert len(result.pictures()) == 2
