# SPDX-License-Identifier: Apache-2.0
"""`assay vet` finds what is planted on a node of a virtual cluster, beside other work too."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.tests.test_run_on_cluster import of_full as pytestmark
from plugins.vetting.nodes import own_command
from plugins.vetting.tests.planted import FAULTS, on_node, prepare, vet, with_fault
from virtual_cluster import Cluster
from virtual_cluster.tests.clusters import made

__all__ = ["pytestmark"]
Vetted = tuple[Cluster, Path]


@pytest.fixture(scope="module")
def vetted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vetted]:
    """A cluster whose n1 and n2 have a reference, and the folder of the vettings."""
    folder = tmp_path_factory.mktemp("vettings")
    with made("v", nodes=3, cpus_per_node=1, network="fast-ethernet") as cluster:
        prepare(cluster, folder, "arithmetic,disk,link", "n1", "n2")
        yield cluster, folder


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found(vetted: Vetted, name: str) -> None:
    fault = FAULTS[name]
    found = with_fault(*vetted, fault)
    print(found.line)
    assert (found.word, fault.said in found.line) == (fault.word, True), found.line


def test_a_healthy_node_is_not_unfit_beside_a_neighbour_with_a_slow_link(vetted: Vetted) -> None:
    cluster, folder = vetted
    cluster.degrade("n1", link_share=0.25)
    try:
        (found,) = vet(folder, cluster.name, "--steps=link", "n2")
    finally:
        cluster.mend("n1")
    assert {*found.neighbour.split(",")} == {"n1", "n3"}
    # A look at n1 gives 3 MB/s; the better one of two counts.
    assert not [one for one in found.figures if one.word == "unfit" and one.value < 5e6], found.line


def test_a_node_that_cannot_vet_is_quoted(vetted: Vetted) -> None:
    cluster, folder = vetted
    script = "#!/bin/sh\\necho no libpython here >&2; exit 2\\n"
    broken = f"printf '{script}' >/tmp/broken; chmod 755 /tmp/broken"
    on_node(cluster, "n2", f"{broken}; mount --bind /tmp/broken {own_command()}")
    try:
        (found,) = vet(folder, cluster.name, "--steps=facts", "n2")
    finally:
        on_node(cluster, "n2", f"umount {own_command()}")
    assert found.line == "n2 is suspect: no vetting came: no libpython here; vet it again"
