# SPDX-License-Identifier: Apache-2.0
"""What a plan must know of a site, and nothing of its hosts, partitions or paths."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from records.errors import AssayError
from records.topology import Topology


@dataclass(frozen=True)
class SiteFacts:
    """Capacity of a site and what its environments offer when the site is used.

    `environments` maps each environment's name to its features, e.g. {"lam": {"mpi"}}; `missing`
    says for each environment why a foreign program of its description is not offered, `absent` of
    a campaign's variant why the site cannot give it.
    `core_flop_per_s` to `launch_overhead_s` serve estimates only; their defaults are deliberately
    modest (a 100 Mbit/s link). `shared_cores` are the cores of nodes that share one machine.
    `ranks_per_link` on a node fill its link.
    `longest_job_s` is what the partition allows a job; None: nothing is known of it. `resources`
    are those that cases may ask for, each with the values that it takes.
    """

    name: str
    nodes: int
    cores_per_node: int
    memory_bytes_per_node: int
    environments: Mapping[str, frozenset[str] | set[str]]
    core_flop_per_s: float = 5e9
    network_bytes_per_s: float = 12.5e6
    launch_overhead_s: float = 1.0
    ranks_per_link: int = 1
    topology: Topology | None = None
    shared_cores: Mapping[str, list[int]] = field(default_factory=dict)
    missing: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    partition: str = ""
    sockets_per_node: int | None = None
    longest_job_s: int | None = None
    resources: Mapping[str, frozenset[str]] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)

    @property
    def busy_nodes(self) -> int:
        """Nodes that can be busy at the same time: those whose cores no other of them has."""
        taken: set[int] = set()
        apart = 0
        for cores in self.shared_cores.values():
            if taken.isdisjoint(cores):
                taken.update(cores)
                apart += 1
        return min(apart, self.nodes) or self.nodes

    def with_cpus_per_task(self, cpus: int | None) -> SiteFacts:
        """The site as it is for ranks of so many CPUs; a node has room for one of them at least."""
        if cpus is None:
            return self
        return replace(self, cores_per_node=max(1, self.cores_per_node // cpus))

    def __post_init__(self) -> None:
        for key in ("nodes", "cores_per_node", "memory_bytes_per_node"):
            if getattr(self, key) < 1:
                raise AssayError(
                    f"site {self.name}: {key} is {getattr(self, key)}; allowed is 1 or more"
                )
