# SPDX-License-Identifier: Apache-2.0
"""Makes a cluster look like a certain site: its links and devices, login host, further daemons."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from stat import S_IFCHR

from virtual_cluster import daemons, network
from virtual_cluster.host import run
from virtual_cluster.spec import SiteSetup
from virtual_cluster.state import Folders, State, folders

#: Process that holds the namespaces of the login host.
_LOGIN = """\
set -e
hostname "$1"
mount --bind "$2" /etc/hosts
mount -t sysfs -o nosuid,nodev,noexec sysfs /sys
sh -e "$3"
exec sleep infinity
"""


def make_links_and_devices(site: SiteSetup, where: Folders) -> None:
    """Make the site's symbolic links and character devices below the cluster's folder."""
    for name in (*site.links, *site.devices):
        (where.root / name).parent.mkdir(parents=True, exist_ok=True)
    for name, target in site.links.items():
        (where.root / name).symlink_to(target)
    for name, number in site.devices.items():
        mode = 0o666 if number else 0o600
        os.mknod(where.root / name, mode | S_IFCHR, number)


def start_login(state: State, site: SiteSetup) -> None:
    """Start the process that holds the namespaces of the login host."""
    where = folders(state.spec.name)
    spaces = ["unshare", "--uts", "--mount", "--propagation", "private"]
    argv = [*network.enter_login(state.spec.name), *spaces, "sh", "-c", _LOGIN, "sh"]
    argv += [site.login, str(where.hosts), str(where.mounts)]
    daemons.start_daemon(state, "login", argv, lambda: _name_of(state, "login") == "sleep")


def start_daemons(state: State, site: SiteSetup) -> None:
    """Start the further daemons of the login host, with the commands that belong to each."""
    for daemon in site.daemons:
        run_all(state, daemon.before)
        ready = partial(_succeeds, [*state.enter_login(), *daemon.ready])
        daemons.start_daemon(state, daemon.name, [*state.enter_login(), *daemon.argv], ready)
        run_all(state, daemon.after)


def run_all(state: State, commands: tuple[tuple[str, ...], ...]) -> None:
    """Run commands of root on the login host, each to its end."""
    secret = folders(state.spec.name).secret.read_text()
    for command in commands:
        words = [word.replace("{secret}", secret) for word in command]
        run([*state.enter_login(), *words])


def _name_of(state: State, process: str) -> str:
    return Path(f"/proc/{state.processes[process].pid}/comm").read_text().strip()


def _succeeds(argv: list[str]) -> bool:
    return run(argv, check=False).returncode == 0
