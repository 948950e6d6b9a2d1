# SPDX-License-Identifier: Apache-2.0
"""What is kept of a cluster: its folders, its state file and the locks on it."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from math import inf
from pathlib import Path

import msgspec

from records import waiting
from records.errors import AssayError
from virtual_cluster import network
from virtual_cluster.host import tries
from virtual_cluster.processes import Process
from virtual_cluster.spec import ClusterSpec

STATE_ROOT = Path("/var/lib/assay")
LOCK_POLL_S = 0.02
_MACHINE_LOCK = ".lock"
#: Says that /run/netns did not exist before the first cluster; the last one removes it.
_FOLDER_MARK = ".made-netns-folder"


class Folders:
    """Where the files of one cluster lie, below `root`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        #: The configuration file of Slurm.
        self.slurm_conf = root / "etc" / "slurm.conf"
        #: The file the nodes see as /etc/hosts.
        self.hosts = root / "etc" / "hosts"
        #: Where the ordinary user stages jobs; belongs to that user.
        self.work = root / "work"
        #: Where root makes folders for jobs; belongs to root, so that nobody can replace them.
        self.runs = root / "runs"
        #: Programs that come first in the ordinary user's PATH, and scripts of the nodes.
        self.programs = root / "bin"
        #: The script that mounts what a site's hosts have of their own.
        self.mounts = root / "bin" / "mounts"
        #: Home of the ordinary user.
        self.home = root / "home"
        #: Empty; where sources are bound while they are shown to a command (view.py).
        self.view = root / "view"
        #: Key and socket of munge, and a password for what a site has; `{secret}` in its files.
        self.munge = root / "munge"
        self.secret = self.munge / "secret"

    def console(self, name: str) -> Path:
        """The output of a daemon or node as it starts; its own log is next to it."""
        return self.root / "log" / f"{name}.console"

    def aside(self, node: str) -> Path:
        """Where a node binds what is covered in it; only root comes there (node_view.py)."""
        return self.root / "nodes" / node / "aside"

    def make(self, nodes: list[str]) -> None:
        """Make all of them, readable to everybody."""
        names = ["bin", "etc", "log", "spool", "nodes", "runs", "work", "home", "munge"]
        for node in nodes:
            names += [f"nodes/{node}", f"nodes/{node}/spool"]
        for folder in (self.root / name for name in names):
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(0o755)
        for node in nodes:
            self.aside(node).mkdir(mode=0o700, exist_ok=True)


def folders(cluster: str) -> Folders:
    """Folders of the cluster of this name, whether it exists or not."""
    return Folders(STATE_ROOT / cluster)


@dataclass
class State:
    """One cluster: its specification, what follows from it, and its processes by name.

    `phase` is "starting" until everything answers, then "up"; "stopping" while it is taken down.
    """

    spec: ClusterSpec
    phase: str
    boot_id: str
    #: Drawn when it is brought up: tells it from others of its name.
    identity: str = field(default_factory=lambda: secrets.token_hex(16))
    uid: int = 0
    gid: int = 0
    #: Ids of each user of a site, or of the one user, "".
    users: dict[str, tuple[int, int]] = field(default_factory=dict)
    addresses: dict[str, str] = field(default_factory=dict)
    cores: dict[str, list[int]] = field(default_factory=dict)
    memory_bytes_per_node: int = 0
    processes: dict[str, Process] = field(default_factory=dict)
    #: Folders that the nodes show, with what covers each and its identity (node_view.py).
    shown: dict[str, list[str]] = field(default_factory=dict)

    def save(self) -> None:
        """Write the state file whole; it is on disk when this returns."""
        path = folders(self.spec.name).root / "cluster.json"
        fresh = path.with_suffix(".new")
        with fresh.open("w") as file:
            json.dump({"schema": 1, **asdict(self)}, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)

    def record(self, name: str, process: Process) -> None:
        """Remember a process, on disk."""
        self.processes[name] = process
        self.save()

    def enter_login(self) -> list[str]:
        """The words before a command that root runs in the login environment."""
        if login := self.processes.get("login"):
            return ["nsenter", f"--target={login.pid}", "--net", "--uts", "--mount", "--"]
        return [*network.enter_login(self.spec.name), "--"]


def load_state(cluster: str) -> State | None:
    """State of the cluster of this name; None when there is none or it cannot be read."""
    try:
        text = (folders(cluster).root / "cluster.json").read_bytes()
        return msgspec.json.decode(text, type=State)
    except (OSError, msgspec.MsgspecError, AssayError):
        return None


@contextmanager
def cluster_lock(cluster: str) -> Iterator[None]:
    """Hold the cluster of this name; AssayError if another command holds it."""
    handle = _lock(STATE_ROOT / f"{cluster}.lock", waiting.scaled(waiting.CLUSTER_LOCK_S))
    if handle is None:
        raise AssayError(
            f"cluster {cluster}: another `assay cluster` command is working on it; "
            "wait until that has ended and try again"
        )
    try:
        yield
    finally:
        if not folders(cluster).root.exists():
            (STATE_ROOT / f"{cluster}.lock").unlink(missing_ok=True)
        os.close(handle)


@contextmanager
def locked_state(cluster: str) -> Iterator[State]:
    """Hold the cluster of this name, and give its state as the holders before left it.

    AssayError if another command holds it, or if it was taken down meanwhile.
    """
    with cluster_lock(cluster):
        state = load_state(cluster)
        if state is None:
            raise AssayError(f"there is no cluster {cluster}; it was taken down meanwhile")
        yield state


@contextmanager
def machine_lock() -> Iterator[None]:
    """Hold what all clusters of this machine share; waits for the lock."""
    handle = _lock(STATE_ROOT / _MACHINE_LOCK, inf)
    assert handle is not None
    try:
        yield
    finally:
        os.close(handle)


def _lock(path: Path, patience_s: float) -> int | None:
    """Descriptor of the locked file, or None if another process still holds it after `patience_s`.

    Commands run by `host.run` inherit it: if this process is killed, the lock stays until the
    last command it had started has ended too, so nobody cleans up while something still appears.
    """
    for _ in tries(patience_s, LOCK_POLL_S):
        with suppress(FileExistsError):
            path.parent.mkdir(mode=0o755)
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except FileNotFoundError:  # the folder was removed by who held the lock
            continue
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(handle), path.stat()):  # else the file was removed
                os.set_inheritable(handle, True)
                return handle
        except (BlockingIOError, FileNotFoundError):
            pass
        os.close(handle)
    return None


def note_namespace_folder() -> None:
    """Note if the machine has no folder for network namespaces yet; under the machine lock."""
    if not network.NAMESPACES.exists():
        (STATE_ROOT / _FOLDER_MARK).touch()


def leave_machine() -> None:
    """Remove what all clusters share where neither one nor a command on one is left; under the
    machine lock."""
    if {entry.name for entry in STATE_ROOT.iterdir()} - {_MACHINE_LOCK, _FOLDER_MARK}:
        return
    if (STATE_ROOT / _FOLDER_MARK).exists():
        network.drop_namespace_folder()
        (STATE_ROOT / _FOLDER_MARK).unlink()
    (STATE_ROOT / _MACHINE_LOCK).unlink(missing_ok=True)
    with suppress(OSError):
        STATE_ROOT.rmdir()
