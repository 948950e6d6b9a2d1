# SPDX-License-Identifier: Apache-2.0
"""The daemons of a cluster: munged and slurmctld in the login namespace, slurmd in each node."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from pathlib import Path

from records.errors import InfrastructureError
from virtual_cluster import node_view
from virtual_cluster.host import tries
from virtual_cluster.network import enter_login, node_file
from virtual_cluster.processes import Process, start
from virtual_cluster.state import State, folders

#: Process 1 of a node. It stays, because it must reap the orphans of jobs.
_NODE = """\
set -e
node=$1; hosts=$2; conf=$3; own_shm=$4; dress=$5; aside=$6; shift 6
hostname "$node"
mount --bind "$hosts" /etc/hosts
if [ -n "$aside" ]; then
    mount -t tmpfs -o mode=0700,size=1m,nosuid,nodev tmpfs "$aside"
    mkdir "$aside/tmp"
    mount --rbind /tmp "$aside/tmp"
fi
mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs /tmp
# A /sys of this network: libraries look there for the interfaces. Control groups move over.
mkdir /tmp/cgroup
mount --rbind /sys/fs/cgroup /tmp/cgroup
mount -t sysfs -o nosuid,nodev,noexec sysfs /sys
mount --rbind /tmp/cgroup /sys/fs/cgroup
umount -l /tmp/cgroup
rmdir /tmp/cgroup
[ "$own_shm" = no ] || mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs /dev/shm
[ -z "$dress" ] || sh -e "$dress"
while [ $# -gt 1 ]; do show "$1" "$2" || :; shift 2; done
export SLURM_CONF="$conf"
slurmd -D -N "$node" &
wait $!
"""
_LOGIN = 'hostname login && export SLURM_CONF="$1" && exec slurmctld -D'
START_TIMEOUT_S = 20.0
POLL_S = 0.02


def start_munge(state: State) -> None:
    """Start munged, the first time with a fresh key; returns when its socket is there."""
    where = folders(state.spec.name)
    key = where.munge / "key"
    if not key.exists():
        key.touch(mode=0o600)
        key.write_bytes(secrets.token_bytes(128))
    (where.munge / "socket").unlink(missing_ok=True)
    argv = ["munged", "--foreground", f"--key-file={key}", f"--socket={where.munge / 'socket'}"]
    argv += [f"--pid-file={where.munge / 'pid'}", f"--seed-file={where.munge / 'seed'}"]
    argv += ["--num-threads=4"]
    process = _start_in_login(state, "munged", argv)
    _wait_until((where.munge / "socket").is_socket, process, "munged", where.console("munged"))


def start_controller(state: State, answers: Callable[[], bool]) -> None:
    """Start slurmctld; returns when `answers` says so."""
    conf = str(folders(state.spec.name).slurm_conf)
    argv = ["unshare", "--uts", "sh", "-c", _LOGIN, "sh", conf]
    process = _start_in_login(state, "slurmctld", argv)
    _wait_until(answers, process, "slurmctld", folders(state.spec.name).console("slurmctld"))


def start_node(state: State, node: str) -> None:
    """Start a node: its namespaces, its own /tmp and /dev/shm, its cores, slurmd inside."""
    where = folders(state.spec.name)
    argv = node_command(
        node_file(state.spec.name, node),
        node,
        state.cores[node],
        where.hosts,
        where.slurm_conf,
        isolated=state.spec.isolated,
        aside=where.aside(node),
        shown=node_view.shown_words(state),
    )
    start(argv, where.console(node), lambda process: state.record(node, process))


def node_command(
    namespace: Path,
    node: str,
    cores: Sequence[int],
    hosts: Path,
    conf: Path,
    *,
    isolated: bool = True,
    dress: Path | None = None,
    aside: Path | None = None,
    shown: Sequence[str] = (),
) -> list[str]:
    """Command list that root runs as process 1 of a node; `dress` is a script for its mounts.

    `aside`: where it binds what is covered in it, and `shown`: what it shows (node_view.py).
    """
    spaces = ["--uts", "--mount", "--propagation", "private"]
    if isolated:
        spaces += ["--ipc", "--pid", "--fork", "--mount-proc", "--kill-child"]
    argv = ["nsenter", f"--net={namespace}", "unshare", *spaces]
    argv += ["taskset", "-c", ",".join(map(str, cores)), "sh", "-c"]
    argv += [node_view.FUNCTION + _NODE, "sh", node, str(hosts), str(conf)]
    return [*argv, "yes" if isolated else "no", str(dress or ""), str(aside or ""), *shown]


def _start_in_login(state: State, name: str, argv: list[str]) -> Process:
    command = [*enter_login(state.spec.name), *argv]
    log = folders(state.spec.name).console(name)
    return start(command, log, lambda process: state.record(name, process))


def _wait_until(ready: Callable[[], bool], process: Process, name: str, log: Path) -> None:
    for _ in tries(START_TIMEOUT_S, POLL_S):
        if ready():
            return
        if not process.alive():
            raise failure(f"{name} ended at once", log)
    raise failure(f"{name} does not answer after {START_TIMEOUT_S:.0f} s", log)


def failure(what: str, log: Path, lines: int = 8) -> InfrastructureError:
    """Error that says what failed and how its log ends (the log may be removed afterwards)."""
    try:
        tail = log.read_text(errors="replace").splitlines()[-lines:]
    except OSError:
        tail = []
    said = "\n  ".join(tail) or "(nothing)"
    return InfrastructureError(f"{what}; the end of {log.name}:\n  {said}")
