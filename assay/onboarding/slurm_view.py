# SPDX-License-Identifier: Apache-2.0
"""What Slurm (20.11 and later) and the login node say of a cluster to an ordinary user, as data."""

from __future__ import annotations

import grp
import os
import pwd
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from assay.commands import run_command
from assay.sites.login import login_environment
from checks.common.slurm.commands import Answer
from checks.common.slurm.text import seconds_of
from records.errors import InfrastructureError
from records.site.topology import TopologyDescription, switches_of

_KEY = re.compile(r"(?:^|\s)([A-Za-z][\w:/]*)=")
#: States in which a node takes jobs, or will when those that it has are done.
_IN_SERVICE = {"IDLE", "MIXED", "ALLOCATED", "COMPLETING", "PLANNED", "RESERVED", "MAINT"}
_OUT = re.compile(
    r"(?<!POWER_)(?<!POWERING_)(?<!POWERED_)DOWN|DRAIN|FAIL|NOT_RESPONDING|FUTURE|UNKNOWN|\*"
)
#: Names of partitions whose jobs are commonly preempted.
_PREEMPTIBLE = re.compile(r"preempt|scaveng|backfill|killable|standby", re.IGNORECASE)
#: Variables that name a folder for scratch data, as sites set them, and folders of users' folders.
_SCRATCH = (
    *("SCRATCH", "PSCRATCH", "CSCRATCH", "SCRATCHDIR"),
    *("WORK", "WORKDIR", "PROJECT", "VSC_SCRATCH"),
)
_ROOTS = ("/scratch", "/work", "/lustre", "/gpfs/scratch", "/beegfs")


@dataclass(frozen=True)
class Partition:
    """A partition with what decides who may use it for how long; None: no limit."""

    name: str
    default: bool
    usable: bool
    longest_job_s: int | None
    most_nodes: int | None
    preemptible: bool
    limits_memory: bool
    accounts: frozenset[str] | None
    qos: frozenset[str] | None


@dataclass(frozen=True)
class Node:
    """A node as Slurm describes it; `gres` are counts of its generic resources by type."""

    name: str
    sockets: int
    cores: int
    threads_per_core: int
    memory_bytes: int
    features: frozenset[str]
    gres: tuple[str, ...]
    partitions: tuple[str, ...]
    in_service: bool


@dataclass(frozen=True)
class SlurmLimits:
    """What an account or a QOS allows; None: nothing is said."""

    longest_job_s: int | None = None
    most_nodes: int | None = None


@dataclass(frozen=True)
class Association:
    """An account of the user: its QOS, the default one first where it is known."""

    account: str
    qos: tuple[str, ...]
    limits: SlurmLimits


@dataclass(frozen=True)
class SlurmView:
    """What Slurm says of a cluster to an ordinary user; without slurmdbd no associations."""

    cluster: str
    version: str
    settings: dict[str, str]
    partitions: dict[str, Partition]
    nodes: list[Node]
    associations: list[Association]
    qos: dict[str, SlurmLimits]
    mpi_types: list[str]
    topology: TopologyDescription | None


