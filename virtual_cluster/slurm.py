# SPDX-License-Identifier: Apache-2.0
"""Queries and orders to a cluster's Slurm, whose user may give them, on the login host."""

from __future__ import annotations

from collections.abc import Callable

from records.waiting import NODE_S, NODES_S, scaled
from virtual_cluster import namespaces
from virtual_cluster.host import run, tries
from virtual_cluster.processes import failure
from virtual_cluster.state import State, folders

#: States of nodes that take jobs, now or when those that they have are done.
_TAKES_JOBS = ("idle", "mixed", "allocated", "completing")


def ask(state: State, *argv: str, check: bool = True) -> str:
    """Output of a Slurm command; InfrastructureError if it fails (and `check`)."""
    enter = [*namespaces.enter(state, "login"), *namespaces.to_user(state)]
    return run([*enter, *argv], check=check).stdout


def node_states(state: State, check: bool = True) -> dict[str, str]:
    """Slurm's state of each node, in small letters: idle, allocated, mixed, down*, …

    InfrastructureError, or none without `check`, when slurmctld does not answer in time.
    """
    words = ["sinfo", "--noheader", "--Node", "--format=%N|%T"]
    lines = ask(state, *words, check=check).splitlines()
    return dict(line.split("|", 1) for line in lines if "|" in line)


def jobs(state: State) -> list[dict[str, str]]:
    """Jobs that have not ended, as squeue shows them."""
    keys = ("job_id", "state", "nodes", "name")
    lines = ask(state, "squeue", "--noheader", "--format=%i|%T|%N|%j").splitlines()
    shown = (line.split("|", 3) for line in lines if line.count("|") >= 3)
    return [dict(zip(keys, values, strict=True)) for values in shown]


def set_node(state: State, node: str, target: str, reason: str = "", *, check: bool = True) -> None:
    """Set the state of a node (DOWN, RESUME)."""
    argv = ["scontrol", "update", f"NodeName={node}", f"State={target}"]
    ask(state, *argv, *([f"Reason={reason}"] if reason else []), check=check)


def wait_for_nodes(
    state: State, nodes: list[str], drained: Callable[[str, str], None] = lambda *_: None
) -> None:
    """Wait until these nodes can take jobs; InfrastructureError that names the one which cannot.

    `drained` is called with a node that is drained when it is looked at, and with its state.
    """
    console = folders(state.spec.name).console
    waiting = set(nodes)
    for _ in tries(scaled(NODES_S + NODE_S * len(nodes)), 0.05):
        states = node_states(state, check=False)
        waiting = {node for node in waiting if states.get(node) not in _TAKES_JOBS}
        if not waiting:
            return
        for node in sorted(waiting):
            if not state.runs(node):
                raise failure(f"node {node} ended at once", console(node))
            if (condition := states.get(node, "")).startswith("drain"):
                drained(node, condition)
    node = min(waiting)
    raise failure(f"node {node} is {states.get(node, 'unknown')}, not idle", console(node))
