# SPDX-License-Identifier: Apache-2.0
"""State that is kept of a cluster: its folders, its state file and the lock on it."""

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

import msgspec

from records import waiting
from records.errors import AssayError
from records.files import write_whole
from virtual_cluster.host import Process, boot_id, tries
from virtual_cluster.images import MACHINE
from virtual_cluster.spec import ClusterSpec


def state_root() -> Path:
    """The folder of all clusters of the caller: below XDG_STATE_HOME, or ~/.local/state."""
    above = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state"
    return Path(above, "assay").resolve()


class Folders:
    """Folders of one cluster, below `root`: jobs are staged in `work`, which hosts see
    at this path; `programs` come first in PATH; `home` is the user's, whom hosts call assay;
    hosts have `view` as root, where the holder has the `networks` of nodes by name; `munge` has its
    key and socket."""

    def __init__(self, root: Path) -> None:
        self.root, self.work, self.programs = root, root / "work", root / "bin"
        self.home, self.view, self.munge = root / "home", root / "view", root / "munge"
        self.networks = self.view / "run/networks"

    def console(self, name: str) -> Path:
        """The output of a daemon or node as it starts; its own log is next to it."""
        return self.root / "log" / f"{name}.console"

    def make(self, nodes: list[str]) -> None:
        """Make all of them; nobody but the caller may enter."""
        self.root.mkdir(parents=True, exist_ok=True)
        self.root.chmod(0o700)
        names = ["bin", "etc", "log", "spool", "nodes", "work", "home", "munge", "view"]
        names += ["aside"]
        names += [f"nodes/{node}" for node in nodes]
        for folder in (self.root / name for name in names):
            folder.mkdir(exist_ok=True)
            folder.chmod(0o755)


def folders(cluster: str) -> Folders:
    """Folders of the cluster of this name, whether it exists or not; AssayError for a name that no
    cluster can have."""
    ClusterSpec(name=cluster)
    return Folders(state_root() / cluster)


@dataclass
class State:
    """State of a cluster: its specification, what follows from it, and its processes by name.

    `phase` is "starting" until everything answers, then "up".
    """

    spec: ClusterSpec
    phase: str
    boot_id: str
    #: Of `spec.image`: what tells it from others, and its folder on this machine.
    image_digest: str = ""
    tree: str = MACHINE
    #: Where the Python packages of its sessions are; None: in this machine's own Python.
    python_packages: str | None = None
    #: Drawn when it is brought up: tells it from others of its name.
    identity: str = field(default_factory=lambda: secrets.token_hex(16))
    addresses: dict[str, str] = field(default_factory=dict)
    cores: dict[str, list[int]] = field(default_factory=dict)
    memory_bytes_per_node: int = 0
    processes: dict[str, Process] = field(default_factory=dict)
    #: By path: where a folder of the machine is bound for all hosts, "" for at that path, and its
    #: identity (namespaces.show).
    shown: dict[str, tuple[str, str]] = field(default_factory=dict)

    def runs(self, name: str) -> bool:
        """Tell whether the process of this name runs."""
        process = self.processes.get(name)
        return self.boot_id == boot_id() and process is not None and process.alive()

    def save(self) -> None:
        """Write the state file whole; it is on disk when this returns."""
        text = msgspec.json.encode({"schema": 1, **asdict(self)})
        write_whole(folders(self.spec.name).root / "cluster.json", msgspec.json.format(text))

    def record(self, name: str, process: Process) -> None:
        """Remember a process, on disk."""
        self.processes[name] = process
        self.save()


def load_state(cluster: str) -> State | None:
    """State of the cluster of this name; None when there is none or it cannot be read."""
    path = folders(cluster).root / "cluster.json"
    try:
        return msgspec.json.decode(path.read_bytes(), type=State)
    except (OSError, msgspec.MsgspecError, AssayError):
        return None


@contextmanager
def cluster_lock(cluster: str) -> Iterator[None]:
    """Hold the cluster of this name; AssayError if another command holds it."""
    root = folders(cluster).root
    path = root.with_name(f"{cluster}.lock")
    handle = _lock(path, waiting.scaled(waiting.CLUSTER_LOCK_S))
    if handle is None:
        raise AssayError(
            f"cluster {cluster}: another `assay cluster` command is working on it; "
            "wait until that has ended and try again"
        )
    try:
        yield
    finally:
        if not root.exists():
            path.unlink(missing_ok=True)
            with suppress(OSError):  # others are there
                path.parent.rmdir()
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


def _lock(path: Path, patience_s: float) -> int | None:
    """Descriptor of the locked file, or None if another process still holds it after `patience_s`.

    Commands run by `host.run` inherit it: if this process is killed, the lock stays until the
    last command it had started has ended too, so nobody cleans up while something still appears.
    """
    for _ in tries(patience_s, 0.02):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except FileNotFoundError:  # the folder was removed by who held the lock
            continue
        with suppress(BlockingIOError, FileNotFoundError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(handle), path.stat()):  # else the file was removed
                os.set_inheritable(handle, True)
                return handle
        os.close(handle)
    return None
