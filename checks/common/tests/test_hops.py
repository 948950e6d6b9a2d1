# SPDX-License-Identifier: Apache-2.0
"""Hops of a launch between two nodes: the nodes it asks for, and what it records."""

import pytest

from checks.common.base import OwnProgram, Setting
from checks.common.json_lines import Output
from checks.common.judging import hops_between, other_hops
from checks.common.registry import CHECKS
from checks.common.slurm.job import ALLOCATION, Allocation
from checks.common.tests.judged import evidence_of
from records.site.topology import TopologyDescription

SWITCHES = {"a": {"nodes": "n[0-1]", "switches": "b"}, "b": {"nodes": "n[2-3]", "switches": "c"}}
SWITCHES["c"] = {"nodes": "n[4-7]"}
TREE = TopologyDescription.model_validate({"switches": SWITCHES}).topology()


def launch(check: str = "pt2pt", hops: int = 0, topology=TREE, **given):
    definition = CHECKS[check]
    given = {"ranks": 2, **given} if check == "alltoall_pairs" else {"hops": hops}
    partition = {"shared_cores": dict[str, list[int]]()}
    setting = Setting(ranks=2, ranks_per_node=1, topology=topology, partition=partition)
    return OwnProgram(definition, definition.parameters.model_validate(given), setting)


def hops_of(found, *hosts: str):
    return hops_between(Output(evidence=evidence_of(*hosts)), found)


@pytest.mark.parametrize(("hops", "pair"), [(0, None), (1, ("n0", "n1")), (3, ("n0", "n4"))])
def test_a_launch_asks_for_a_pair_so_many_hops_apart(hops, pair):
    assert launch(hops=hops).nodes_asked() == pair


def granted(monkeypatch, folder, *nodes: str, ends_at: float = 1e10, **more):
    """The launches are in an allocation of these nodes."""
    file = folder / "allocation.json"
    told = Allocation(job_id="12", nodes=list(nodes), ends_at=ends_at, **more)
    file.write_text(told.model_dump_json())
    monkeypatch.setenv(ALLOCATION, str(file))


def test_in_an_allocation_the_pair_is_one_of_its_nodes(tmp_path, monkeypatch):
    granted(monkeypatch, tmp_path, "n1", "n5", "n6")
    assert launch(hops=3).nodes_asked() == ("n1", "n5")
    granted(monkeypatch, tmp_path, "n1", "n3")
    assert launch(hops=3).nodes_asked() == ("n0", "n4"), "which is refused by name"


def test_a_site_without_a_topology_is_asked_for_no_nodes_and_gives_no_hops():
    assert launch(hops=3, topology=None).nodes_asked() is None
    assert hops_of(launch(topology=None), "n0", "n1") == []
    assert hops_of(launch(), "n2", "n2") == [], "ranks of one node have none"


def test_the_ends_are_the_first_and_the_last_rank_by_their_short_names():
    (found,) = hops_of(launch("echo"), "n0.cluster", "n1", "n3.cluster")
    assert (found.name, found.value, found.at) == ("hops", 2.0, None)


def test_nodes_that_lie_elsewhere_make_the_launch_wrong():
    there = hops_of(launch(), "n0", "n1")
    assert other_hops(there, launch(hops=1)) is None
    assert other_hops(there, launch()) is None
    said = other_hops(there, launch(hops=3))
    assert said == "hops = 3 were asked for; between the launch's nodes are 1"
    assert "are unknown" in str(other_hops([], launch(hops=3)))


def test_every_pair_of_nodes_has_its_own_hops():
    found = hops_of(launch("alltoall_pairs"), "n0", "n6", "n1")
    at = [(metric.at["node"], metric.at["peer"]) for metric in found]
    assert at == [("n0", "n6"), ("n0", "n1"), ("n6", "n1")]
    assert [metric.value for metric in found] == [3.0, 1.0, 3.0]


def test_only_measured_pairs_have_hops():
    hosts = [f"n{number}" for number in range(8)]
    one_round = hops_of(launch("alltoall_pairs", ranks=8, rounds=1), *hosts)
    met = [name for metric in one_round for name in (metric.at["node"], metric.at["peer"])]
    assert sorted(met) == hosts
    asked = {"only": ["n7:n2", "n0:n1", "n2:n7"], "rounds": 1}
    listed = hops_of(launch("alltoall_pairs", ranks=8, **asked), *hosts)
    at = [(metric.at["node"], metric.at["peer"]) for metric in listed]
    assert at == [("n0", "n1"), ("n2", "n7")]
