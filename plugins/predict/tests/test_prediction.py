# SPDX-License-Identifier: Apache-2.0
"""Times on other node counts: patterns counted by hand, laws that are known, honest refusals."""

import math
from pathlib import Path

import numpy as np
import pytest

from assay.cli import main
from plugins.predict import subjects
from plugins.predict.outcome import Transfer
from plugins.predict.predict import Library, Link, Resampled, predict
from plugins.predict.scaling import Counts, fit_law
from plugins.predict.tests.scaling_machine import LATTICE, Truth, machine_run
from reports.analysis.run import analyse
from reports.load.loading import load_run

COUNTS = (1, 2, 4, 8, 16)


def outcome_of(run, nodes=(), left_out=()):
    return predict(analyse(load_run(run)), nodes, left_out)


def test_a_lattice_is_cut_as_the_program_cuts_it():
    # The longest extent first; of equal ones that which is cut already, else the first.
    assert subjects.cut((8, 8, 8, 16), 2) == (1, 1, 1, 2)
    assert subjects.cut((8, 8, 8, 8), 2) == (2, 1, 1, 1)
    assert subjects.cut((8, 8, 8, 16), 4) == (1, 1, 1, 4)
    assert subjects.cut((4, 4, 4, 8), 3) is None
    assert subjects.cut((12, 12, 12, 24), 6) == (2, 1, 1, 3)
    assert subjects.prime_factors(60) == [5, 3, 2, 2]


def test_halos_are_three_matrices_a_face_site_in_each_divided_direction():
    size = {"ranks_per_node": 1, "real_bytes": 4, "exchanges": 10}
    one, other = subjects.halo_transfers((8, 8, 8, 16), (2, 1, 1, 2), **size)
    # Local 4 × 8 × 8 × 8: faces of 512 and 256 sites, 54 reals of 4 bytes each, ten times.
    assert one == Transfer(10, 10 * 54 * 4 * 512, True, 1)
    assert other == Transfer(10, 10 * 54 * 4 * 256, True, 1)


def test_ranks_of_a_node_share_its_link_where_their_neighbours_are_elsewhere():
    # x pairs lie in a node, the four ranks of which all send along t to other nodes.
    size = {"ranks_per_node": 4, "real_bytes": 8, "exchanges": 1}
    inside, between = subjects.halo_transfers((8, 4, 4, 8), (4, 1, 1, 2), **size)
    assert (inside.between_nodes, between.between_nodes, between.sharing) == (False, True, 4)


def test_the_panels_of_hpl_follow_its_authors():
    (one,) = subjects.hpl_transfers(1000, 100, 2, 4, ranks_per_node=1)
    assert one.starts == pytest.approx(1000 * (101 * 1 + 2) / 100)
    assert one.sent_bytes == pytest.approx(8 * 1e6 * 10 / 16)
    assert subjects.hpl_transfers(1000, 100, 1, 1, ranks_per_node=1) == []
    assert subjects.squarest_grid(12) == (3, 4)


def test_sums_are_recursive_doubling():
    link = Link(np.array([1e9]), np.array([[2e-6]]), np.array([[1e-9]]))
    machine = Library(Resampled((1,)), between=link)
    assert machine.sums_s(10, 8, 8) == pytest.approx([10 * 3 * (2e-6 + 96e-9)])
    assert machine.sums_s(10, 1, 1).tolist() == [0]
    near, far = Transfer(1, 8, False), Transfer(2, 800, True, sharing=4)
    assert machine.messages_s([far]) == pytest.approx([2 * 2e-6 + 4 * 800e-9])
    assert (machine.lacks([far]), machine.lacks([far, near])) == (None, "within-node")


def test_a_law_without_errors_comes_back():
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


def test_what_is_not_known_grows_with_the_distance_from_what_was_measured(tmp_path):
    found = outcome_of(machine_run(tmp_path / "run", COUNTS), nodes=(32, 1024))
    assert not found.missing
    assert {item.check for item in found.subjects} == {"su3_rmd", "hpl"}
    for item in found.subjects:
        near, far = (math.log(one.time_s.high / one.time_s.low) for one in item.points)
        assert near < far
        assert all(one.efficiency.low < one.efficiency.high for one in item.points)
        assert item.learnt_from == [*COUNTS]


