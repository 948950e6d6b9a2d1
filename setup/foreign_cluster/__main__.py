# SPDX-License-Identifier: Apache-2.0
"""`setup/foreign-cluster COMMAND NAME …`: a site for tests, described in NAME.yaml."""

from __future__ import annotations

import argparse
import os
import sys

import virtual_cluster
from records.errors import AssayError
from setup.foreign_cluster import description, site_setup

_COMMANDS = {
    "up": "bring it up",
    "down": "take it down; nothing of it is left",
    "admin": "COMMAND …: as the site's administrator",
    "login": "USER [COMMAND …]: a login shell, or a command in one",
    "maintenance": "BEGIN MINUTES RESERVATION: reserve all nodes",
}


def _run(command: str, name: str, words: list[str]) -> int:
    if command == "up":
        site_setup.up(name, description.site(name), print)
        return 0
    if command == "down":
        virtual_cluster.down(name, print)
        return 0
    cluster = virtual_cluster.load(name)
    if command == "login":
        user, *words = words or [""]
        entered = site_setup.login_command(cluster, user, words or ["bash", "-l"])
    else:
        words = list(description.maintenance(*words)) if command == "maintenance" else words
        entered = cluster.admin_command(words)
    os.execvp(entered[0], entered)  # noqa: S606


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
        words = arguments.words[arguments.words[:1] == ["--"] :]
        return _run(arguments.command, arguments.name, words)
    except AssayError as error:
        print(f"foreign-cluster: {error}", file=sys.stderr)
        return error.status


sys.exit(main())
