# SPDX-License-Identifier: Apache-2.0
"""The daemons of a cluster: munged and slurmctld on the login host, slurmd in each node; queries
and orders to its Slurm, whose user may give them."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path

from records.waiting import DAEMON_S, NODE_S, NODES_S, scaled
from virtual_cluster import namespaces
from virtual_cluster.host import failure, run, start, tries
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


#: Process 1 of a node.
_NODE = re.sub("^#.*\n", "", Path(__file__).with_name("node.sh").read_text(), flags=re.MULTILINE)


def start_munge(state: State) -> None:
    """Start munged, the first time with a fresh key; returns when its socket is there."""
    where = folders(state.spec.name)
    key, inside = where.munge / "key", "/cluster/munge"
    if not key.exists():
        key.touch(mode=0o600)
        key.write_bytes(secrets.token_bytes(128))
    (where.munge / "socket").unlink(missing_ok=True)
    argv = ["munged", "--foreground", f"--key-file={inside}/key", f"--socket={inside}/socket"]
    argv += [f"--pid-file={inside}/pid", f"--seed-file={inside}/seed", "--num-threads=4"]
    start_daemon(state, "munged", ["munge", "log"], argv, (where.munge / "socket").is_socket)


def start_controller(state: State) -> None:
    """Start slurmctld; returns when it answers a ping."""

    def answers() -> bool:
        return "is UP" in ask(state, "scontrol", "ping", check=False)

    start_daemon(state, "slurmctld", ["spool", "log"], ["slurmctld", "-D"], answers)


def start_daemon(
    state: State,
    name: str,
    own: Sequence[str],
    argv: Sequence[str],
    ready: Callable[[], bool],
) -> None:
    """Start a daemon of the login host, of this very command list, which writes to folders `own` of
    the cluster; returns when `ready`."""
    log = folders(state.spec.name).console(name)
    start_beside(state, name, namespaces.daemon(state, own, argv))
    seconds = scaled(DAEMON_S)
    for _ in tries(seconds, 0.02):
        if ready():
            return
        if not state.runs(name):
            raise failure(f"{name} ended at once", log)
    raise failure(f"{name} does not answer after {seconds:.0f} s", log)


def start_node(state: State, node: str) -> None:
    """Start a node: its namespaces, its own /tmp and /dev/shm, its cores, slurmd inside."""
    first = ["sh", "-c", _NODE, "sh", node, *namespaces.to_user(state)]
    start_beside(state, node, namespaces.node(state, node, first))


def start_beside(state: State, name: str, words: Sequence[str]) -> None:
    """Start a process of the administrator, or process 1 of a host, that ends with the cluster."""
    log = folders(state.spec.name).console(name)
    enter = namespaces.enter(state, "holder")
    start(enter, words, log, lambda one: state.record(name, one))
