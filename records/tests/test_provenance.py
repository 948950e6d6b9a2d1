# SPDX-License-Identifier: Apache-2.0
"""Provenance and the names of its context come back as they were; of nodes the odd fact is told."""

import json

from records.history.model import context_of
from records.run import provenance as as_run
from records.run.provenance import Provenance, read_provenance
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
LAM = as_run.EnvironmentAsRun(
    source="spack",
    launcher_options=["-ssi", "rpi", "sysv", "C"],
    settings={"short_message_bytes": 65536},
    packages={"liblam4": "7.1.4-7+b1", "lost": None},
    spack=as_run.SpackBuild(
        sources="4d69", packages={"lam": as_run.SpackPackage(version="7.1.4", hash="wc7i")}
    ),
)
KNOWN = Provenance(
    run_id="r",
    started_at="2026-11-22T02:29:41Z",
    order_seed=7,
    harness=as_run.Harness(version="0.1.0", git_dirty=False),
    site=as_run.SiteAsRun(
        name="virtual",
        virtual=True,
        description="namespaces",
        network=as_run.Network(name="gigabit", bits_per_second=1e9),
        image="debian-13",
        image_digest="08ed",
        glibc="2.41",
        asked_as="virtual:base",
        nodes_left_out=["n4"],
    ),
    environments={"lam": LAM},
    variables={"LAM_MPI_SSI_rpi": "sysv", "SLURM_JOB_ID": "7"},
    nodes=ALIKE,
)


def test_provenance_comes_back_as_it_was_and_the_names_of_its_context_stay(tmp_path):
    path = tmp_path / "provenance.json"
    path.write_bytes(KNOWN.to_json())
    assert read_provenance(path) == KNOWN
    assert context_of(KNOWN, ["c1", "c2"]) == {
        "harness.version": "0.1.0",
        "harness.git_dirty": "False",
        "site.name": "virtual",
        "site.virtual": "True",
        "site.image": "debian-13",
        "site.image_digest": "08ed",
        "site.glibc": "2.41",
        "site.network.name": "gigabit",
        "site.network.bits_per_second": "1000000000.0",
        "environments.lam.source": "spack",
        "environments.lam.launcher_options": "-ssi rpi sysv C",
        "environments.lam.settings.short_message_bytes": "65536",
        "environments.lam.packages.liblam4": "7.1.4-7+b1",
        "environments.lam.spack.sources": "4d69",
        "environments.lam.spack.packages.lam.version": "7.1.4",
        "environments.lam.spack.packages.lam.hash": "wc7i",
        "variables.LAM_MPI_SSI_rpi": "sysv",
        "node.kernel": "Linux 5.14",
        "node.memory": "251 GiB",
        "node.nics.mlx5_0/1.firmware": "16.35",
        "node.nics.mlx5_0/1.kind": "infiniband",
        "node.settings.smt": "off",
        "nodes": "c1 c2",
    }


def test_members_of_a_later_assay_are_passed_over(tmp_path):
    path = tmp_path / "provenance.json"
    path.write_text(json.dumps({"schema": 1, "weather": "rain", "site": {"altitude_m": 8}}))
    assert read_provenance(path) == Provenance()


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
