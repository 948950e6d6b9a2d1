# SPDX-License-Identifier: Apache-2.0
"""Cuts and restores the power of a node."""

from __future__ import annotations

from records.errors import AssayError, InfrastructureError
from virtual_cluster import daemons, host, network, processes, slurm
from virtual_cluster.state import State, locked_state


def cut_power(cluster: str, node: str) -> None:
    """Take a node's link down and kill all its processes at once, as a power cut does."""
    host.require_rights("kill-node")
    with locked_state(cluster) as state:
        check_node(state, node)
        if not has_power(state, node):
            raise AssayError(
                f"node {node} of cluster {cluster} has no power already; "
                f"bring it back with `assay cluster restore-node {node}`"
            )
        network.set_link(cluster, node, up=False)
        stubborn = processes.end([state.processes[node]])
        stubborn += processes.end_all_inside(
            [network.node_file(cluster, node)], processes.ancestors()
        )
        if stubborn:
            raise InfrastructureError(
                f"node {node}: processes {[process.pid for process in stubborn]} do not end"
            )


def restore_power(cluster: str, node: str) -> None:
    """Start a node again with its address and cores; returns when Slurm can give it jobs."""
    host.require_rights("restore-node")
    with locked_state(cluster) as state:
        check_node(state, node)
        if has_power(state, node):
            raise AssayError(
                f"node {node} of cluster {cluster} has power; there is nothing to restore"
            )
        start_again(state, node)


def start_again(state: State, node: str) -> None:
    """Start a node that has no power, as `restore_power`; the caller holds the cluster."""
    # Slurm may not have noticed yet; jobs that were on the node must not seem to go on.
    slurm.set_node(state, node, "DOWN", "power was cut")
    network.set_link(state.spec.name, node, up=True)
    daemons.start_node(state, node)
    slurm.wait_for_nodes(state, [node])


def has_power(state: State, node: str) -> bool:
    """Whether the node's first process runs."""
    process = state.processes.get(node)
    return process is not None and process.alive()


def check_node(state: State, node: str) -> None:
    """Raise AssayError unless the cluster has a node of this name."""
    names = state.spec.node_names()
    if node not in names:
        raise AssayError(
            f"cluster {state.spec.name} has no node {node!r}; "
            f"its nodes are {names[0]} to {names[-1]}"
        )


def first_process(state: State, node: str) -> int:
    """Id of the node's first process, to enter its namespaces; AssayError if it has no power."""
    found: int | None = None
    if has_power(state, node) and state.spec.isolated:
        found = processes.first_process(network.node_file(state.spec.name, node))
    elif has_power(state, node):
        found = state.processes[node].pid
    if found is None:
        raise AssayError(
            f"node {node} of cluster {state.spec.name} has no power; "
            f"bring it back with `assay cluster restore-node {node}`"
        )
    return found