@pytest.mark.parametrize("contention", [0.0, 0.25])
def test_the_true_time_lies_in_the_interval(tmp_path, contention):
    truth = Truth(contention=contention)
    found = outcome_of(machine_run(tmp_path / "run", COUNTS, truth), nodes=(256,))
    (strong,) = [item for item in found.subjects if item.check == "su3_rmd"]
    (one,) = strong.points
    compute, messages = truth.lattice_s(LATTICE, 256, 100)
    assert one.time_s.holds(compute + messages)
    assert one.communication_share == pytest.approx(messages / (compute + messages), rel=0.3)
    if not contention:
        assert one.time_s.value == pytest.approx(compute + messages, rel=0.1)


def test_what_is_left_out_is_not_learnt_from_and_stands_beside(tmp_path):
    found = outcome_of(machine_run(tmp_path / "run", COUNTS), left_out=(16,))
    assert found.held_out == 2
    assert found.inside == 2
    assert all(16 not in item.learnt_from for item in found.subjects)
    # What breaks the law where it was left out is told as outside.
    slow = outcome_of(machine_run(tmp_path / "slow", COUNTS, slower={16: 4.0}), left_out=(16,))
    assert (slow.inside, slow.held_out) == (0, 2)


def test_a_bend_at_the_greatest_count_is_said(tmp_path):
    bent = outcome_of(machine_run(tmp_path / "bent", COUNTS, slower={16: 2.0}), nodes=(64,))
    assert all("16 nodes take" in item.notes[-1] for item in bent.subjects)
    straight = outcome_of(machine_run(tmp_path / "straight", COUNTS), nodes=(64,))
    assert not any("nodes take" in note for item in straight.subjects for note in item.notes)


def test_a_lattice_that_cannot_be_cut_names_counts_that_can(tmp_path):
    found = outcome_of(machine_run(tmp_path / "run", COUNTS, applications=["su3_rmd"]), (1000,))
    assert not found.subjects
    (gap,) = found.missing
    assert "1000 ranks cannot cut the lattice 32³ × 64" in gap.why
    assert "512 nodes and 1024 nodes" in gap.why


def test_what_a_run_lacks_is_named_with_what_adds_it(tmp_path):
    no_echo = outcome_of(machine_run(tmp_path / "a", COUNTS, echo=False), (64,)).missing
    assert all("between-nodes" in gap.add for gap in no_echo)
    assert {gap.check for gap in no_echo} == {"su3_rmd", "hpl"}
    one_count = outcome_of(machine_run(tmp_path / "b", (2,)), (64,))
    assert all("2 nodes alone to learn from" in gap.why for gap in one_count.missing)
    nothing = outcome_of(machine_run(tmp_path / "c", (), applications=[]), (64,))
    assert nothing.missing[0].why == "the run has none of su3_rmd, hpl"
    shared = {2: ["oversubscribed"], 4: ["oversubscribed"]}
    crowded = outcome_of(machine_run(tmp_path / "d", (1, 2, 4), flags=shared), (64,))
    assert not crowded.subjects
    assert all("ranks shared cores" in gap.why for gap in crowded.missing)


def test_counts_that_a_law_does_not_rest_on_are_said(tmp_path):
    machine = machine_run(tmp_path / "run", COUNTS, flags={1: ["oversubscribed"]})
    for item in outcome_of(machine, left_out=(16,)).subjects:
        crowded, hidden = item.notes[:2]
        assert crowded == "not learnt from, as ranks shared cores: 1 node"
        assert hidden == "not learnt from, as left out: 16 nodes"
    machine = machine_run(tmp_path / "one", COUNTS, applications=["su3_rmd"])
    (gap,) = outcome_of(machine, left_out=(3,)).missing
    assert (gap.what, gap.why[:26]) == ("su3_rmd on 3 nodes", "left out, but not measured")


def test_the_form_of_a_prediction(told, capsys):
    words = f"predict {machine_run(Path('results/quick/machine'), (1, 2, 4))}"
    further = "--nodes 64 --leave-out 4"
    found = told(f"{words} {further}")
    assert found["held_out"] == 2
    assert main(f"{words} {further}".split()) == 0
    assert f"{found['inside']} of 2 measured points that were left" in capsys.readouterr().out
    assert told(f"{words} --nodes 1000 --leave-out 2 --leave-out 4", 3)["missing"]
    for wrong in ("", "--nodes 0", "--leave-out 3", "--nodes 2 --environment x"):
        assert main(f"{words} {wrong}".split()) == 2
