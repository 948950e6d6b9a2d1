# SPDX-License-Identifier: Apache-2.0
"""Asks Slurm and the login node, without root, what a site is."""

from __future__ import annotations

import grp
import os
import pwd
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.commands import run_command
from assay.onboarding.slurm_text import (
    Association,
    Limits,
    Node,
    Partition,
    associations_of,
    config_of,
    mpi_types_of,
    nodes_of,
    partitions_of,
    qos_of,
)
from assay.sites.slurm import environment_of_commands
from checks.common.slurm.commands import Answer
from records.errors import InfrastructureError
from records.site.topology import TopologyDescription, switches_of

#: Variables that name a folder for scratch data, as sites set them.
_SCRATCH = (
    *("SCRATCH", "PSCRATCH", "CSCRATCH", "SCRATCHDIR"),
    *("WORK", "WORKDIR", "PROJECT", "VSC_SCRATCH"),
)


@dataclass(frozen=True)
class SlurmView:
    """What Slurm says of a cluster to an ordinary user; without slurmdbd no associations."""

    cluster: str
    version: str
    settings: dict[str, str]
    partitions: dict[str, Partition]
    nodes: list[Node]
    associations: list[Association]
    qos: dict[str, Limits]
    mpi_types: list[str]
    topology: TopologyDescription | None


def said(argv: Sequence[str]) -> Answer:
    """What a command of the login node prints."""
    return run_command(argv, environment_of_commands())


def ask_slurm() -> SlurmView:
    """Ask Slurm. Raises InfrastructureError where there is none or it does not answer."""
    config = said(["scontrol", "show", "config"])
    if config.status == 127:
        raise InfrastructureError(
            "scontrol is not in PATH: this is no login node of a Slurm cluster, or Slurm's module"
            " is not loaded"
        )
    if config.status != 0:
        raise InfrastructureError(f"Slurm does not answer: {config.said}")
    settings = config_of(config.stdout)
    user = pwd.getpwuid(os.geteuid()).pw_name
    default = said(["sacctmgr", "-nP", "show", "user", user, "format=defaultaccount"])
    form = "format=account,qos,defaultqos,maxwall,maxtres"
    assoc = said(["sacctmgr", "-nP", "show", "assoc", f"user={user}", form])
    qos = said(["sacctmgr", "-nP", "show", "qos", "format=name,maxwall,maxtres,maxtrespu"])
    mpi = said(["srun", "--mpi=list"])
    return SlurmView(
        cluster=settings.get("ClusterName", "cluster"),
        version=settings.get("SLURM_VERSION", "unknown"),
        settings=settings,
        partitions=partitions_of(_shown("partition"), _groups()),
        nodes=nodes_of(_shown("node")),
        associations=associations_of(
            assoc.stdout if not assoc.status else "", default.stdout.strip()
        ),
        qos=qos_of(qos.stdout if not qos.status else ""),
        mpi_types=mpi_types_of(f"{mpi.stdout}\n{mpi.stderr}"),
        topology=_topology(settings),
    )


def _shown(kind: str) -> str:
    answer = said(["scontrol", "show", kind, "-o"])
    if answer.status != 0:
        raise InfrastructureError(f"scontrol show {kind} fails: {answer.said}")
    return answer.stdout


def _groups() -> frozenset[str]:
    names = set()
    for number in {os.getegid(), *os.getgroups()}:
        try:
            names.add(grp.getgrgid(number).gr_name)
        except KeyError:
            continue
    return frozenset(names)


def _topology(settings: dict[str, str]) -> TopologyDescription | None:
    """The site's topology.conf where it can be read, else the tree as Slurm shows it.

    One switch alone makes no topology: all nodes are alike.
    """
    if not re.search("tree", settings.get("TopologyPlugin", "")):
        return None
    shown = said(["scontrol", "show", "topology"])
    lines = [line for line in shown.stdout.splitlines() if "SwitchName=" in line]
    switches = switches_of("\n".join(lines), "scontrol show topology") if lines else {}
    if len(switches) < 2:
        return None
    file = Path(settings.get("SLURM_CONF", "/etc/slurm/slurm.conf")).with_name("topology.conf")
    if os.access(file, os.R_OK):
        return TopologyDescription(slurm=str(file))
    return TopologyDescription(switches=switches)


def work_folders() -> list[str]:
    """Folders that nodes may share, as a site.yaml writes them, the likeliest first."""
    user = pwd.getpwuid(os.geteuid()).pw_name
    roots = ("/scratch", "/work", "/lustre", "/gpfs/scratch", "/beegfs")
    # As written, and the folder that must be there.
    candidates = {f"${name}/assay": os.environ.get(name, "") for name in _SCRATCH}
    candidates |= {f"{root}/{user}/assay": f"{root}/{user}" for root in roots}
    candidates["$HOME/assay-work"] = os.environ.get("HOME", "")
    return [written for written, folder in candidates.items() if _writable(folder)]


def _writable(folder: str) -> bool:
    path = Path(folder)
    return path.is_absolute() and path.is_dir() and os.access(path, os.W_OK | os.X_OK)
