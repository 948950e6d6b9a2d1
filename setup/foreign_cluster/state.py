# SPDX-License-Identifier: Apache-2.0
"""What is kept of a foreign cluster, and how commands enter it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from records.errors import AssayError
from setup.foreign_cluster.spec import ForeignSpec
from virtual_cluster import host
from virtual_cluster.account import as_user
from virtual_cluster.processes import Process

ROOT = Path("/var/lib/assay-foreign")
USER_PATH = "/usr/local/bin:/usr/bin:/bin"


@dataclass
class State:
    """One cluster: its specification, addresses, cores of nodes, users, processes by name."""

    spec: ForeignSpec
    boot_id: str
    made_netns: bool
    addresses: dict[str, str]
    cores: dict[str, list[int]]
    namespaces: list[str] = field(default_factory=list)
    users: dict[str, tuple[int, int]] = field(default_factory=dict)
    processes: dict[str, Process] = field(default_factory=dict)

    @property
    def root(self) -> Path:
        """The folder of this cluster."""
        return ROOT / self.spec.name

    def save(self) -> None:
        """Write the state file."""
        fresh = self.root / "state.new"
        fresh.write_text(json.dumps(asdict(self), indent=1))
        fresh.replace(self.root / "state.json")

    def record(self, name: str, process: Process) -> None:
        """Remember a process."""
        self.processes[name] = process
        self.save()

    def inside(self, argv: Sequence[str]) -> list[str]:
        """Command list that root runs on the login host."""
        target = self.processes["login"].pid
        return ["nsenter", f"--target={target}", "--net", "--uts", "--mount", "--", *argv]

    def admin(self, *argv: str, check: bool = True) -> str:
        """What a command of the site's administrators prints."""
        return host.run(self.inside(argv), check=check).stdout

    def as_user(self, user: str, argv: Sequence[str]) -> list[str]:
        """Command list that root runs as `user`, in a login shell of the login host."""
        if user not in self.users:
            raise AssayError(f"cluster {self.spec.name} has no user {user!r}: {list(self.users)}")
        uid, gid = self.users[user]
        name, home = self.spec.account_of(user), self.home(user)
        environment = {"HOME": str(home), "USER": name, "LOGNAME": name, "SHELL": "/bin/bash"}
        environment |= {"PATH": USER_PATH, "LANG": "C.UTF-8"}
        shell = ["bash", "-l", "-c", 'cd && exec "$@"', "bash", *argv]
        return self.inside(as_user(shell, uid, gid, environment))

    def home(self, user: str) -> Path:
        """The home of a user, which all nodes see."""
        return self.root / "home" / user


def load_state(name: str) -> State:
    """The cluster of this name. Raises AssayError where there is none."""
    try:
        fields = json.loads((ROOT / name / "state.json").read_text())
    except OSError as error:
        raise AssayError(f"there is no foreign cluster {name}; run: foreign-cluster up") from error
    fields["spec"] = ForeignSpec(**fields["spec"])
    fields["processes"] = {key: Process(**ids) for key, ids in fields["processes"].items()}
    return State(**fields)
