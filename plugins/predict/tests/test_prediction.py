# SPDX-License-Identifier: Apache-2.0
"""Times on other node counts: patterns counted by hand, laws that are known, honest refusals."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plugins.predict.library import Library, Link, Resampled, library_of
from plugins.predict.models.communication import (
    Transfer,
    cut,
    halo_transfers,
    hpl_transfers,
    prime_factors,
    squarest_grid,
)
from plugins.predict.models.scaling import Counts, fit_law
from plugins.predict.outcome import PredictionOutcome
from plugins.predict.picture import prediction_picture
from plugins.predict.predict import predict
from plugins.predict.tests.scaling_machine import LATTICE, Truth, machine_run, operation_run
from reports.analysis.run import analyse
from reports.load.loading import load_run

COUNTS = (1, 2, 4, 8, 16)
WIDE = (2, 3, 4, 6, 8, 12, 16, 24, 32, 64)


def serial_share(note: str) -> float:
    """The greatest share of serial work that a note leaves open; 0 of another."""
    found = re.match(r"work that one rank does alone, up to ([\d.]+) %", note)
    return float(found[1]) / 100 if found else 0.0


def outcome_of(run: Path, nodes: Any = (), left_out: Any = ()) -> PredictionOutcome:
    return predict(analyse(load_run(run)), nodes, left_out)


def test_a_lattice_is_cut_as_the_program_cuts_it() -> None:
    # The longest extent first; of equal ones that which is cut already, else the first.
    assert cut((8, 8, 8, 16), 2) == (1, 1, 1, 2)
    assert cut((8, 8, 8, 8), 2) == (2, 1, 1, 1)
    assert cut((8, 8, 8, 16), 4) == (1, 1, 1, 4)
    assert cut((4, 4, 4, 8), 3) is None
    assert cut((12, 12, 12, 24), 6) == (2, 1, 1, 3)
    assert prime_factors(60) == [5, 3, 2, 2]


def test_halos_are_three_matrices_a_face_site_in_each_divided_direction() -> None:
    size = {"ranks_per_node": 1, "real_bytes": 4, "exchanges": 10}
    one, other = halo_transfers((8, 8, 8, 16), (2, 1, 1, 2), **size)
    # Local 4 × 8 × 8 × 8: faces of 512 and 256 sites, 54 reals of 4 bytes each, ten times.
    assert one == Transfer(10, 10 * 54 * 4 * 512, True, 1)
    assert other == Transfer(10, 10 * 54 * 4 * 256, True, 1)


def test_ranks_of_a_node_share_its_link_where_their_neighbours_are_elsewhere() -> None:
    # x pairs lie in a node, the four ranks of which all send along t to other nodes.
    size = {"ranks_per_node": 4, "real_bytes": 8, "exchanges": 1}
    inside, between = halo_transfers((8, 4, 4, 8), (4, 1, 1, 2), **size)
    assert (inside.between_nodes, between.between_nodes, between.sharing) == (False, True, 4)


def test_the_panels_of_hpl_follow_its_authors() -> None:
    (one,) = hpl_transfers(1000, 100, 2, 4, ranks_per_node=1)
    assert one.starts == pytest.approx(1000 * (101 * 1 + 2) / 100)
    assert one.sent_bytes == pytest.approx(8 * 1e6 * 10 / 16)
    assert hpl_transfers(1000, 100, 1, 1, ranks_per_node=1) == []
    assert squarest_grid(12) == (3, 4)


def test_sums_follow_the_law_of_the_run_or_recursive_doubling() -> None:
    link = Link(np.array([1e9]), np.array([[2e-6]]), np.array([[1e-9]]))
    machine = Library(Resampled((1,)), between=link)
    assert machine.sums_s(10, 8, 8) == pytest.approx([10 * 3 * (2e-6 + 96e-9)])
    assert machine.sums_s(10, 1, 1).tolist() == [0]
    near, far = Transfer(1, 8, False), Transfer(2, 800, True, sharing=4)
    assert machine.messages_s([far]) == pytest.approx([2 * 2e-6 + 4 * 800e-9])
    assert (machine.lacks([far]), machine.lacks([far, near])) == (None, "within-node")


def test_a_law_without_errors_comes_back() -> None:
    nodes = np.array([1.0, 2, 4, 8, 16, 32])
    work, messages = 1e6 / nodes, np.array([[0, 1, 1.5, 2, 2.5, 3]])
    compute, sent = 1e-6 * work, 1.3 * messages
    with np.errstate(divide="ignore"):
        law = fit_law(Counts(nodes, work, messages, compute + sent, sent))
    gamma, a, kappa, b = law.values[0]
    assert (gamma, kappa) == pytest.approx((math.log(1e-6), math.log(1.3)), abs=5e-3)
    assert (a, b) == pytest.approx((0, 0), abs=5e-3)
    grown = fit_law(Counts(nodes, work, messages, compute + sent * nodes**0.2, sent * nodes**0.2))
    assert grown.values[0, 3] == pytest.approx(0.2, abs=0.03)


def test_what_is_not_known_grows_with_the_distance_from_what_was_measured(tmp_path: Path) -> None:
    found = outcome_of(machine_run(tmp_path / "run", COUNTS), nodes=(32, 1024))
    assert not found.missing
    assert {item.subject.check for item in found.predicted} == {"su3_rmd", "hpl"}
    for item in found.predicted:
        near, far = (math.log(one.time_s.high / one.time_s.low) for one in item.part.points)
        assert near < far
        assert all(one.efficiency.low < one.efficiency.high for one in item.part.points)
        assert item.part.learnt_from == [*COUNTS]


@pytest.mark.parametrize("contention", [0.0, 0.25])
def test_the_true_time_lies_in_the_interval(tmp_path: Path, contention: float) -> None:
    truth = Truth(contention=contention)
    found = outcome_of(machine_run(tmp_path / "run", COUNTS, truth), nodes=(256,))
    (strong,) = [item for item in found.predicted if item.subject.check == "su3_rmd"]
    (one,) = strong.part.points
    compute, messages = truth.lattice_s(LATTICE, 256, 100)
    assert one.time_s.holds(compute + messages)
    assert one.communication_share == pytest.approx(messages / (compute + messages), rel=0.3)
    if not contention:
        assert one.time_s.value == pytest.approx(compute + messages, rel=0.1)


@pytest.mark.parametrize("counts", [COUNTS[:3], COUNTS])
@pytest.mark.parametrize("serial", [0.01, 0.003])
def test_serial_work_is_in_the_interval_or_left_open_by_a_note(
    tmp_path: Path, counts: tuple[int, ...], serial: float
) -> None:
    truth = Truth(serial=serial)
    outside = 0
    for seed in range(4):
        run = machine_run(tmp_path / f"{seed}", counts, truth, seed=seed)
        for item in outcome_of(run, nodes=(64, 256)).predicted:
            (left_open,) = filter(None, map(serial_share, item.part.notes))
            (note,) = [note for note in item.part.notes if serial_share(note)]
            assert "on 256 nodes" in note
            for one in item.part.points:
                k, words = one.nodes, one.problem.split()
                grid = squarest_grid(k)
                times = truth.lattice_s(LATTICE, k, 100)
                if item.subject.check == "hpl":
                    times = truth.system_s(int(words[2]), grid)
                held = one.time_s.holds(sum(times))
                outside += not held
                assert held or left_open >= serial
    # The note is needed: intervals alone do not hold what serial work adds.
    assert outside or serial < 0.01 or counts != COUNTS


def test_what_is_left_out_is_not_learnt_from_and_stands_beside(tmp_path: Path) -> None:
    found = outcome_of(machine_run(tmp_path / "run", COUNTS), left_out=(16,))
    assert len(found.held_out) == 2
    assert found.inside == 2
    assert all(16 not in item.part.learnt_from for item in found.predicted)
    # What breaks the law where it was left out is told as outside.
    slow = outcome_of(machine_run(tmp_path / "slow", COUNTS, slower={16: 4.0}), left_out=(16,))
    assert (slow.inside, len(slow.held_out)) == (0, 2)


def test_a_bend_at_the_greatest_count_is_said(tmp_path: Path) -> None:
    bent = outcome_of(machine_run(tmp_path / "bent", COUNTS, slower={16: 2.0}), nodes=(64,))
    assert all("16 nodes take" in item.part.notes[-1] for item in bent.predicted)
    straight = outcome_of(machine_run(tmp_path / "straight", COUNTS), nodes=(64,))
    assert not any("nodes take" in note for item in straight.predicted for note in item.part.notes)


def test_a_lattice_that_cannot_be_cut_names_counts_that_can(tmp_path: Path) -> None:
    found = outcome_of(machine_run(tmp_path / "run", COUNTS, applications=["su3_rmd"]), (1000,))
    assert not found.predicted
    (gap,) = found.missing
    assert "1000 ranks cannot cut the lattice 32³ × 64" in gap.why
    assert "512 nodes and 1024 nodes" in gap.why


def test_what_a_run_lacks_is_named_with_what_adds_it(tmp_path: Path) -> None:
    no_echo = outcome_of(machine_run(tmp_path / "a", COUNTS, echo=False), (64,)).missing
    assert all("between-nodes" in gap.add for gap in no_echo)
    assert {gap.check for gap in no_echo} == {"su3_rmd", "hpl"}
    one_count = outcome_of(machine_run(tmp_path / "b", (2,)), (64,))
    assert all("2 nodes alone to learn from" in gap.why for gap in one_count.missing)
    nothing = outcome_of(machine_run(tmp_path / "c", (), applications=[]), (64,))
    assert nothing.missing[0].why == "the run has none of su3_rmd, hpl, collectives"
    shared = {2: ["oversubscribed"], 4: ["oversubscribed"]}
    crowded = outcome_of(machine_run(tmp_path / "d", (1, 2, 4), flags=shared), (64,))
    assert not crowded.predicted
    assert all("ranks shared cores" in gap.why for gap in crowded.missing)


def test_a_picture_shows_points_law_and_interval(tmp_path: Path) -> None:
    analysis = analyse(load_run(machine_run(tmp_path / "run", COUNTS)))
    picture = prediction_picture(analysis, predict(analysis, (64,), (16,)))
    assert picture is not None and len(picture.panels) == 2
    assert "mpich on 64 nodes" in picture.panels[0].alt
    assert picture.environments == ["mpich"]


def allreduce_s(p: int, message_bytes: int) -> float:
    return 30e-6 + 55e-6 * math.log2(p) + (1e-8 + 2e-8 * math.log2(p)) * message_bytes


def operation_at(folder: Path, counts: Any, time_s: Any = allreduce_s, **more: Any) -> Path:
    return operation_run(folder, counts, time_s, sizes=(4, 1024, 65536), **more)


def test_a_collective_s_true_time_lies_in_the_interval_of_its_laws(tmp_path: Path) -> None:
    found = outcome_of(operation_at(tmp_path / "run", WIDE), (256, 1024))
    sizes = ("4 B", "1 KiB", "64 KiB")
    assert [item.subject.title for item in found.predicted] == [f"allreduce, {s}" for s in sizes]
    for item, size in zip(found.predicted, (4, 1024, 65536), strict=True):
        assert (item.subject.check, item.subject.scaling) == ("collectives", "weak")
        near, far = item.part.points
        assert near.time_s.holds(allreduce_s(256, size))
        assert far.time_s.holds(allreduce_s(1024, size))
        assert far.time_s.value == pytest.approx(allreduce_s(1024, size), rel=0.2)
        expected = allreduce_s(2, size) / allreduce_s(1024, size)
        assert far.efficiency.value == pytest.approx(expected, rel=0.25)
        assert near.time_s.high / near.time_s.low < far.time_s.high / far.time_s.low


def test_laws_that_few_counts_do_not_tell_apart_all_stand_in_the_interval(tmp_path: Path) -> None:
    few, many = (
        outcome_of(operation_at(tmp_path / str(len(counts)), counts, luck=0.08), (1024,))
        for counts in ((2, 3, 4, 5, 6), WIDE)
    )
    times = [found.predicted[0].part.points[0].time_s for found in (few, many)]
    wide, narrow = (math.log(one.high / one.low) for one in times)
    assert wide > 3 * narrow
    assert "undetermined" in few.predicted[0].part.notes[0]


def test_a_count_of_collectives_that_is_left_out_stands_beside(tmp_path: Path) -> None:
    found = outcome_of(operation_at(tmp_path / "run", WIDE), left_out=(64,))
    assert (found.inside, len(found.held_out)) == (3, 3)
    assert all(64 not in item.part.learnt_from for item in found.predicted)

    def late(p: int, message_bytes: int) -> float:
        return (3.0 if p == 64 else 1.0) * allreduce_s(p, message_bytes)

    slow = outcome_of(operation_at(tmp_path / "slow", WIDE, late), left_out=(64,))
    assert (slow.inside, len(slow.held_out)) == (0, 3)


def test_a_collective_without_a_law_is_not_predicted(tmp_path: Path) -> None:
    few = outcome_of(operation_at(tmp_path / "few", (2, 4, 8, 16)), (64,))
    assert not few.predicted
    (gap,) = few.missing
    assert (gap.what, gap.why[:16]) == ("allreduce", "4 process counts")
    assert "`ranks`" in gap.add

    def switching(p: int, message_bytes: int) -> float:
        # An algorithm for long messages, ten times faster, that starts ten times slower.
        short, long = allreduce_s(p, message_bytes), 10e-3 + 2e-9 * message_bytes
        return short if message_bytes < 1024 else long

    (gap,) = outcome_of(operation_at(tmp_path / "odd", WIDE, switching), (128,)).missing
    assert "no fit" in gap.why or "no law" in gap.why
    crowded = {k: ["oversubscribed"] for k in WIDE[3:]}
    (gap,) = outcome_of(operation_at(tmp_path / "crowd", WIDE, flags=crowded), (128,)).missing
    assert gap.why.startswith("3 process counts")
    shared = "(not learnt from, as ranks shared cores: 6, 8, 12, 16, 24, 32, 64 nodes)"
    assert gap.why.endswith(shared)


def test_a_law_that_falls_to_nothing_is_said_and_not_taken_for_sums(tmp_path: Path) -> None:
    def falling(p: int, message_bytes: int) -> float:
        return 1e-3 - 1e-5 * p + 1e-9 * message_bytes

    run = operation_at(tmp_path / "run", WIDE, falling, luck=0.001, launch=0.001)
    found = outcome_of(run, (48, 1024))
    assert [[one.nodes for one in item.part.points] for item in found.predicted] == [[48]] * 3
    assert [(gap.what, gap.why) for gap in found.missing] == [
        (f"allreduce, {size} on 1\u202f024 nodes", "the law gives no time above 0 there")
        for size in ("4 B", "1 KiB", "64 KiB")
    ]
    machine = library_of(analyse(load_run(run)), "mpich", ())
    assert machine.law_of_sums(48, 48) is not None
    assert machine.law_of_sums(1024, 1024) is None


def test_a_left_out_count_that_a_collective_has_not_is_said(tmp_path: Path) -> None:
    run = operation_at(tmp_path / "run", (1, *WIDE))
    (gap,) = outcome_of(run, left_out=(5,)).missing
    assert (gap.what, gap.why[:26]) == ("allreduce on 5 nodes", "left out, but not measured")
    (gap,) = outcome_of(run, left_out=(1,)).missing
    assert (gap.what, "crosses the network" in gap.why) == ("1 node", True)
    assert not outcome_of(run, nodes=(5,), left_out=(5,)).missing
    machine = machine_run(tmp_path / "machine", COUNTS, applications=["su3_rmd"])
    (gap,) = outcome_of(machine, left_out=(3,)).missing
    assert (gap.what, gap.why[:26]) == ("su3_rmd on 3 nodes", "left out, but not measured")


def test_counts_that_a_law_does_not_rest_on_are_said(tmp_path: Path) -> None:
    shared = {2: ["oversubscribed in 1 of 5"]}
    told = "not learnt from, as ranks shared cores: {}", "not learnt from, as left out: {} nodes"
    found = outcome_of(operation_at(tmp_path / "a", WIDE, flags=shared), left_out=(64, 2))
    expected = [told[0].format("2 nodes"), told[1].format(64)]
    assert [[*item.part.notes[1:]] for item in found.predicted] == [expected] * 3
    (gap,) = outcome_of(operation_at(tmp_path / "b", WIDE[:5]), (64,), left_out=(8,)).missing
    assert gap.why.endswith("are needed (not learnt from, as left out: 8 nodes)")
    machine = machine_run(tmp_path / "c", COUNTS, flags={1: ["oversubscribed"]})
    for item in outcome_of(machine, left_out=(16,)).predicted:
        assert [*item.part.notes[:2]] == [told[0].format("1 node"), told[1].format(16)]


def test_collectives_learn_from_full_nodes_beyond_one_alone(tmp_path: Path) -> None:
    counts = (1, *WIDE)

    def near(p: int, message_bytes: int) -> float:
        return allreduce_s(p, message_bytes) * (0.05 if p == 2 else 1.0)

    found = outcome_of(operation_at(tmp_path / "run", counts, near, on_node=2), (1, 128))
    assert all(item.part.learnt_from == [*WIDE] for item in found.predicted)
    assert found.predicted[0].subject.title == "allreduce, 2 ranks a node, 4 B"
    assert found.predicted[0].part.points[0].ranks == 256
    assert [gap.what for gap in found.missing] == ["1 node"]


def test_global_sums_follow_full_nodes_of_their_layout_that_are_learnt_from(tmp_path: Path) -> None:
    def late(p: int, message_bytes: int) -> float:
        return (5.0 if p in {1, 64} else 1.0) * allreduce_s(p, message_bytes)

    analysis = analyse(load_run(operation_at(tmp_path / "run", (1, *WIDE), late)))
    sums_s = library_of(analysis, "mpich", (64,)).sums_s(10, 128, 128)
    assert sums_s[0] == pytest.approx(10 * allreduce_s(128, 96), rel=0.1)
    assert 0.02 < float(np.std(np.log(sums_s))) < 0.2
    assert library_of(analysis, "mpich", ()).sums_s(10, 128, 128)[0] > 1.2 * sums_s[0]
    machine = library_of(analysis, "mpich", (64,))
    assert machine.law_of_sums(256, 128) is None
    assert machine.law_of_sums(2, 1) is None
