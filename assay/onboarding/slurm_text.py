# SPDX-License-Identifier: Apache-2.0
"""What Slurm's commands print, of 20.11 and later, as data: partitions, nodes, limits."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from checks.common.slurm.text import seconds_of

_KEY = re.compile(r"(?:^|\s)([A-Za-z][\w:/]*)=")
#: States in which a node takes jobs, or will when those that it has are done.
_IN_SERVICE = {"IDLE", "MIXED", "ALLOCATED", "COMPLETING", "PLANNED", "RESERVED", "MAINT"}
_OUT = re.compile(
    r"(?<!POWER_)(?<!POWERING_)(?<!POWERED_)DOWN|DRAIN|FAIL|NOT_RESPONDING|FUTURE|UNKNOWN|\*"
)


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
class Limits:
    """What an account or a QOS allows; None: nothing is said."""

    longest_job_s: int | None = None
    most_nodes: int | None = None


@dataclass(frozen=True)
class Association:
    """An account of the user: its QOS, the default one first where it is known."""

    account: str
    qos: tuple[str, ...]
    limits: Limits = field(default_factory=Limits)


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


def config_of(text: str) -> dict[str, str]:
    """`scontrol show config`."""
    pairs = (line.split("=", 1) for line in text.splitlines() if "=" in line)
    return {key.strip(): value.strip() for key, value in pairs}


def partitions_of(text: str, groups: frozenset[str]) -> dict[str, Partition]:
    """`scontrol show partition -o`, as a user of these groups may use them."""
    found = {}
    for told in map(fields_of, text.splitlines()):
        if "PartitionName" not in told:
            continue
        allowed = _names(told.get("AllowGroups", "ALL"))
        usable = (
            told.get("State", "UP") == "UP"
            and told.get("RootOnly", "NO") == "NO"
            and told.get("ReqResv", "NO") == "NO"
            and (allowed is None or bool(allowed & groups))
        )
        preempted = told.get("PreemptMode", "OFF") not in ("OFF", "")
        named = re.search(r"preempt|scaveng|backfill|killable|standby", told["PartitionName"], re.I)
        found[told["PartitionName"]] = Partition(
            name=told["PartitionName"],
            default=told.get("Default") == "YES",
            usable=usable,
            longest_job_s=seconds_of(told.get("MaxTime", "UNLIMITED")),
            most_nodes=_number(told.get("MaxNodes", "")),
            preemptible=preempted or named is not None,
            limits_memory=any(
                _number(told.get(key, "")) for key in ("DefMemPerNode", "DefMemPerCPU")
            ),
            accounts=_names(told.get("AllowAccounts", "ALL")),
            qos=_names(told.get("AllowQos", "ALL")),
        )
    return found


def nodes_of(text: str) -> list[Node]:
    """`scontrol show node -o`."""
    found = []
    for told in map(fields_of, text.splitlines()):
        if not told.get("NodeName"):
            continue
        sockets = (_number(told.get("Sockets", "")) or 1) * (_number(told.get("Boards", "")) or 1)
        threads = _number(told.get("ThreadsPerCore", "")) or 1
        cores = sockets * (_number(told.get("CoresPerSocket", "")) or 1)
        offered = _number(told.get("CPUEfctv", "")) or _number(told.get("CPUTot", "")) or cores
        # CPUs are threads or cores, as the site counts; cores that Slurm keeps are missing.
        offered = offered if offered <= cores else -(-offered // threads)
        memory, kept = (_number(told.get(k, "")) or 0 for k in ("RealMemory", "MemSpecLimit"))
        gres = re.sub(r"\([^)]*\)", "", told.get("Gres", "(null)"))
        state = told.get("State", "")
        node = Node(
            name=told["NodeName"],
            sockets=min(sockets, offered),
            cores=min(cores, offered),
            threads_per_core=threads,
            memory_bytes=max(0, memory - kept) << 20,
            features=frozenset(_names(told.get("AvailableFeatures", "")) or ()),
            gres=tuple(sorted(part for part in gres.split(",") if part)),
            partitions=tuple(_names(told.get("Partitions", "")) or ()),
            in_service=not _OUT.search(state) and bool(set(state.split("+")) & _IN_SERVICE),
        )
        found.append(node)
    return found


def associations_of(text: str, default_account: str) -> list[Association]:
    """`sacctmgr -nP show assoc … format=account,qos,defaultqos,maxwall,maxtres`, default first."""
    found: dict[str, Association] = {}
    for row in text.splitlines():
        account, qos, default, wall, tres = [*row.split("|"), *[""] * 5][:5]
        if account:
            names = [name.strip("+-") for name in qos.split(",") if name]
            names.sort(key=lambda name: name != default)
            limits = Limits(seconds_of(wall), _nodes_in(tres))
            found.setdefault(account, Association(account, tuple(names), limits))
    return sorted(found.values(), key=lambda one: one.account != default_account)


def qos_of(text: str) -> dict[str, Limits]:
    """`sacctmgr -nP show qos format=name,maxwall,maxtres,maxtrespu`."""
    found = {}
    for row in text.splitlines():
        name, wall, tres, per_user = [*row.split("|"), *[""] * 4][:4]
        nodes = [count for one in (tres, per_user) if (count := _nodes_in(one)) is not None]
        if name:
            found[name] = Limits(seconds_of(wall), min(nodes, default=None))
    return found


def mpi_types_of(text: str) -> list[str]:
    """`srun --mpi=list`: the types, without versions of one."""
    words = re.findall(r"^(?:srun: )?\s*([a-z][\w-]*)$", text, re.MULTILINE)
    return [word for word in dict.fromkeys(words) if not re.match(r"(none|openmpi|pmix_v)", word)]


def _nodes_in(tres: str) -> int | None:
    found = re.search(r"(?:^|,)node=(\d+)", tres)
    return int(found[1]) if found else None


def _number(text: str) -> int | None:
    found = re.match(r"\d+", text)
    return int(found[0]) if found else None


def _names(text: str) -> frozenset[str] | None:
    """Names in a list; None where all are meant."""
    if text in ("ALL", "all"):
        return None
    return frozenset(name for name in text.split(",") if name and name != "(null)")
