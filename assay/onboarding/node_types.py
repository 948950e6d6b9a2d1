# SPDX-License-Identifier: Apache-2.0
"""Node types of a cluster, and for each the partition and the options that lead jobs there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ClusterShell.NodeSet import NodeSet

from assay.onboarding.slurm_view import Node, Partition

#: Memories that differ by less are of one type: firmware takes a little, node by node.
_MEMORY_TOLERANCE = 0.05
#: A partition of shorter jobs is for trying things out.
_SHORT_S = 3600


@dataclass(frozen=True)
class NodeType:
    """Nodes of one kind in one partition; `options` lead a job to them and no others.

    `also` are other partitions that have such nodes.
    """

    key: str
    partition: Partition
    nodes: Sequence[Node]
    options: Sequence[str]
    also: Sequence[str]

    @property
    def in_service(self) -> int:
        """Number of its nodes that take jobs."""
        return sum(node.in_service for node in self.nodes)

    @property
    def gpus(self) -> str | None:
        """The name of its generic resource for GPUs, None where there is none."""
        return next((one.split(":")[0] for one in self.nodes[0].gres if "gpu" in one), None)


def node_types(nodes: Iterable[Node], partitions: Iterable[Partition]) -> list[NodeType]:
    """The types, the one with the most nodes first; nodes in no usable partition are left out."""
    usable, known = [one for one in partitions if one.usable], list(nodes)
    found = []
    for kind in _kinds(known):
        having = [one for one in usable if any(one.name in node.partitions for node in kind)]
        if having:
            best = max(having, key=lambda one: _merit(one, kind))
            also = [one.name for one in having if one is not best]
            found.append((best, [node for node in kind if best.name in node.partitions], also))
    shared = Counter(best.name for best, _, _ in found)
    types = []
    for best, kind, also in found:
        own = {node.name for node in kind}
        others = [n for n in known if best.name in n.partitions and n.name not in own]
        feature = _feature(kind, others)
        options = ["--mem=0"] if best.limits_memory else []
        if others:
            folded = str(NodeSet.fromlist([node.name for node in others]))
            options.insert(0, f"--constraint={feature}" if feature else f"--exclude={folded}")
        key, first = best.name, kind[0]
        if shared[best.name] > 1:
            size = first.gres[0].replace(":", "-") if first.gres else ""
            size = size or f"{first.cores}c-{first.memory_bytes >> 30}g"
            key = f"{best.name}-{feature or size}"
        types.append(NodeType(key, best, kind, options, also))
    return sorted(types, key=lambda one: (-one.in_service, -len(one.nodes), one.key))


def _merit(partition: Partition, kind: Sequence[Node]) -> tuple[bool, bool, int, float, bool]:
    """Better partitions are greater: not preempted, for long jobs, of many nodes."""
    longest = float("inf") if partition.longest_job_s is None else partition.longest_job_s
    many = sum(partition.name in node.partitions for node in kind)
    return (not partition.preemptible, longest >= _SHORT_S, many, longest, partition.default)


def _kinds(nodes: list[Node]) -> list[list[Node]]:
    """Nodes that are alike, in the order of their names."""
    kinds: list[list[Node]] = []
    latest: dict[object, list[Node]] = {}
    for node in sorted(nodes, key=lambda one: (one.memory_bytes, one.name)):
        alike = (node.sockets, node.cores, node.threads_per_core, node.gres)
        kind = latest.get(alike)
        # The least memory of a kind is the first's.
        if kind and node.memory_bytes <= kind[0].memory_bytes * (1 + _MEMORY_TOLERANCE):
            kind.append(node)
        else:
            latest[alike] = [node]
            kinds.append(latest[alike])
    return [sorted(kind, key=lambda one: one.name) for kind in kinds]


def _feature(kind: Sequence[Node], others: Sequence[Node]) -> str | None:
    """A feature that all these nodes have, and none of the others."""
    common = frozenset.intersection(*(node.features for node in kind))
    own = common.difference(*(node.features for node in others))
    return min(own, key=lambda name: (len(name), name)) if own else None
