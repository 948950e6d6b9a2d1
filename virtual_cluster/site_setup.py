# SPDX-License-Identifier: Apache-2.0
"""Makes a cluster look like a certain site: its links and devices, login host, further daemons."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from stat import S_IFCHR

from virtual_cluster import daemons, namespaces
from virtual_cluster.host import run
from virtual_cluster.spec import ClusterSpec, SiteSetup
from virtual_cluster.state import Folders, State, folders

#: Id of a site's first user; the machine needs to know none of them.
_FIRST_USER = 61000


def uid_of(spec: ClusterSpec, user: str) -> int:
    """User and group id of a site's user."""
    return _FIRST_USER + list(spec.accounts()).index(user)


def make_homes(spec: ClusterSpec, where: Folders) -> None:
    """Make the users' homes, and the files by which hosts know the users besides the machine's."""
    passwd, group = (Path("/etc", name).read_text() for name in ("passwd", "group"))
    for user, name in spec.accounts().items():
        home, uid = where.home / user, uid_of(spec, user)
        home.mkdir(mode=0o700, exist_ok=True)
        os.chown(home, uid, uid)
        passwd += f"{name}:x:{uid}:{uid}:{user}:{home}:/bin/bash\n"
        group += f"{name}:x:{uid}:\n"
    for name, text in (("passwd", passwd), ("group", group)):
        (where.etc / name).write_text(text)


def make_links_and_devices(site: SiteSetup, where: Folders) -> None:
    """Make the site's symbolic links and character devices below the cluster's folder."""
    for name in (*site.links, *site.devices):
        (where.root / name).parent.mkdir(parents=True, exist_ok=True)
    for name, target in site.links.items():
        (where.root / name).symlink_to(target)
    for name, number in site.devices.items():
        mode = 0o666 if number else 0o600
        os.mknod(where.root / name, mode | S_IFCHR, number)


def start_daemons(state: State, site: SiteSetup) -> None:
    """Start the further daemons of the login host, with the commands that belong to each."""
    for daemon in site.daemons:
        run_commands(state, daemon.before)
        ready = partial(_succeeds, [*namespaces.enter(state, "login"), *daemon.ready])
        daemons.start_daemon(state, daemon.name, [], daemon.argv, ready)
        run_commands(state, daemon.after)


def run_commands(state: State, commands: Iterable[Sequence[str]]) -> None:
    """Run commands of root on the login host, each to its end."""
    secret = folders(state.spec.name).secret.read_text()
    for command in commands:
        enter = namespaces.enter(state, "login")
        run([*enter, *(word.replace("{secret}", secret) for word in command)])


def _succeeds(argv: Sequence[str]) -> bool:
    return run(argv, check=False).returncode == 0
