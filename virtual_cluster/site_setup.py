# SPDX-License-Identifier: Apache-2.0
"""Makes a cluster look like a certain site: its links and devices, login host, further daemons."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
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

    def has_mounted() -> bool:
        with suppress(OSError):
            return Path(f"/proc/{state.processes['login'].pid}/comm").read_text() == "sleep\n"
        return False

    daemons.start_daemon(state, "login", argv, has_mounted)


def start_daemons(state: State, site: SiteSetup) -> None:
    """Start the further daemons of the login host, with the commands that belong to each."""
    enter = state.enter_login()
    for daemon in site.daemons:
        run_commands(state, daemon.before)
        ready = partial(_succeeds, [*enter, *daemon.ready])
        daemons.start_daemon(state, daemon.name, [*enter, *daemon.argv], ready)
        run_commands(state, daemon.after)


def run_commands(state: State, commands: Iterable[Sequence[str]]) -> None:
    """Run commands of root on the login host, each to its end."""
    secret = folders(state.spec.name).secret.read_text()
    for command in commands:
        run([*state.enter_login(), *(word.replace("{secret}", secret) for word in command)])


def _succeeds(argv: Sequence[str]) -> bool:
    return run(argv, check=False).returncode == 0