def said(argv: Sequence[str]) -> Answer:
    """What a command of the login node prints."""
    return run_command(argv, login_environment())


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
    pairs = (line.split("=", 1) for line in config.stdout.splitlines() if "=" in line)
    settings = {key.strip(): value.strip() for key, value in pairs}
    user = pwd.getpwuid(os.geteuid()).pw_name
    default = said(["sacctmgr", "-nP", "show", "user", user, "format=defaultaccount"])
    form = "format=account,qos,defaultqos,maxwall,maxtres"
    assoc = said(["sacctmgr", "-nP", "show", "assoc", f"user={user}", form])
    qos = said(["sacctmgr", "-nP", "show", "qos", "format=name,maxwall,maxtres,maxtrespu"])
    mpi = said(["srun", "--mpi=list"])
    groups = set()
    for number in {os.getegid(), *os.getgroups()}:
        with suppress(KeyError):
            groups.add(grp.getgrgid(number).gr_name)
    return SlurmView(
        cluster=settings.get("ClusterName", "cluster"),
        version=settings.get("SLURM_VERSION", "unknown"),
        settings=settings,
        partitions=partitions_of(_shown("partition"), frozenset(groups)),
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


def _topology(settings: dict[str, str]) -> TopologyDescription | None:
    """The site's topology.conf where it can be read, else the tree as Slurm shows it.

    One switch alone makes no topology: all nodes are alike.
    """
    if "tree" not in settings.get("TopologyPlugin", ""):
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
    # As written, and the folder that must be there.
    candidates = {f"${name}/assay": os.environ.get(name, "") for name in _SCRATCH}
    candidates |= {f"{root}/{user}/assay": f"{root}/{user}" for root in _ROOTS}
    candidates["$HOME/assay-work"] = os.environ.get("HOME", "")
    return [
        written
        for written, folder in candidates.items()
        if folder.startswith("/") and Path(folder).is_dir() and os.access(folder, os.W_OK | os.X_OK)
    ]


def fields_of(line: str) -> dict[str, str]:
    """The KEY=VALUE pairs of a line of `scontrol show … -o`; values may hold blanks.

    The first of a key counts: reasons and comments, which people write, come last. The text
    says more than `--json`, which lacks CPUEfctv and MemSpecLimit in 22.05 and differs by version.
    """
    places = list(_KEY.finditer(line))
    ends = [place.start() for place in places[1:]] + [len(line)]
    found: dict[str, str] = {}
    for place, end in zip(places, ends, strict=True):
        found.setdefault(place[1], line[place.end() : end].strip())
    return found


def partitions_of(text: str, groups: frozenset[str]) -> dict[str, Partition]:
    """`scontrol show partition -o`, as a user of these groups may use them."""
    found = {}
    for shown in map(fields_of, text.splitlines()):
        name = shown.get("PartitionName")
        if name is None:
            continue
        allowed = _allowed(shown.get("AllowGroups", "ALL"))
        open_to_users = shown.get("State", "UP") == "UP" and all(
            shown.get(key, "NO") == "NO" for key in ("RootOnly", "ReqResv")
        )
        preempted = shown.get("PreemptMode", "OFF") not in ("OFF", "")
        found[name] = Partition(
            name=name,
            default=shown.get("Default") == "YES",
            usable=open_to_users and (allowed is None or bool(allowed & groups)),
            longest_job_s=seconds_of(shown.get("MaxTime", "UNLIMITED")),
            most_nodes=_number(shown.get("MaxNodes")),
            preemptible=preempted or _PREEMPTIBLE.search(name) is not None,
            limits_memory=any(_number(shown.get(f"DefMemPer{what}")) for what in ("Node", "CPU")),
            accounts=_allowed(shown.get("AllowAccounts", "ALL")),
            qos=_allowed(shown.get("AllowQos", "ALL")),
        )
    return found


def nodes_of(text: str) -> list[Node]:
    """`scontrol show node -o`."""
    return [_node(shown) for shown in map(fields_of, text.splitlines()) if shown.get("NodeName")]


def _node(shown: dict[str, str]) -> Node:
    sockets = (_number(shown.get("Sockets")) or 1) * (_number(shown.get("Boards")) or 1)
    threads = _number(shown.get("ThreadsPerCore")) or 1
    cores = sockets * (_number(shown.get("CoresPerSocket")) or 1)
    offered = _number(shown.get("CPUEfctv")) or _number(shown.get("CPUTot")) or cores
    # CPUs are threads or cores, as the site counts; cores that Slurm keeps are missing.
    offered = offered if offered <= cores else -(-offered // threads)
    memory, kept = (_number(shown.get(key)) or 0 for key in ("RealMemory", "MemSpecLimit"))
    gres = re.sub(r"\([^)]*\)", "", shown.get("Gres", "(null)"))
    state = shown.get("State", "")
    return Node(
        name=shown["NodeName"],
        sockets=min(sockets, offered),
        cores=min(cores, offered),
        threads_per_core=threads,
        memory_bytes=max(0, memory - kept) << 20,
        features=_names(shown.get("AvailableFeatures", "")),
        gres=tuple(sorted(part for part in gres.split(",") if part)),
        partitions=tuple(_names(shown.get("Partitions", ""))),
        in_service=not _OUT.search(state) and bool(set(state.split("+")) & _IN_SERVICE),
    )


def associations_of(text: str, default_account: str) -> list[Association]:
    """`sacctmgr -nP show assoc … format=account,qos,defaultqos,maxwall,maxtres`, default first."""
    found: dict[str, Association] = {}
    for account, qos, default, wall, tres in _rows(text, 5):
        names = [name.strip("+-") for name in qos.split(",") if name]
        names.sort(key=lambda name: name != default)
        limits = SlurmLimits(seconds_of(wall), _nodes_in(tres))
        found.setdefault(account, Association(account, tuple(names), limits))
    return sorted(found.values(), key=lambda one: one.account != default_account)


def qos_of(text: str) -> dict[str, SlurmLimits]:
    """`sacctmgr -nP show qos format=name,maxwall,maxtres,maxtrespu`."""
    found = {}
    for name, wall, *tres in _rows(text, 4):
        nodes = [count for one in tres if (count := _nodes_in(one)) is not None]
        found[name] = SlurmLimits(seconds_of(wall), min(nodes, default=None))
    return found


def _rows(text: str, width: int) -> Iterator[list[str]]:
    """The rows of `sacctmgr -nP` that have a name, each of `width` columns."""
    for line in text.splitlines():
        row = [*line.split("|"), *[""] * width][:width]
        if row[0]:
            yield row


def mpi_types_of(text: str) -> list[str]:
    """`srun --mpi=list`: the types, without versions of one."""
    words = re.findall(r"^(?:srun: )?\s*([a-z][\w-]*)$", text, re.MULTILINE)
    return [word for word in dict.fromkeys(words) if not re.match(r"(none|openmpi|pmix_v)", word)]


def _nodes_in(tres: str) -> int | None:
    found = re.search(r"(?:^|,)node=(\d+)", tres)
    return int(found[1]) if found else None


def _number(text: str | None) -> int | None:
    found = re.match(r"\d+", text or "")
    return int(found[0]) if found else None


def _names(text: str) -> frozenset[str]:
    """Names in a list."""
    return frozenset(name for name in text.split(",") if name and name != "(null)")


def _allowed(text: str) -> frozenset[str] | None:
    """Names in a list of those who may use a partition; None: all may."""
    return None if text in ("ALL", "all") else _names(text)
