# SPDX-License-Identifier: Apache-2.0
"""The daemons of a cluster: munged and slurmctld on the login host, slurmd in each node."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence

from records.waiting import DAEMON_S, scaled
from virtual_cluster import namespaces, slurm
from virtual_cluster.host import tries
from virtual_cluster.processes import failure, start
from virtual_cluster.state import State, folders

#: Process 1 of a node: starts slurmd, again when a job has ended it; where it fails the node ends.
#: So it does with what keeps cores awake, where that is a program (slurm_conf.py).
#: Slurm would wait for jobs of which nothing is left, so it learns that the node was down. What was
#: killed together ends one by one.
_NODE = """\
node=$1; shift
while :; do
    [ ! -x /cluster/bin/spin ] || pgrep -x assay-spinner >/dev/null ||
        setsid "$@" /cluster/bin/spin &
    "$@" slurmd -D -N "$node" &
    status=0
    wait $! || status=$?
    [ "$status" = 0 ] || [ "$status" -gt 128 ] || exit "$status"
    for look in 1 2 3 4 5 6 7 8 9 10; do
        pgrep slurmstepd >/dev/null || break
        sleep 0.1
    done
    pgrep slurmstepd >/dev/null ||
        "$@" scontrol update "NodeName=$node" State=DOWN Reason="all of its processes were ended"
done
"""


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
        return "is UP" in slurm.ask(state, "scontrol", "ping", check=False)

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
