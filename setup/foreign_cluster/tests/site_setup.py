# SPDX-License-Identifier: Apache-2.0
"""A virtual cluster that looks like a certain site: several users, links, devices, daemons.

Its hosts see all of the cluster's folder as /cluster.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from stat import S_IFCHR

import virtual_cluster
from records.errors import AssayError
from virtual_cluster import Cluster, ClusterSpec, daemons, host, namespaces
from virtual_cluster.api import Additions, Progress, silent, user_environment
from virtual_cluster.spec import NODE_PATTERN
from virtual_cluster.state import State, folders

USER_PATTERN = re.compile(r"[a-z][a-z0-9]{0,11}")
#: Id of the first user; the machine knows none of them.
_FIRST_USER = 61000
#: What a site mounts first, in the root of its hosts.
_MOUNTS = """\
mkdir home
mount --bind "$root/home" home
mount --bind "$root" cluster
mount --bind "$root/etc" etc/slurm
"""


@dataclass(frozen=True)
class LoginDaemon:
    """A further daemon of the login host, with commands to run before it starts and once it serves.

    `ready` is a command that succeeds when the daemon serves.
    """

    name: str
    argv: tuple[str, ...]
    ready: tuple[str, ...]
    before: tuple[tuple[str, ...], ...] = ()
    after: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class SiteSetup(Additions):
    """Files, links, devices, daemons and commands that make a cluster look like a certain site.

    Paths of `files`, `links` and `devices` are below the cluster's folder. In texts of files and in
    commands `{secret}` is a password of this cluster; a file with it is readable to root alone.
    """

    #: Cores of each node by its name, which is letters and digits.
    cores: dict[str, int]
    users: tuple[str, ...]
    #: Text of each file; etc/slurm.conf among them.
    files: dict[str, str]
    #: Host name of the login host.
    login: str = "login"
    network: str = "unlimited"
    #: Target of each symbolic link.
    links: dict[str, str] = field(default_factory=dict)
    #: Device number of each character device; 0 is a file that overlayfs hides.
    devices: dict[str, int] = field(default_factory=dict)
    #: Shell script that mounts further what hosts see, run in the folder that will be their root;
    #: $root is the cluster's folder.
    mounts: str = ""
    #: Daemons of the login host that slurmctld needs.
    daemons: tuple[LoginDaemon, ...] = ()
    #: Commands of root on the login host once all nodes take jobs.
    commands: tuple[tuple[str, ...], ...] = ()
    #: Further programs that this machine must have, each with its Debian package.
    programs: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for pattern, names in ((NODE_PATTERN, self.cores), (USER_PATTERN, self.users)):
            if wrong := [name for name in names if not pattern.fullmatch(name)]:
                raise AssayError(f"{wrong[0]!r}: allowed are names such as {pattern.pattern}")

    def prepare(self, state: State) -> None:
        """Make homes, files, links and devices."""
        root = folders(state.spec.name).root
        root.chmod(0o755)
        paths = [*self.files, *self.links, *self.devices]
        for name in ("node", *(str(Path(name).parent) for name in paths)):
            (root / name).mkdir(parents=True, exist_ok=True)
        self._make_homes(root)
        secret = _secret(state)
        secret.touch(mode=0o600)
        secret.write_text(secrets.token_hex(16))
        for name, text in {"mounts": _MOUNTS + self.mounts, **self.files}.items():
            (root / name).touch()
            (root / name).chmod(0o600 if "{secret}" in text else 0o644)
            (root / name).write_text(text.replace("{secret}", secret.read_text()))
        for name, target in self.links.items():
            (root / name).symlink_to(target)
        for name, number in self.devices.items():
            os.mknod(root / name, (0o666 if number else 0o600) | S_IFCHR, number)

    def start_daemons(self, state: State) -> None:
        """Start the further daemons of the login host, with the commands that belong to each."""
        for daemon in self.daemons:
            run_commands(state, daemon.before)
            ready = partial(_succeeds, [*namespaces.enter(state, "login"), *daemon.ready])
            daemons.start_daemon(state, daemon.name, [], daemon.argv, ready)
            run_commands(state, daemon.after)

    def _make_homes(self, root: Path) -> None:
        """Make the users' homes, and let hosts know the users."""
        for uid, user in enumerate(self.users, _FIRST_USER):
            home = root / "home" / user
            home.mkdir(mode=0o700)
            os.chown(home, uid, uid)
            with (root / "etc/passwd").open("a") as passwd, (root / "etc/group").open("a") as group:
                passwd.write(f"{user}:x:{uid}:{uid}:{user}:/home/{user}:/bin/bash\n")
                group.write(f"{user}:x:{uid}:\n")


def up(name: str, setup: SiteSetup, progress: Progress = silent) -> Cluster:
    """Bring up a cluster that looks like a site."""
    host.require_programs(setup.programs)
    spec = ClusterSpec(
        name,
        len(setup.cores),
        network=setup.network,
        cores=setup.cores,
        login_host=setup.login,
        of_root=True,
    )
    cluster = virtual_cluster.up(spec, progress, setup)
    for command in setup.commands:
        host.run(cluster.admin_command(command))
    return cluster


def users(name: str) -> dict[str, Path]:
    """Home of each user of a cluster, as this machine sees it; hosts have it below /home."""
    return {home.name: home for home in sorted(folders(name).home.iterdir())}


def login_command(cluster: Cluster, user: str, argv: Sequence[str]) -> list[str]:
    """Command list that root runs as a user, in a login shell of the login host.

    It is killed when the thread that started it ends. What the terminal interrupts is the command.
    """
    homes = users(cluster.name)
    if user not in homes:
        raise AssayError(f"cluster {cluster.name} has no user {user!r}: {list(homes)}")
    uid = homes[user].stat().st_uid
    environment = user_environment(user, f"/home/{user}", "/usr/local/bin:/usr/bin:/bin")
    ends = "--pdeathsig=KILL"
    rights = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--init-groups", "--inh-caps=-all"]
    given = ["env", "-i", "--default-signal=INT", *(f"{k}={v}" for k, v in environment.items())]
    shell = ["bash", "-l", "-c", 'cd && exec "$@"', "bash", *argv]
    entered = cluster.admin_command([*rights, ends, "--", *given, *shell])
    return ["env", "--ignore-signal=INT", "setpriv", ends, "--", *entered]


def run_commands(state: State, commands: Iterable[Sequence[str]]) -> None:
    """Run commands of root on the login host, each to its end."""
    secret = _secret(state).read_text()
    for command in commands:
        enter = namespaces.enter(state, "login")
        host.run([*enter, *(word.replace("{secret}", secret) for word in command)])


def _secret(state: State) -> Path:
    return folders(state.spec.name).munge / "password"


def _succeeds(argv: Sequence[str]) -> bool:
    return host.run(argv, check=False).returncode == 0
