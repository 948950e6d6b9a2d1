# SPDX-License-Identifier: Apache-2.0
"""`assay vet` finds what is planted on a node of a virtual cluster, beside other work too."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from assay.tests.test_run_on_cluster import of_full as pytestmark
from bench.costs import assay
from plugins.vetting.judge import Vetting, vetting_of
from virtual_cluster.api import Cluster
from virtual_cluster.host import run as run_here
from virtual_cluster.tests.clusters import made

__all__ = ["pytestmark"]
Vetted = tuple[Cluster, Path]
VETTED = "n2"
#: What gives a node a disk: a folder of the machine's.
_MOUNT = "mkdir -p /cluster/node/disk && mount --bind /cluster/node/disk /tmp/disk"
#: A node whose cores' time is limited gets it although the machine does other work: a node that has
#: less than its quota anyhow is not slower for it.
_WEIGHTS = (("cpu/assay-{node}/cpu.shares", "200000"), ("assay-{node}/cpu.weight", "10000"))


@dataclass(frozen=True)
class Fault:
    """Fault that is planted: shares of cores' time and link, or scripts of the administrator on the
    node that plant and remove it; the steps that are vetted, and what the line says."""

    steps: str
    said: str
    cpu: float | None = None
    link: float | None = None
    plant: str = ":"
    remove: str = ":"
    word: str = "unfit"


FAULTS = {
    "half of the cores' time": Fault("arithmetic", "time on a core", cpu=0.5),
    "0.9 of the cores' time": Fault("arithmetic", "time on a core", cpu=0.9),
    "half of the link's rate": Fault("link", "link ", link=0.5),
    "a missing mount": Fault(
        *("facts", "file_systems./tmp/disk is none, not "), plant="umount /tmp/disk", remove=_MOUNT
    ),
    "a fifth of the memory missing": Fault(
        *("facts", "memory is "),
        plant="awk '/^MemTotal/ {$2 = int($2 * 0.8)} {print}' /proc/meminfo >/tmp/meminfo"
        " && mount --bind /tmp/meminfo /proc/meminfo",
        remove="umount /proc/meminfo",
    ),
    "another kernel setting": Fault(
        *("facts", "settings.tcp_rmem is 4096 65536 1048576, not "),
        plant="! mountpoint -q /proc/sys || mount -o remount,bind,rw /proc/sys;"
        " sysctl -n net.ipv4.tcp_rmem >/tmp/rmem;"
        " sysctl -qw net.ipv4.tcp_rmem='4096 65536 1048576'",
        remove='sysctl -qw net.ipv4.tcp_rmem="$(cat /tmp/rmem)"',
        word="suspect",
    ),
}


def on_node(cluster: Cluster, node: str, script: str) -> None:
    """Run a script of the administrator on a node."""
    run_here(cluster.admin_command(["sh", "-ec", script], node))


def vet(folder: Path, cluster: str, *words: str) -> list[Vetting]:
    """`assay vet` on a cluster."""
    fixed = ("vet", "--json", "--site", f"virtual:{cluster}", "--folder", "vettings")
    printed_lines = assay(folder, *fixed, "--disk=/tmp/disk", *words).splitlines()
    return [vetting_of(line) for line in printed_lines if line.startswith("{")]


def with_fault(cluster: Cluster, folder: Path, fault: Fault) -> Vetting:
    """A vetting of the node while it has the fault."""
    if fault.cpu or fault.link:
        cluster.degrade(VETTED, fault.cpu, fault.link)
    for name, weight in _WEIGHTS:
        path = Path("/sys/fs/cgroup") / name.format(node=f"{cluster.name}-{VETTED}")
        if os.access(path, os.W_OK):
            path.write_text(weight)
    on_node(cluster, VETTED, fault.plant)
    try:
        return vet(folder, cluster.name, f"--steps={fault.steps}", VETTED)[0]
    finally:
        on_node(cluster, VETTED, fault.remove)
        cluster.mend(VETTED)


@pytest.fixture(scope="module")
def vetted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vetted]:
    """A cluster whose n1 and n2 have a reference, and the folder of the vettings."""
    folder = tmp_path_factory.mktemp("vettings")
    with made("v", nodes=3, cpus_per_node=1, network="fast-ethernet") as cluster:
        for node in cluster.site_facts()["nodes"]:
            on_node(cluster, node, f"mkdir /tmp/disk; {_MOUNT}")
        vet(folder, cluster.name, "--steps=arithmetic,disk,link", "--reference", "n1", "n2")
        yield cluster, folder


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_planted_fault_is_found(vetted: Vetted, fault: Fault) -> None:
    found = with_fault(*vetted, fault)
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
