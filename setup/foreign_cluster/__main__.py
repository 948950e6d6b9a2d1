# SPDX-License-Identifier: Apache-2.0
"""`setup/foreign-cluster COMMAND NAME …`: a site for tests, described in NAME.yaml."""

from __future__ import annotations

import argparse
import subprocess
import sys

import virtual_cluster
from records.errors import AssayError
from setup.foreign_cluster import description
from virtual_cluster import host
from virtual_cluster.terminal import run_apart

_COMMANDS = {
    "up": "bring it up",
    "down": "take it down; nothing of it is left",
    "admin": "COMMAND …: as the site's administrator",
    "login": "USER [COMMAND …]: a login shell, or a command in one",
    "maintenance": "BEGIN MINUTES RESERVATION: reserve all nodes",
}


def _run(command: str, name: str, words: list[str]) -> int:
    if command == "up":
        virtual_cluster.up(description.cluster(name), print)
        return 0
    if command == "down":
        virtual_cluster.down(name, print)
        return 0
    cluster = virtual_cluster.load(name)
    if command == "login":
        user, *words = words or [""]
        return run_apart(cluster.login_command(user, words or ["bash", "-l"]))
    if command == "maintenance":
        words = list(description.maintenance(*words))
    return subprocess.run(cluster.admin_command(words), check=False).returncode


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
        host.require_rights(arguments.command)
        words = arguments.words[arguments.words[:1] == ["--"] :]
        return _run(arguments.command, arguments.name, words)
    except AssayError as error:
        print(f"foreign-cluster: {error}", file=sys.stderr)
        return error.status


sys.exit(main())
