# SPDX-License-Identifier: Apache-2.0
"""The view of Slurm (20.11 and later) that an ordinary user has of a cluster, as data: partitions,
nodes and their types, the tree of switches."""

from __future__ import annotations

import grp
import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from ClusterShell.NodeSet import NodeSet

from assay.commands import login_environment, run_command
from checks.common.slurm.commands import Answer, seconds_of
from records.errors import InfrastructureError

_KEY = re.compile(r"(?:^|\s)([A-Za-z][\w:/]*)=")
#: States in which a node takes jobs, or will when those that it has are done.
_IN_SERVICE = {"IDLE", "MIXED", "ALLOCATED", "COMPLETING", "PLANNED", "RESERVED", "MAINT"}
_OUT = re.compile(
    r"(?<!POWER_)(?<!POWERING_)(?<!POWERED_)DOWN|DRAIN|FAIL|NOT_RESPONDING|FUTURE|UNKNOWN|\*"
)
#: A partition of shorter jobs is for trying things out.
_SHORT_S = 3600


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

    def merit(self, nodes: Sequence[Node]) -> tuple[bool, bool, int, float, bool]:
        """Better partitions are greater: not preempted, for long jobs, of many of these nodes."""
        longest = float("inf") if self.longest_job_s is None else self.longest_job_s
        many = sum(self.name in node.partitions for node in nodes)
        return (not self.preemptible, longest >= _SHORT_S, many, longest, self.default)


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
class SlurmView:
    """A cluster; `topology`: the lines of a topology.conf, none where it has one switch."""

    cluster: str
    version: str
    settings: dict[str, str]
    partitions: dict[str, Partition]
    nodes: list[Node]
    mpi_types: list[str]
    topology: list[str]


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
    mpi = answer_of("srun", "--mpi=list")
    groups = set()
    for number in {os.getegid(), *os.getgroups()}:
        with suppress(KeyError):
            groups.add(grp.getgrgid(number).gr_name)
    tree = "tree" in settings.get("TopologyPlugin", "")
    shown = answer_of("scontrol", "show", "topology").stdout if tree else ""
    return SlurmView(
        cluster=settings.get("ClusterName", "cluster"),
        version=settings.get("SLURM_VERSION", "unknown"),
        settings=settings,
        partitions=partitions_of(_shown("partition"), frozenset(groups)),
        nodes=nodes_of(_shown("node")),
        mpi_types=mpi_types_of(f"{mpi.stdout}\n{mpi.stderr}"),
        topology=switches_of(shown),
    )


def _shown(kind: str) -> str:
    answer = answer_of("scontrol", "show", kind, "-o")
    if answer.status != 0:
        raise InfrastructureError(f"scontrol show {kind} fails: {answer.said}")
    return answer.stdout


def switches_of(text: str) -> list[str]:
    """`scontrol show topology` as lines of a topology.conf, in which a switch above others has no
    nodes of its own; one alone makes no topology."""
    lines = [line.strip() for line in text.splitlines() if "SwitchName=" in line]
    return [re.sub(r" Nodes=\S+(?= Switches=)", "", line) for line in lines if len(lines) > 1]


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
    partitions = {}
    for fields in map(fields_of, text.splitlines()):
        if (name := fields.get("PartitionName")) is None:
            continue
        allowed = fields.get("AllowGroups", "ALL")
        is_allowed = allowed.upper() == "ALL" or bool(_names(allowed) & groups)
        closed = [fields.get(key, "NO") for key in ("RootOnly", "ReqResv")] != ["NO", "NO"]
        partitions[name] = Partition(
            name=name,
            default=fields.get("Default") == "YES",
            usable=fields.get("State", "UP") == "UP" and not closed and is_allowed,
            longest_job_s=seconds_of(fields.get("MaxTime", "UNLIMITED")),
            most_nodes=_number(fields.get("MaxNodes")),
            preemptible=fields.get("PreemptMode", "OFF") not in ("OFF", ""),
            limits_memory=any(_number(fields.get(f"DefMemPer{unit}")) for unit in ("Node", "CPU")),
        )
    return partitions


