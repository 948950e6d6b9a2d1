# SPDX-License-Identifier: Apache-2.0
"""What a launch between two nodes does with hops: the nodes it asks for, and what it records."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from checks.alltoall_pairs.run import AlltoallPairsCheck
from checks.common.base import MpiCheck
from checks.common.json_lines import Output
from checks.common.two_ranks_run import TwoRankCheck
from records.metric import Metric
from records.topology import TopologyDescription

CUBE = TopologyDescription(torus=[2, 2, 2], nodes="n[0-7]").topology()


def check(hops: int = 0, topology=CUBE):
    return SimpleNamespace(
        hops=hops,
        declared_topology=lambda: topology,
        current_partition=SimpleNamespace(extras={"shared_cores": {}}),
    )


def evidence(*hosts: str) -> Output:
    ranks = [{"rank": rank, "host": host} for rank, host in enumerate(hosts)]
    return Output(evidence={"ranks": list(reversed(ranks))})


def hops_of(joined, topology=CUBE):
    found = SimpleNamespace(declared_topology=lambda: topology, nodes_joined=lambda _: joined)
    return MpiCheck._hops(found, Output())


@pytest.mark.parametrize(("hops", "pair"), [(0, None), (1, ("n0", "n1")), (3, ("n0", "n7"))])
def test_a_launch_asks_for_a_pair_so_many_hops_apart(hops, pair):
    assert TwoRankCheck.nodes_asked(check(hops)) == pair


def test_a_site_without_a_topology_is_asked_for_no_nodes_and_gives_no_hops():
    assert TwoRankCheck.nodes_asked(check(3, topology=None)) is None
    assert hops_of([(("n0", "n1"), None)], topology=None) == []


def test_the_ends_are_the_first_and_the_last_rank_by_their_short_names():
    output = evidence("n0.cluster", "n1", "n3.cluster")
    assert TwoRankCheck.nodes_joined(check(), output) == [(("n0", "n3"), None)]
    assert [metric.value for metric in hops_of([(("n0", "n3"), None)])] == [2.0]


def test_ranks_of_one_node_have_no_hops():
    joined = TwoRankCheck.nodes_joined(check(), evidence("n2", "n2"))
    assert hops_of(joined) == []


def test_nodes_that_lie_elsewhere_make_the_launch_wrong():
    there = hops_of([(("n0", "n1"), None)])
    assert TwoRankCheck.contradicts(check(1), there) is None
    assert TwoRankCheck.contradicts(check(0), there) is None
    said = TwoRankCheck.contradicts(check(3), there)
    assert said == "hops = 3 were asked for; between the launch's nodes are 1"
    assert "are unknown" in str(TwoRankCheck.contradicts(check(3), []))


def test_every_pair_of_nodes_has_its_own_hops():
    at = {"node": "n0", "peer": "n6"}
    output = Output(metrics=[Metric("pair_latency", "s", "lower", 1e-5, at)])
    joined = AlltoallPairsCheck.nodes_joined(check(), output)
    assert [(metric.value, metric.at) for metric in hops_of(joined)] == [(2.0, at)]
