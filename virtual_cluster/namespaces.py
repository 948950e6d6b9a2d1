# SPDX-License-Identifier: Apache-2.0
"""The namespaces of a cluster, and the words that make and enter them.

A, the holder's user namespace, has the caller as uid 0 and owns networks, mounts and processes: all
that is administered is done there. B, below it, has the same caller as uid 1000, `assay`, without
any right on A: daemons, sessions and jobs run there. The holder is process 1 of A: with it ends all
that lives in the cluster.

Hosts have a root of their own, whose tree the holder keeps: what is bound there appears in all of
them (shown.py). A cluster `of_root` has neither A nor B, and all of it but its users' is root's.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from virtual_cluster.state import State, folders

_HERE = Path(__file__).resolve().parent
#: Shell functions that bind folders.
FUNCTIONS = _HERE / "binding.sh"
#: A PID namespace that ends with the process which made it.
_PIDS = ("--pid", "--fork", "--kill-child")
_UNSHARE = ("unshare", "--mount", "--propagation=slave")
#: Folders in which a host has a file system of its own.
OWN = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108
_ALL = ("--mount", "--net", "--uts", "--ipc", "--pid")


def holder(state: State) -> list[str]:
    """Command list of the holder, for processes.start."""
    where = folders(state.spec.name)
    user = [] if state.spec.of_root else ["--user", "--map-root-user"]
    spaces = [*user, "--mount", "--propagation=private", "--net", "--uts", "--ipc", *_PIDS]
    words = [where.view, where.root, state.spec.login_host]
    return ["unshare", *spaces, "sh", str(_HERE / "holder.sh"), *map(str, words)]


def enter(state: State, name: str) -> list[str]:
    """The words before a command of the administrator in the namespaces of "holder", "login" or a
    node."""
    user = [] if state.spec.of_root else ["--user", "--preserve-credentials"]
    return ["nsenter", f"--target={state.processes[name].pid}", *user, *_ALL, "--"]


def to_user(state: State) -> list[str]:
    """The words that follow where the cluster's user runs the command, without any right on A."""
    words = ["nsenter", "--user=/run/user", "--preserve-credentials", "--"]
    return [] if state.spec.of_root else words


def daemon(state: State, own: Sequence[str], argv: Sequence[str]) -> list[str]:
    """Command list, for processes.start behind `enter` of the holder, of a daemon of the login host
    which alone may write to these folders of the cluster. Users of the login host do not see it."""
    where = folders(state.spec.name).root
    writable = [word for name in own for word in (str(where / name), f"/cluster/{name}")]
    dressed = _dressed(state, state.spec.login_host, [], writable)
    return [*_UNSHARE, *dressed, *to_user(state), *argv]


def administrator(argv: Sequence[str]) -> list[str]:
    """Command list, for processes.start behind `enter` of the holder, of a program of this machine
    which sees all processes of the cluster."""
    seen = '. "$0"; mount -t proc proc /proc; ready; exec "$@"'
    return ["unshare", "--mount", "sh", "-c", seen, str(_HERE / "gate.sh"), *argv]


def login(state: State) -> list[str]:
    """Command list, for processes.start behind `enter` of the holder, of the login host. It shares
    the network of the holder."""
    dressed = _dressed(state, state.spec.login_host, OWN, [])
    return [*_UNSHARE, *_PIDS, *dressed, "sh", "-c", "sleep infinity & wait $!"]


def node(state: State, name: str, argv: Sequence[str]) -> list[str]:
    """Command list, for processes.start behind `enter` of the holder, of process 1 of a node, which
    has its network, its cores and file systems in memory, and runs `argv`."""
    spec = state.spec
    own = OWN if spec.isolated else OWN[:2]
    spaces = [*_UNSHARE, "--uts", *(["--ipc", *_PIDS] if spec.isolated else [])]
    spaces += ["taskset", "-c", ",".join(map(str, state.cores[name]))]
    writable = [str(folders(spec.name).root / "nodes" / name), "/cluster/node"]
    network = ["nsenter", f"--net={folders(spec.name).networks / name}", "--"]
    return [*network, *spaces, *_dressed(state, name, own, writable), *argv]


def _dressed(state: State, name: str, own: Sequence[str], writable: Sequence[str]) -> list[str]:
    """The words before a command that give it the view of a host."""
    where = folders(state.spec.name)
    bound = [(place, path) for path, (place, _) in state.shown.items() if place]
    shown = [word for pair in bound for word in pair]
    words = [name, str(where.view), " ".join(own), *writable, "--", *shown, "--"]
    return ["sh", str(_HERE / "host.sh"), *words]
