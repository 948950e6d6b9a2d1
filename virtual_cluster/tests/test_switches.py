# SPDX-License-Identifier: Apache-2.0
"""A tree of switches: how nodes are dealt to it, and that messages really go through it."""

import re
from collections.abc import Iterator

import pytest

from records.errors import AssayError
from virtual_cluster import Cluster
from virtual_cluster.spec import ClusterSpec, switch_tree
from virtual_cluster.tests.clusters import NEEDS_CLUSTER, made, received, run_in, send


def test_nodes_are_dealt_evenly_to_the_lowest_switches() -> None:
    (switch,) = switch_tree("1", ["n1", "n2"])
    assert (switch.above, switch.nodes) == (None, ("n1", "n2"))
    tree = switch_tree("4", [f"n{i}" for i in range(1, 7)])
    assert [(s.name, s.above) for s in tree[:3]] == [("top", None), ("s1", "top"), ("s2", "top")]
    assert [len(s.nodes) for s in tree[1:]] == [2, 1, 1, 2]
    assert [n for s in tree for n in s.nodes] == [f"n{i}" for i in range(1, 7)]


@pytest.mark.parametrize("words", ["", "0", "2x2", "-1", "two", "1000"])
def test_what_is_no_number_or_has_a_switch_without_a_node_is_refused(words: str) -> None:
    with pytest.raises(AssayError, match=re.escape(f"--switches {words!r}: allowed are")):
        ClusterSpec(nodes=4, switches=words)
    with pytest.raises(AssayError, match="there are 4 nodes"):
        ClusterSpec(nodes=4, switches="6")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with made("w", nodes=4, network="gigabit", switches="2") as found:
        yield found


@NEEDS_CLUSTER[0]
@NEEDS_CLUSTER[1]
def test_slurm_knows_the_tree_and_messages_go_through_it(cluster: Cluster) -> None:
    before = received(cluster, "d-s1")
    send(cluster, "n1", "n2")
    near = received(cluster, "d-s1") - before
    send(cluster, "n1", "n3")
    far = received(cluster, "d-s1") - before - near
    assert far > 100_000
    assert near < far / 5
    told = run_in(cluster, "scontrol", "show", "topology")
    assert "SwitchName=s2 Level=0 LinkSpeed=1 Nodes=n[3-4]" in told.replace("n3,n4", "n[3-4]")
    said = run_in(cluster, "srun", "--nodelist=n1,n4", "hostname").split()
    assert sorted(said) == ["n1", "n4"]
