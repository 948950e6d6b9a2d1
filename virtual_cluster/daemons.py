# SPDX-License-Identifier: Apache-2.0
"""The daemons of a cluster: munged and slurmctld in the login namespace, slurmd in each node."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from pathlib import Path

from records.errors import InfrastructureError
from records.waiting import DAEMON_S, scaled
from virtual_cluster import node_view
from virtual_cluster.host import tries
from virtual_cluster.network import namespace_file
from virtual_cluster.processes import start
from virtual_cluster.state import State, folders

#: Process 1 of a node. It stays, because it must reap the orphans of jobs.
_NODE = """\
set -e
node=$1; hosts=$2; conf=$3; own_shm=$4; dress=$5; aside=$6; shift 6
hostname "$node"
mount --bind "$hosts" /etc/hosts
mount -t tmpfs -o mode=0700,size=1m,nosuid,nodev tmpfs "$aside"
mkdir "$aside/tmp"
mount --rbind /tmp "$aside/tmp"
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
_LOGIN = 'hostname "$2" && export SLURM_CONF="$1" && exec slurmctld -D'
#: Where a site's hosts have Slurm's files (site_setup.py).
_SITE_CONF = Path("/etc/slurm/slurm.conf")
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
    argv = [*state.enter_login(), *argv, "--num-threads=4"]
    start_daemon(state, "munged", argv, (where.munge / "socket").is_socket)


def start_controller(state: State, answers: Callable[[], bool]) -> None:
    """Start slurmctld; returns when `answers` says so."""
    conf = str(folders(state.spec.name).slurm_conf)
    argv = [*state.enter_login(), "unshare", "--uts", "sh", "-c", _LOGIN, "sh"]
    argv += [conf, state.spec.login_host]
    start_daemon(state, "slurmctld", argv, answers)


def start_daemon(state: State, name: str, argv: Sequence[str], ready: Callable[[], bool]) -> None:
    """Start a daemon of the login environment, of this very command list; returns when `ready`."""
    log = folders(state.spec.name).console(name)
    process = start(argv, log, lambda process: state.record(name, process))
    seconds = scaled(DAEMON_S)
    for _ in tries(seconds, POLL_S):
        if ready():
            return
        if not process.alive():
            raise failure(f"{name} ended at once", log)
    raise failure(f"{name} does not answer after {seconds:.0f} s", log)


def start_node(state: State, node: str) -> None:
    """Start a node: its namespaces, its own /tmp and /dev/shm, its cores, slurmd inside."""
    where, spec = folders(state.spec.name), state.spec
    spaces = ["--uts", "--mount", "--propagation", "private"]
    if spec.isolated:
        spaces += ["--ipc", "--pid", "--fork", "--mount-proc", "--kill-child"]
    argv = ["nsenter", f"--net={namespace_file(spec.name, node)}", "unshare", *spaces]
    argv += ["taskset", "-c", ",".join(map(str, state.cores[node])), "sh", "-c"]
    argv += [node_view.FUNCTION + _NODE, "sh", node, str(where.hosts)]
    argv += [str(_SITE_CONF if spec.site else where.slurm_conf), "yes" if spec.isolated else "no"]
    argv += [str(where.mounts) if spec.site else "", str(where.aside(node))]
    argv += node_view.shown_words(state)
    start(argv, where.console(node), lambda process: state.record(node, process))


def failure(what: str, log: Path, lines: int = 8) -> InfrastructureError:
    """Error that says what failed and how its log ends (the log may be removed afterwards)."""
    try:
        tail = log.read_text(errors="replace").splitlines()[-lines:]
    except OSError:
        tail = []
    said = "\n  ".join(tail) or "(nothing)"
    return InfrastructureError(f"{what}; the end of {log.name}:\n  {said}")