def nodes_of(text: str) -> list[Node]:
    """`scontrol show node -o`."""
    nodes = []
    for fields in map(fields_of, text.splitlines()):
        if (name := fields.get("NodeName")) is None:
            continue
        sockets = (_number(fields.get("Sockets")) or 1) * (_number(fields.get("Boards")) or 1)
        threads = _number(fields.get("ThreadsPerCore")) or 1
        cores = sockets * (_number(fields.get("CoresPerSocket")) or 1)
        offered = _number(fields.get("CPUEfctv")) or _number(fields.get("CPUTot")) or cores
        # CPUs are threads or cores, as the site counts; cores that Slurm keeps are missing.
        offered = offered if offered <= cores else -(-offered // threads)
        memory, kept = (_number(fields.get(key)) or 0 for key in ("RealMemory", "MemSpecLimit"))
        gres = re.sub(r"\([^)]*\)", "", fields.get("Gres", "(null)"))
        state = fields.get("State", "")
        node = Node(
            name=name,
            sockets=min(sockets, offered),
            cores=min(cores, offered),
            threads_per_core=threads,
            memory_bytes=max(0, memory - kept) << 20,
            features=_names(fields.get("AvailableFeatures", "")),
            gres=tuple(sorted(filter(None, gres.split(",")))),
            partitions=tuple(_names(fields.get("Partitions", ""))),
            in_service=not _OUT.search(state) and bool(set(state.split("+")) & _IN_SERVICE),
        )
        nodes.append(node)
    return nodes


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


@dataclass(frozen=True)
class NodeType:
    """Nodes of one kind in one partition; `options` lead a job to them and no others."""

    key: str
    partition: Partition
    nodes: Sequence[Node]
    options: Sequence[str]

    @property
    def in_service(self) -> int:
        """Number of its nodes that take jobs."""
        return sum(node.in_service for node in self.nodes)

    @property
    def gpus(self) -> str | None:
        """The name of its generic resource for GPUs, None where there is none."""
        return next((one.split(":")[0] for one in self.nodes[0].gres if "gpu" in one), None)


def node_types(nodes: Sequence[Node], partitions: Iterable[Partition]) -> list[NodeType]:
    """Nodes of equal processors and generic resources, the type with the most first; nodes in no
    usable partition are left out."""
    kinds: dict[object, list[Node]] = {}
    for node in sorted(nodes, key=lambda node: node.name):
        shape = (node.sockets, node.cores, node.threads_per_core, node.gres)
        kinds.setdefault(shape, []).append(node)
    usable, best_of = [partition for partition in partitions if partition.usable], []
    for kind in kinds.values():
        having = [one for one in usable if any(one.name in node.partitions for node in kind)]
        if having:
            best = max(having, key=lambda partition: partition.merit(kind))
            best_of.append((best, [node for node in kind if best.name in node.partitions]))
    shared = Counter(best.name for best, _ in best_of)
    types = []
    for best, kind in best_of:
        own = {node.name for node in kind}
        others = [n for n in nodes if best.name in n.partitions and n.name not in own]
        common = frozenset.intersection(*(node.features for node in kind))
        features = common.difference(*(node.features for node in others))
        feature = min(features, key=lambda name: (len(name), name), default=None)
        options = ["--mem=0"] if best.limits_memory else []
        if others:
            folded = str(NodeSet.fromlist([node.name for node in others]))
            options.insert(0, f"--constraint={feature}" if feature else f"--exclude={folded}")
        key, first = best.name, kind[0]
        if shared[best.name] > 1:
            size = first.gres[0].replace(":", "-") if first.gres else f"{first.cores}c"
            key = f"{best.name}-{feature or size}"
        types.append(NodeType(key, best, kind, options))
    return sorted(types, key=lambda kind: (-kind.in_service, -len(kind.nodes), kind.key))
