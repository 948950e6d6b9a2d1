# SPDX-License-Identifier: Apache-2.0
"""The view of Slurm (20.11 and later) that an ordinary user has of a cluster, as data."""

from __future__ import annotations

import grp
import os
import pwd
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from assay.commands import run_command
from assay.sites.login import login_environment
from checks.common.slurm.commands import Answer, seconds_of
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
    """The limits of an account or a QOS; None: none is stated."""

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
    """A cluster; without slurmdbd it has no associations."""

    cluster: str
    version: str
    settings: dict[str, str]
    partitions: dict[str, Partition]
    nodes: list[Node]
    associations: list[Association]
    qos: dict[str, SlurmLimits]
    mpi_types: list[str]
    topology: TopologyDescription | None


def answer_of(*argv: str) -> Answer:
    """The answer to a command on the login node."""
    return run_command(argv, login_environment())


def ask_slurm() -> SlurmView:
    """Ask Slurm. Raises InfrastructureError where there is none or it does not answer."""
    config = answer_of("scontrol", "show", "config")
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
    account = _accounting("user", user, "format=defaultaccount").strip()
    form = "format=account,qos,defaultqos,maxwall,maxtres"
    mpi = answer_of("srun", "--mpi=list")
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
        associations=associations_of(_accounting("assoc", f"user={user}", form), account),
        qos=qos_of(_accounting("qos", "format=name,maxwall,maxtres,maxtrespu")),
        mpi_types=mpi_types_of(f"{mpi.stdout}\n{mpi.stderr}"),
        topology=_topology(settings),
    )


def _shown(kind: str) -> str:
    answer = answer_of("scontrol", "show", kind, "-o")
    if answer.status != 0:
        raise InfrastructureError(f"scontrol show {kind} fails: {answer.said}")
    return answer.stdout


def _accounting(*words: str) -> str:
    """Rows of slurmdbd; "" where there is none."""
    answer = answer_of("sacctmgr", "-nP", "show", *words)
    return "" if answer.status else answer.stdout


def _topology(settings: dict[str, str]) -> TopologyDescription | None:
    """The site's topology.conf where it can be read, else the tree as Slurm shows it.

    One switch alone makes no topology: all nodes are alike.
    """
    if "tree" not in settings.get("TopologyPlugin", ""):
        return None
    shown = answer_of("scontrol", "show", "topology").stdout.splitlines()
    lines = [line for line in shown if "SwitchName=" in line]
    switches = switches_of("\n".join(lines), "scontrol show topology") if lines else {}
    if len(switches) < 2:
        return None
    file = Path(settings.get("SLURM_CONF", "/etc/slurm/slurm.conf")).with_name("topology.conf")
    if os.access(file, os.R_OK):
        return TopologyDescription(slurm=str(file))
    return TopologyDescription(switches=switches)


def fields_of(line: str) -> dict[str, str]:
    """The KEY=VALUE pairs of a line of `scontrol show … -o`; values may hold blanks.

    The first of a key counts: reasons and comments, which people write, come last. The text
    says more than `--json`, which lacks CPUEfctv and MemSpecLimit in 22.05 and differs by version.
    """
    _, *parts = _KEY.split(line)
    fields: dict[str, str] = {}
    for key, value in zip(parts[::2], parts[1::2], strict=True):
        fields.setdefault(key, value.strip())
    return fields


def partitions_of(text: str, groups: frozenset[str]) -> dict[str, Partition]:
    """`scontrol show partition -o`, as a user of these groups may use them."""
    shown = (fields for fields in map(fields_of, text.splitlines()) if "PartitionName" in fields)
    return {fields["PartitionName"]: _partition(fields, groups) for fields in shown}


