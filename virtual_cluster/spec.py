# SPDX-License-Identifier: Apache-2.0
"""The specification of a virtual cluster, and the plans that follow: switches, addresses, cores,
memory.

Pure functions: no file, process or network is touched.
"""

import re
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from itertools import cycle, pairwise

from records.errors import AssayError
from virtual_cluster.images import MACHINE

ONE = "1"
TOP = "top"


@dataclass(frozen=True)
class Switch:
    """A switch; `above` is the one that it hangs below, None for the top one. A switch has nodes
    or other switches."""

    name: str
    above: str | None
    nodes: tuple[str, ...] = ()
    below: tuple[str, ...] = ()


def switch_tree(words: str, nodes: list[str]) -> list[Switch]:
    """The switches from the top down: a single one, or so many below a top one, to which nodes are
    dealt in order, as even as can be."""
    if words == ONE:
        return [Switch(TOP, None, tuple(nodes))]
    count = int(words)
    names = [f"s{number}" for number in range(1, count + 1)]
    ends = [round(i * len(nodes) / count) for i in range(count + 1)]
    leaves = [
        Switch(n, TOP, tuple(nodes[a:b])) for n, (a, b) in zip(names, pairwise(ends), strict=True)
    ]
    return [Switch(TOP, None, below=tuple(names)), *leaves]


NAME_PATTERN = re.compile(r"[a-z0-9]([a-z0-9-]{0,10}[a-z0-9])?")
NODE_PATTERN = re.compile(r"[a-z]+[0-9]+")
MAX_NODES = 500
MAX_CPUS_PER_NODE = 1024
PREFIX_LENGTH = 16
LOGIN_ADDRESS = IPv4Address("10.77.0.1")
#: The share of the machine's memory that is divided among the nodes.
MEMORY_SHARE = 0.9


@dataclass(frozen=True)
class LinkSpeed:
    """A kind of link. `bits_per_s` is None where nothing limits it.

    `burst_bytes` and `limit_bytes` are the bucket and the queue of the token bucket filter
    on both ends of each link. The bucket must last as long as timers are late (some 15
    to 50 µs on a virtual machine), or the link loses rate; and what it holds passes at once after a
    pause, faster than on a wire: of each message in a ping-pong, that many bytes.
    """

    bits_per_s: int | None = None
    burst_bytes: int = 0
    limit_bytes: int = 0


NETWORKS = {
    "unlimited": LinkSpeed(),
    "gigabit": LinkSpeed(1_000_000_000, burst_bytes=6_200, limit_bytes=600_000),
    "fast-ethernet": LinkSpeed(100_000_000, burst_bytes=3_000, limit_bytes=60_000),
}
AUTO = "auto"
#: How cores are kept awake while a job runs: by a request to the kernel, by a process of the lowest
#: priority on each core, or not at all.
AWAKE = ("latency", "spinner", "nothing")


@dataclass(frozen=True)
class ClusterSpec:
    """The specification of a virtual cluster.

    `cpus_per_node` None means: the machine's cores divided among the nodes, at least one.
    `switches` is a tree of switches (virtual_cluster.spec), "1" a single one.
    `isolated` False lets the nodes share processes, IPC and /dev/shm, and leaves what jobs leave;
    it exists to prove that a library which then cheats through shared memory is caught.
    `awake` is how cores are kept awake while a job runs: a key of AWAKE, or AUTO, for "latency"
    where the caller may ask the kernel for it and "spinner" elsewhere.
    `cores`: in place of `cpus_per_node` the cores of each node by its name, letters and digits.
    `login_host` is the host name of the login environment.
    `image` has the programs of its hosts: a name of virtual_cluster.images, a folder, or MACHINE.
    `of_root`: root makes it without user namespaces; its daemons are root's, and it may have
    several users (setup/foreign_cluster).
    """

    name: str = "default"
    nodes: int = 4
    cpus_per_node: int | None = None
    network: str = "unlimited"
    switches: str = ONE
    isolated: bool = True
    awake: str = AUTO
    cores: dict[str, int] = field(default_factory=dict)
    login_host: str = "login"
    of_root: bool = False
    image: str = MACHINE

    def __post_init__(self) -> None:
        if not NAME_PATTERN.fullmatch(self.name):
            raise AssayError(
                f"cluster name {self.name!r}: allowed are 1 to 12 of a-z, 0-9 and '-', "
                "with no '-' at either end; give another --name"
            )
        _check_count("--nodes", self.nodes, MAX_NODES)
        if self.cpus_per_node is not None:
            _check_count("--cpus-per-node", self.cpus_per_node, MAX_CPUS_PER_NODE)
        if self.awake not in (AUTO, *AWAKE):
            raise AssayError(f"--awake {self.awake!r}: allowed are {', '.join((AUTO, *AWAKE))}")
        if self.network not in NETWORKS:
            raise AssayError(
                f"--network {self.network!r}: allowed are {', '.join(NETWORKS)}; choose one of them"
            )
        if not re.fullmatch(r"[1-9]\d{0,2}", self.switches):
            raise AssayError(f"--switches {self.switches!r}: allowed are numbers of switches, as 2")
        if int(self.switches) > self.nodes:
            raise AssayError(
                f"--switches {self.switches}: there are {self.nodes} nodes; give more --nodes or"
                " fewer switches"
            )

    @property
    def link(self) -> LinkSpeed:
        """The kind of link that joins the nodes."""
        return NETWORKS[self.network]

    def node_names(self) -> list[str]:
        """Names of the nodes, n1 first unless they are given."""
        return list(self.cores) or [f"n{number}" for number in range(1, self.nodes + 1)]

    def switch_tree(self) -> list[Switch]:
        """The switches that join the nodes, from the top down."""
        return switch_tree(self.switches, self.node_names())

    def cpus(self, usable_cores: int) -> int:
        """Cores of one node on a machine with this many usable cores."""
        return self.cpus_per_node or max(1, usable_cores // self.nodes)


def _check_count(option: str, value: int, most: int) -> None:
    if not 1 <= value <= most:
        raise AssayError(f"{option} {value}: allowed are whole numbers from 1 to {most}")


def address_plan(nodes: list[str]) -> dict[str, str]:
    """IPv4 address of the login environment and of each node; all share one /16."""
    plan = {"login": str(LOGIN_ADDRESS)}
    plan.update({node: str(LOGIN_ADDRESS + 10 + i) for i, node in enumerate(nodes)})
    return plan


def core_plan(counts: dict[str, int], usable: list[int]) -> dict[str, list[int]]:
    """Cores each node is pinned to, dealt in turn; `counts` of each node.

    Neighbouring nodes share no core as long as the usable cores suffice for both.
    """
    dealt = cycle(usable)
    return {node: sorted({next(dealt) for _ in range(count)}) for node, count in counts.items()}


def memory_per_node(total_bytes: int, nodes: int) -> int:
    """Bytes of memory a node may be asked for; whole mebibytes, at least one."""
    mebibyte = 1 << 20
    return max(1, int(total_bytes * MEMORY_SHARE / nodes) // mebibyte) * mebibyte
