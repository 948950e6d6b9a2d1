# SPDX-License-Identifier: Apache-2.0
"""The specification of a foreign cluster: nodes, partitions, users, limits, modules.

Lines of Slurm's own form (`NAMES KEY=VALUE …`) are passed on to slurm.conf as they are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ClusterShell.NodeSet import NodeSet, NodeSetException

from records.errors import AssayError
from virtual_cluster.spec import ClusterSpec

#: Cores and MiB of a node whose line names none.
DEFAULT_CPUS, DEFAULT_MEMORY_MB = 2, 2000
#: Families of MPI libraries that the distribution has, by the ending of their programs.
FAMILIES = ("mpich", "openmpi")
_PAIR = re.compile(r"[A-Za-z]\w*=\S+")


@dataclass(frozen=True)
class Line:
    """A name with keys and values, as a line of slurm.conf has them."""

    name: str
    settings: dict[str, str]

    def text(self, keyword: str) -> str:
        """The line of slurm.conf."""
        pairs = " ".join(f"{key}={value}" for key, value in self.settings.items())
        return f"{keyword}={self.name} {pairs}\n"

    def get(self, key: str, default: str) -> str:
        """The value of a key, whatever its case."""
        lower = {name.lower(): value for name, value in self.settings.items()}
        return lower.get(key.lower(), default)


def read_line(text: str) -> Line:
    """`NAME KEY=VALUE …`. Raises AssayError for anything else."""
    name, *pairs = text.split()
    if wrong := [pair for pair in pairs if not _PAIR.fullmatch(pair)]:
        raise AssayError(f"{text!r}: {wrong[0]!r} is not KEY=VALUE; write NAME KEY=VALUE …")
    return Line(name, dict(pair.split("=", 1) for pair in pairs))


@dataclass(frozen=True)
class NamedNodes(ClusterSpec):
    """A virtual cluster's network with names of nodes that are given."""

    names: tuple[str, ...] = ()

    def node_names(self) -> list[str]:
        """Names of the nodes."""
        return list(self.names)


@dataclass(frozen=True)
class ForeignSpec:
    """What `up` makes. `nodes`, `partitions`, `qos`, `limits`, `switches`: lines; `modules`:
    NAME=FAMILY; `settings`: lines of slurm.conf, which replace those of the same key."""

    name: str = "foreign"
    nodes: list[str] = field(default_factory=lambda: ["c[001-003]"])
    partitions: list[str] = field(
        default_factory=lambda: ["debug MaxTime=3 Default=YES", "batch MaxTime=1-00:00:00"]
    )
    users: list[str] = field(default_factory=lambda: ["ada", "grace"])
    account: str = "physics"
    limits: list[str] = field(default_factory=lambda: ["MaxSubmitJobs=50"])
    qos: list[str] = field(default_factory=list)
    modules: list[str] = field(default_factory=lambda: ["mpich/4.0=mpich", "openmpi/4.1=openmpi"])
    settings: list[str] = field(default_factory=list)
    switches: list[str] = field(default_factory=list)
    network: str = "gigabit"
    maintenance: str = "now+2days"

    def __post_init__(self) -> None:
        self.cluster()
        for user in self.users:
            if not re.fullmatch(r"[a-z][a-z0-9]{0,15}", user):
                raise AssayError(f"user {user!r}: allowed are up to 16 of a-z and 0-9")
        for module in self.modules:
            name, _, family = module.rpartition("=")
            if not re.fullmatch(r"[\w.+-]+(/[\w.+-]+)+", name) or family not in FAMILIES:
                raise AssayError(
                    f"module {module!r}: write NAME/VERSION=FAMILY, FAMILY one of {FAMILIES}"
                )

    def node_lines(self) -> list[Line]:
        """The lines of nodes, with cores and memory."""
        lines = [read_line(text) for text in self.nodes]
        return [Line(line.name, {**_size(line), **line.settings}) for line in lines]

    def partition_lines(self) -> list[Line]:
        """The lines of partitions; all nodes where none are named."""
        return [
            Line(line.name, {"Nodes": line.get("Nodes", "ALL"), **line.settings})
            for line in map(read_line, self.partitions)
        ]

    def names_of(self, line: Line) -> list[str]:
        """The names of the nodes of a line."""
        try:
            return list(NodeSet(line.name))
        except NodeSetException as error:
            raise AssayError(f"nodes {line.name!r}: {error}; write e.g. c[001-003]") from error

    def cluster(self) -> NamedNodes:
        """Its network, as the virtual cluster's modules take it."""
        names = [name for line in self.node_lines() for name in self.names_of(line)]
        return NamedNodes(self.name, len(names), network=self.network, names=tuple(names))

    def account_of(self, user: str) -> str:
        """The user's name on this machine."""
        return f"assay-{self.name}-{user}"


def _size(line: Line) -> dict[str, str]:
    """Cores and memory where a line has none."""
    shape = {"cpus", "boards", "sockets", "socketsperboard", "corespersocket", "threadspercore"}
    named = {key.lower() for key in line.settings}
    cpus = {} if shape & named else {"CPUs": str(DEFAULT_CPUS)}
    return {**cpus, **({} if "realmemory" in named else {"RealMemory": str(DEFAULT_MEMORY_MB)})}


def cores_of(line: Line) -> int:
    """Cores of a node of this line."""
    if "cpus" in {key.lower() for key in line.settings}:
        return int(line.get("CPUs", "1"))
    sockets = int(line.get("Sockets", line.get("SocketsPerBoard", "1")))
    cores = int(line.get("Boards", "1")) * sockets * int(line.get("CoresPerSocket", "1"))
    return cores * int(line.get("ThreadsPerCore", "1"))