def _partition(fields: dict[str, str], groups: frozenset[str]) -> Partition:
    name, allowed = fields["PartitionName"], _allowed(fields.get("AllowGroups", "ALL"))
    closed = [fields.get(key, "NO") for key in ("RootOnly", "ReqResv")] != ["NO", "NO"]
    is_open = fields.get("State", "UP") == "UP" and not closed
    return Partition(
        name=name,
        default=fields.get("Default") == "YES",
        usable=is_open and (allowed is None or bool(allowed & groups)),
        longest_job_s=seconds_of(fields.get("MaxTime", "UNLIMITED")),
        most_nodes=_number(fields.get("MaxNodes")),
        preemptible=fields.get("PreemptMode", "OFF") not in ("OFF", "")
        or _PREEMPTIBLE.search(name) is not None,
        limits_memory=any(_number(fields.get(f"DefMemPer{unit}")) for unit in ("Node", "CPU")),
        accounts=_allowed(fields.get("AllowAccounts", "ALL")),
        qos=_allowed(fields.get("AllowQos", "ALL")),
    )


def nodes_of(text: str) -> list[Node]:
    """`scontrol show node -o`."""
    return [_node(fields) for fields in map(fields_of, text.splitlines()) if fields.get("NodeName")]


def _node(fields: dict[str, str]) -> Node:
    sockets = (_number(fields.get("Sockets")) or 1) * (_number(fields.get("Boards")) or 1)
    threads = _number(fields.get("ThreadsPerCore")) or 1
    cores = sockets * (_number(fields.get("CoresPerSocket")) or 1)
    offered = _number(fields.get("CPUEfctv")) or _number(fields.get("CPUTot")) or cores
    # CPUs are threads or cores, as the site counts; cores that Slurm keeps are missing.
    offered = offered if offered <= cores else -(-offered // threads)
    memory, kept = (_number(fields.get(key)) or 0 for key in ("RealMemory", "MemSpecLimit"))
    gres = re.sub(r"\([^)]*\)", "", fields.get("Gres", "(null)"))
    state = fields.get("State", "")
    return Node(
        name=fields["NodeName"],
        sockets=min(sockets, offered),
        cores=min(cores, offered),
        threads_per_core=threads,
        memory_bytes=max(0, memory - kept) << 20,
        features=_names(fields.get("AvailableFeatures", "")),
        gres=tuple(sorted(filter(None, gres.split(",")))),
        partitions=tuple(_names(fields.get("Partitions", ""))),
        in_service=not _OUT.search(state) and bool(set(state.split("+")) & _IN_SERVICE),
    )


def associations_of(text: str, default_account: str) -> list[Association]:
    """`sacctmgr -nP show assoc … format=account,qos,defaultqos,maxwall,maxtres`, default first."""
    associations: dict[str, Association] = {}
    for account, qos, default, wall, tres in _rows(text, 5):
        names = [name.strip("+-") for name in qos.split(",") if name]
        names.sort(key=lambda name: name != default)
        limits = _limits(wall, tres)
        associations.setdefault(account, Association(account, tuple(names), limits))
    return sorted(associations.values(), key=lambda known: known.account != default_account)


def qos_of(text: str) -> dict[str, SlurmLimits]:
    """`sacctmgr -nP show qos format=name,maxwall,maxtres,maxtrespu`."""
    return {name: _limits(*limits) for name, *limits in _rows(text, 4)}


def _limits(wall: str, *tres: str) -> SlurmLimits:
    nodes = re.findall(r"(?:^|,)node=(\d+)", ",".join(tres))
    return SlurmLimits(seconds_of(wall), min(map(int, nodes), default=None))


def _rows(text: str, width: int) -> Iterator[list[str]]:
    """The rows of `sacctmgr -nP` that have a name, each of `width` columns."""
    rows = ([*line.split("|"), *[""] * width][:width] for line in text.splitlines())
    return (row for row in rows if row[0])


def mpi_types_of(text: str) -> list[str]:
    """`srun --mpi=list`: the types, without versions of one."""
    words = re.findall(r"^(?:srun: )?\s*([a-z][\w-]*)$", text, re.MULTILINE)
    return [word for word in dict.fromkeys(words) if not re.match(r"(none|openmpi|pmix_v)", word)]


def _number(text: str | None) -> int | None:
    match = re.match(r"\d+", text or "")
    return int(match[0]) if match else None


def _names(text: str) -> frozenset[str]:
    """Names in a list."""
    return frozenset(name for name in text.split(",") if name and name != "(null)")


def _allowed(text: str) -> frozenset[str] | None:
    """Names in a list of those who may use a partition; None: all may."""
    return None if text in ("ALL", "all") else _names(text)
