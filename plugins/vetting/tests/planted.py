# SPDX-License-Identifier: Apache-2.0
"""Faults that are planted on a node of a virtual cluster, and `assay vet` on it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from bench.costs import assay
from plugins.vetting.judge import Vetting, vetting_of
from virtual_cluster import Cluster
from virtual_cluster.host import run as run_here

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

    title: str
    steps: str
    said: str
    cpu: float | None = None
    link: float | None = None
    plant: str = ":"
    remove: str = ":"
    word: str = "unfit"


FAULTS = {
    "half": Fault("half of the cores' time", "arithmetic", "time on a core", cpu=0.5),
    "tenth": Fault("0.9 of the cores' time", "arithmetic", "time on a core", cpu=0.9),
    "link": Fault("half of the link's rate", "link", "link ", link=0.5),
    "mount": Fault(
        "a missing mount",
        "facts",
        "file_systems./tmp/disk is none, not ",
        plant="umount /tmp/disk",
        remove=_MOUNT,
    ),
    "memory": Fault(
        "a fifth of the memory missing",
        "facts",
        "memory is ",
        plant="awk '/^MemTotal/ {$2 = int($2 * 0.8)} {print}' /proc/meminfo >/tmp/meminfo"
        " && mount --bind /tmp/meminfo /proc/meminfo",
        remove="umount /proc/meminfo",
    ),
    "setting": Fault(
        "another kernel setting",
        "facts",
        "settings.tcp_rmem is 4096 65536 1048576, not ",
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


def prepare(cluster: Cluster, folder: Path, steps: str, *nodes: str) -> None:
    """Give all nodes their folders, and make a reference of some (default: all)."""
    for node in cluster.site_facts()["nodes"]:
        on_node(cluster, node, f"mkdir /tmp/disk; {_MOUNT}")
    vet(folder, cluster.name, f"--steps={steps}", "--reference", *nodes)


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
