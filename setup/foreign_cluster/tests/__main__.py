# SPDX-License-Identifier: Apache-2.0
"""`setup/foreign-cluster COMMAND NAME …`: a site for tests, described in NAME.yaml."""

from __future__ import annotations

import argparse
import os
import sys

import virtual_cluster
from records.errors import AssayError
from setup.foreign_cluster.tests import site_setup
from virtual_cluster import Cluster

_COMMANDS = {
    "up": "bring it up",
    "down": "take it down; nothing of it is left",
    "admin": "COMMAND …: as the site's administrator",
    "login": "USER [COMMAND …]: a login shell, or a command in one",
    "maintenance": "BEGIN MINUTES RESERVATION: reserve all nodes",
}


def _entered(cluster: Cluster, command: str, words: list[str]) -> list[str]:
    """The command that runs within the cluster."""
    if command == "login":
        user, *words = words or [""]
        return site_setup.login_command(cluster, user, words or ["bash", "-l"])
    if command == "maintenance":
        words = list(site_setup.maintenance(*words))
    return cluster.admin_command(words)


def main() -> int:
    """Run one command; gives the exit status."""
    parser = argparse.ArgumentParser(
        prog="foreign-cluster",
        description=__doc__,
        epilog=" · ".join(f"{name}: {text}" for name, text in _COMMANDS.items()),
    )
    parser.add_argument("command", choices=_COMMANDS)
    parser.add_argument("name")
    parser.add_argument("words", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    try:
        if arguments.command == "up":
            site_setup.up(arguments.name, site_setup.described(arguments.name), print)
        elif arguments.command == "down":
            virtual_cluster.down(arguments.name, print)
        else:
            words = arguments.words[arguments.words[:1] == ["--"] :]
            words = _entered(virtual_cluster.load(arguments.name), arguments.command, words)
            os.execvp(words[0], words)  # noqa: S606
    except AssayError as error:
        print(f"foreign-cluster: {error}", file=sys.stderr)
        return error.status
    return 0


sys.exit(main())
