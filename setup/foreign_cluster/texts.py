# SPDX-License-Identifier: Apache-2.0
"""The text of the files that a foreign cluster reads: Slurm's, the modules', the mounts' script."""

from __future__ import annotations

import re
from pathlib import Path

from setup.foreign_cluster.spec import ForeignSpec, read_line
from virtual_cluster.slurm_conf import COMMON_SETTINGS

LOGIN = "login1"
_SLURM = """\
ClusterName={name}
SlurmctldHost={login}({address})
SlurmdSpoolDir={root}/spool/%n
SlurmdPidFile={root}/spool/%n.pid
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost={login}
AccountingStoragePass={root}/munge/socket
AccountingStorageEnforce=associations,limits,qos
EnforcePartLimits=ALL
SlurmdTimeout=30
ReturnToService=1
"""
_SLURMDBD = """\
AuthType=auth/munge
AuthInfo=socket={root}/munge/socket
DbdHost={login}
SlurmUser=root
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StorageUser=slurm
StoragePass={password}
LogFile={root}/log/slurmdbd.log
PidFile={root}/spool/slurmdbd.pid
"""
#: Run in the mount namespace of the login environment and of each node.
_DRESS = """\
mount --bind {root}/etc /etc/slurm
mount --bind {root}/modulespath /etc/lmod/modulespath
mount --bind /usr/bin {root}/system
mount -t overlay -o ro,lowerdir={root}/hidden:/usr/bin overlay /usr/bin
"""
#: Programs that are in no ordinary PATH of a site without its modules, and those of Debian.
_HIDDEN = re.compile(
    r".*\.(mpich|openmpi|lam)|(mpi|ompi|orte|opal|osh|shmem|hydra_|lam|pvm|NP|dpkg|apt)(?!tainer).*"
    r"|hcc|hcp|hf77|hboot|recon|tping|wipe|prun|prte|aimk"
)
_MODULE = """\
help([[{family} of the distribution]])
whatis("Name: {name}")
whatis("Description: {family}, a message passing library")
family("mpi")
prepend_path("PATH", "{folder}/bin")
"""
#: Between namespaces of one kernel Open MPI's other ways of sending are of no use.
_OPENMPI = """\
setenv("OMPI_MCA_pml", "ob1")
setenv("OMPI_MCA_btl", "tcp,vader,self")
setenv("OMPI_MCA_osc", "^ucx")
setenv("OMPI_MCA_hwloc_base_binding_policy", "none")
"""


def slurm_conf(spec: ForeignSpec, root: Path, addresses: dict[str, str]) -> str:
    """Text of slurm.conf."""
    text = COMMON_SETTINGS.format(state=root)
    text += _SLURM.format(name=spec.name, login=LOGIN, address=addresses["login"], root=root)
    if kinds := gres_kinds(spec):
        text += f"GresTypes={','.join(kinds)}\n"
    text += "TopologyPlugin=topology/tree\n" if spec.switches else ""
    given = {setting.partition("=")[0].lower() for setting in spec.settings}
    lines = [line for line in text.splitlines() if line.partition("=")[0].lower() not in given]
    text = "\n".join([*lines, *spec.settings, ""])
    text += "".join(line.text("NodeName") for line in spec.node_lines())
    return text + "".join(line.text("PartitionName") for line in spec.partition_lines())


def topology_conf(spec: ForeignSpec) -> str:
    """Text of topology.conf; empty where all nodes hang at one switch."""
    return "".join(read_line(text).text("SwitchName") for text in spec.switches)


def gres_kinds(spec: ForeignSpec) -> list[str]:
    """The kinds of generic resources that nodes have, such as gpu."""
    found = [line.get("Gres", "") for line in spec.node_lines()]
    return sorted({one.split(":")[0] for gres in found for one in gres.split(",") if one})


def gres_conf(spec: ForeignSpec, devices: Path) -> str:
    """Text of gres.conf; the files of kind and number lie in `devices`."""
    lines = []
    for line in spec.node_lines():
        for gres in filter(None, line.get("Gres", "").split(",")):
            kind, *model, count = [*gres.split(":"), *(["1"] if ":" not in gres else [])]
            kept = f" Type={model[0]}" if model else ""
            files = f"{devices}/{kind}[0-{int(count) - 1}]"
            lines.append(f"NodeName={line.name} Name={kind}{kept} File={files}\n")
    return "".join(lines)


def slurmdbd_conf(root: Path, password: str) -> str:
    """Text of slurmdbd.conf."""
    return _SLURMDBD.format(root=root, login=LOGIN, password=password)


def hosts_file(addresses: dict[str, str]) -> str:
    """Text of /etc/hosts."""
    named = {LOGIN if name == "login" else name: at for name, at in addresses.items()}
    return "127.0.0.1 localhost\n" + "".join(f"{at} {name}\n" for name, at in named.items())


def dress_script(root: Path) -> str:
    """Text of the script that makes a namespace look like a host of this site."""
    return _DRESS.format(root=root)


def is_hidden(program: str) -> bool:
    """Whether a program of /usr/bin is none of this site's."""
    return _HIDDEN.fullmatch(program) is not None


def module_file(name: str, family: str, folder: Path) -> str:
    """Text of a module in Lua."""
    text = _MODULE.format(name=name.partition("/")[0], family=family, folder=folder)
    return text + (_OPENMPI if family == "openmpi" else "")


def module_programs(family: str, programs: list[str]) -> dict[str, str]:
    """The links in a module's bin folder: name → program of /usr/bin."""
    own = re.compile(
        {"mpich": r"hydra_.*|mpichversion|mpivars|mpiexec\.hydra", "openmpi": r"(orte|ompi).*"}[
            family
        ]
    )
    links = {one.removesuffix(f".{family}"): one for one in programs if one.endswith(f".{family}")}
    return links | {one: one for one in programs if own.fullmatch(one)}
