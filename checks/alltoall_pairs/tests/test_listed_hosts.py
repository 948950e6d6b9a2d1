# SPDX-License-Identifier: Apache-2.0
"""The nodes of a launch of listed pairs: their hosts are among them, and absent ones do no harm."""

import numpy as np
import pytest

from checks.alltoall_pairs import CHECK
from checks.alltoall_pairs.run import nodes_for_pairs
from checks.common.json_lines import Output
from checks.common.slurm.commands import HERE, Answer
from checks.common.slurm.job import ALLOCATION
from checks.common.tests.test_hops import granted

PAIRS = ["n2:n9", "n4:n2", "n7:n8"]
#: As sinfo prints nodes and their states.
KINDS = ["idle", "mixed-", "allocated", "drained", "idle~", "down*", "reserved", "completing"]
STATES = "".join(f"n{n} {one}\n" for n, one in enumerate([*KINDS, "draining", "planned"]))


@pytest.fixture
def states(monkeypatch):
    monkeypatch.delenv(ALLOCATION, raising=False)
    told = [STATES]

    def ask(*argv):
        shown = argv[:3] == ("scontrol", "show", "hostnames")
        return Answer(0, argv[3] if shown else told[0], "")

    monkeypatch.setattr(HERE, "ask", ask)
    return told


def test_slurm_is_asked_for_hosts_of_pairs_that_it_gives(states):
    assert nodes_for_pairs(PAIRS, 4, "", [], "a") == ["n2", "n4", "n9"]
    assert nodes_for_pairs(PAIRS, 4, "", ["--exclude=n0", "--exclude", "n9"], "a") == ["n2", "n4"]
    for state, other, nodes in (
        ("n9 planned", "n9 drained", ["n2", "n4"]),
        ("n2 allocated", "n2 maint", None),
        (STATES, "", None),
    ):
        states[0] = STATES.replace(state, other)
        assert nodes_for_pairs(PAIRS, 4, "", [], "a") == nodes


def test_of_more_hosts_than_nodes_each_pair_has_its_turn(states):
    found = [nodes_for_pairs(PAIRS, 2, "", [], f"launch {number}") for number in range(20)]
    assert {tuple(nodes or ()) for nodes in found} == {("n2", "n9"), ("n2", "n4")}
    assert nodes_for_pairs(PAIRS, 2, "", [], "launch 3") == found[3]


def test_in_an_allocation_others_of_it_make_up_the_count_in_its_order(tmp_path, monkeypatch):
    granted(monkeypatch, tmp_path, "n9", "n1", "n2", "n0", "n5")
    launches = [nodes_for_pairs(PAIRS, 3, "", [], f"launch {number}") for number in range(20)]
    threes = {("n9", "n1", "n2"), ("n9", "n2", "n0"), ("n9", "n2", "n5")}
    assert {tuple(nodes or ()) for nodes in launches} == threes
    assert nodes_for_pairs(PAIRS, 5, "", [], "a") == ["n9", "n1", "n2", "n0", "n5"]
    assert nodes_for_pairs(PAIRS, 6, "", [], "a") is None, "which the scheduler refuses"
    assert nodes_for_pairs(["n3:n4"], 3, "", [], "a") is None


@pytest.mark.parametrize(
    ("hosts", "pairs", "rounds"),
    [(["n1", "n2", "n4", "n9"], 2, {1, 2}), (["n1", "n2", "n3", "n5"], 0, {0})],
)
def test_hosts_that_the_launch_lacks_are_left_out(hosts, pairs, rounds):
    params = CHECK.parameters.model_validate({"ranks": 4, "only": PAIRS})
    assert len(list(CHECK.expected(params, hosts))) == 2 * pairs
    assert CHECK.notes(params, hosts)["rounds"] in rounds
    assert len(CHECK.wanted(params, hosts)) == pairs
    assert len(CHECK.node_pairs(params, hosts)) == pairs


def test_absent_pairs_take_no_time_of_the_launch():
    asked = {"ranks": 4, "turns": True, "column_file": True, "only": PAIRS}
    params = CHECK.parameters.model_validate(asked)
    one = {"pair_latency": np.array([1e-3]), "pair_bandwidth": np.array([2.0**20])}
    output = Output(stamps={"launch_begin": 0.0, "launch_end": 11.0})
    assert CHECK.too_long(params, CHECK.summary(one), output) is None
    two = {name: np.repeat(column, 2) for name, column in one.items()}
    assert "took 20.2 s at least" in str(CHECK.too_long(params, CHECK.summary(two), output))
