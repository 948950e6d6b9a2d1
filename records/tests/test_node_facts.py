# SPDX-License-Identifier: Apache-2.0
"""Nodes that are not alike are told by the fact that differs; those that are alike, once."""

from records.history.model import context_of
from records.run.provenance import EnvironmentAsRun, Provenance, read_provenance
from records.site import node_facts
from records.site.node_facts import Nic, NodeFacts, differences, oddities


def node(kernel="Linux 5.14", memory_bytes=270_000_000_000, firmware="16.35"):
    return NodeFacts(
        kernel=kernel,
        memory_bytes=memory_bytes,
        nics={"mlx5_0/1": Nic(kind="infiniband", firmware=firmware)},
        settings={"smt": "off"},
    )


ALIKE = {f"c{number}": node(memory_bytes=270_000_000_000 + number) for number in range(1, 5)}


def test_nodes_that_are_alike_differ_in_nothing():
    assert differences(ALIKE) == []
    assert oddities(ALIKE, "c1") == []
    assert node_facts.value_text(node_facts.facts_by_value(ALIKE)["kernel"]) == "Linux 5.14"
    assert differences({}) == []


def test_an_odd_node_is_named_with_its_fact():
    nodes = {**ALIKE, "c3": node(kernel="Linux 6.1", firmware="20.1")}
    assert differences(nodes) == [
        "kernel: Linux 5.14 on c[1-2,4]; Linux 6.1 on c3",
        "nics.mlx5_0/1.firmware: 16.35 on c[1-2,4]; 20.1 on c3",
    ]
    assert oddities(nodes, "c3") == [
        "kernel is Linux 6.1, not Linux 5.14",
        "nics.mlx5_0/1.firmware is 20.1, not 16.35",
    ]
    assert oddities(nodes, "c1") == []


def test_what_a_node_lacks_is_told():
    lacking = NodeFacts(kernel="Linux 5.14", memory_bytes=135_000_000_000, settings={"smt": "off"})
    odd = oddities({**ALIKE, "c9": lacking}, "c9")
    assert "memory is 126 GiB, not 251 GiB" in odd
    assert "nics.mlx5_0/1.firmware is none, not 16.35" in odd


def test_of_two_halves_neither_is_odd():
    nodes = {"c1": node(), "c2": node(kernel="Linux 6.1")}
    assert oddities(nodes, "c1") == oddities(nodes, "c2") == []
    assert differences(nodes) == ["kernel: Linux 5.14 on c1; Linux 6.1 on c2"]


def test_the_context_has_a_fact_of_all_nodes_once(tmp_path):
    mpich = EnvironmentAsRun(library="MPICH 4.0.2", modules_loaded=["gcc/12", "mpich/4.0"])
    known = Provenance(run_id="r", nodes=ALIKE, environments={"mpich": mpich})
    file = tmp_path / "provenance.json"
    file.write_bytes(known.to_json())
    assert read_provenance(file) == known
    context = context_of(known, ["c1"])
    assert context["node.kernel"] == "Linux 5.14"
    assert context["environments.mpich.library"] == "MPICH 4.0.2"
    assert context["environments.mpich.modules_loaded"] == "gcc/12 mpich/4.0"
    assert not [name for name in context if name.startswith("nodes.")]
