# SPDX-License-Identifier: Apache-2.0
"""Questions to a cluster's Slurm and orders to it, asked as root from the login namespace."""

from __future__ import annotations

import time
from dataclasses import dataclass

from records.errors import InfrastructureError
from virtual_cluster import spec as plans
from virtual_cluster.daemons import failure
from virtual_cluster.host import run
from virtual_cluster.network import namespace_file
from virtual_cluster.state import State, folders

NODES_TIMEOUT_S = 30.0
TIMEOUT_PER_NODE_S = 0.5


@dataclass(frozen=True)
class Job:
    """A job as squeue shows it."""

    job_id: str
    user: str
    state: str
    nodes: str
    name: str


def ask(state: State, *argv: str, check: bool = True) -> str:
    """What a Slurm command prints; InfrastructureError if it fails (and `check`)."""
    enter = ["nsenter", f"--net={namespace_file(plans.login_namespace(state.spec.name))}"]
    conf = f"SLURM_CONF={folders(state.spec.name).slurm_conf}"
    return run([*enter, "env", conf, *argv], check=check).stdout


def controller_answers(state: State) -> bool:
    """Whether slurmctld answers a ping."""
    return "is UP" in ask(state, "scontrol", "ping", check=False)


def node_states(state: State) -> dict[str, str]:
    """Slurm's state of each node, in small letters: idle, allocated, mixed, down*, …"""
    lines = ask(state, "sinfo", "--noheader", "--Node", "--format=%N|%T").splitlines()
    return dict(line.split("|", 1) for line in lines if "|" in line)


def jobs(state: State) -> list[Job]:
    """Jobs that have not ended."""
    lines = ask(state, "squeue", "--noheader", "--format=%i|%u|%T|%N|%j").splitlines()
    return [Job(*line.split("|", 4)) for line in lines if line.count("|") >= 4]


def set_node(state: State, node: str, target: str, reason: str = "") -> None:
    """Order a node into a state (DOWN, RESUME)."""
    argv = ["scontrol", "update", f"NodeName={node}", f"State={target}"]
    ask(state, *argv, *([f"Reason={reason}"] if reason else []))


def wait_for_nodes(state: State, nodes: list[str]) -> None:
    """Wait until these nodes can take jobs; InfrastructureError that names the one which cannot."""
    deadline = time.monotonic() + NODES_TIMEOUT_S + TIMEOUT_PER_NODE_S * len(nodes)
    waiting = set(nodes)
    while True:
        states = node_states(state)
        waiting = {node for node in waiting if states.get(node) not in ("idle", "mixed")}
        if not waiting:
            return
        for node in sorted(waiting):
            if not state.processes[node].alive():
                raise _node_failure(state, node, "ended at once")
        if time.monotonic() > deadline:
            node = min(waiting)
            raise _node_failure(state, node, f"is {states.get(node, 'unknown')}, not idle")
        time.sleep(0.05)


def _node_failure(state: State, node: str, what: str) -> InfrastructureError:
    return failure(f"node {node} {what}", folders(state.spec.name).console(node))


def wait_until_registered(state: State, node: str) -> None:
    """Wait until a node that was down takes jobs again, resuming it as soon as it answers."""
    deadline = time.monotonic() + NODES_TIMEOUT_S
    while node_states(state).get(node) not in ("idle", "mixed"):
        if time.monotonic() > deadline:
            raise _node_failure(state, node, "does not come back")
        if not state.processes[node].alive():
            raise _node_failure(state, node, "ended at once")
        time.sleep(0.1)
