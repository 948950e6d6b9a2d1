# SPDX-License-Identifier: Apache-2.0
"""`setup/foreign-cluster up|down|status|admin|login|maintenance|node`: a site for tests."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import fields

from records.errors import AssayError
from setup.foreign_cluster import lifecycle
from setup.foreign_cluster.spec import ForeignSpec
from setup.foreign_cluster.state import load_state
from virtual_cluster import network, processes
from virtual_cluster.terminal import run_apart

_OPTIONS = {
    "nodes": "nodes of one type, as Slurm writes them: 'c[001-003] CPUs=2 RealMemory=2000'",
    "partitions": "a partition: 'batch MaxTime=60 Nodes=c[001-002]'",
    "users": "an ordinary user",
    "limits": "a limit of each user's association: MaxSubmitJobs=4",
    "qos": "a QOS that users may ask for: 'short MaxWall=10'",
    "modules": "an Lmod module: NAME/VERSION=mpich or NAME/VERSION=openmpi",
    "settings": "a further line of slurm.conf, or another value of a key that it has",
    "switches": "a switch: 's1 Nodes=c[001-002]' or 'top Switches=s[1-2]'",
    "account": "the users' account",
    "network": "speed of the links, as of a virtual cluster",
    "maintenance": "begin of a maintenance reservation of two hours; '' for none",
}
#: Options whose name is not that of the field without its last letter.
_FLAGS = {"nodes": "nodes", "qos": "qos", "switches": "switch"}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="foreign-cluster", description=__doc__)
    parser.add_argument("--name", default="foreign", help="name of the cluster")
    commands = parser.add_subparsers(dest="command", required=True)
    up = commands.add_parser("up", help="bring it up")
    for one in fields(ForeignSpec):
        if one.name == "name":
            continue
        repeated = str(one.type).startswith("list")
        flag = f"--{_FLAGS.get(one.name, one.name[:-1]) if repeated else one.name}"
        up.add_argument(
            flag, dest=one.name, action="append" if repeated else "store", help=_OPTIONS[one.name]
        )
    commands.add_parser("down", help="take it down; nothing of it is left")
    commands.add_parser("status", help="users, homes, nodes")
    commands.add_parser("missing", help="packages that it needs and that are missing")
    for name, text in (
        ("admin", "run a command as the site's administrator"),
        ("login", "USER [COMMAND …]: a login shell, or a command in one"),
    ):
        commands.add_parser(name, help=text).add_argument("words", nargs=argparse.REMAINDER)
    reserve = commands.add_parser("maintenance", help="reserve all nodes")
    for name in ("begin", "minutes", "reservation"):
        reserve.add_argument(name)
    power = commands.add_parser("power", help="cut or restore the power of a node")
    power.add_argument("node")
    power.add_argument("to", choices=["off", "on"])
    return parser


def main(argv: Sequence[str]) -> int:
    """Run one command; gives the exit status."""
    arguments = _parser().parse_args(argv)
    try:
        _run(arguments)
    except AssayError as error:
        print(f"foreign-cluster: {error}", file=sys.stderr)
        return error.status
    return 0


def _run(arguments: argparse.Namespace) -> None:
    command = arguments.command
    if command == "missing":
        print(" ".join(lifecycle.missing()))
        return
    if command == "up":
        given = {one.name: getattr(arguments, one.name) for one in fields(ForeignSpec)}
        begun = time.monotonic()
        spec = ForeignSpec(**{key: value for key, value in given.items() if value is not None})
        lifecycle.bring_up(spec, _say)
        _say(f"foreign cluster {arguments.name}: up after {time.monotonic() - begun:.0f} s")
        return
    if command == "down":
        found = lifecycle.take_down(arguments.name)
        _say(f"foreign cluster {arguments.name}: {'down' if found else 'there is none'}")
        return
    state = load_state(arguments.name)
    if command == "admin":
        words = state.inside(_words(arguments.words))
        os.execvp(words[0], words)  # noqa: S606
    if command == "login":
        user, *rest = _words(arguments.words) or [""]
        words = state.as_user(user, _words(rest) or ["bash", "-l"])
        sys.exit(run_apart(words))
    if command == "maintenance":
        lifecycle.maintenance(state, arguments.begin, arguments.minutes, arguments.reservation)
    elif command == "power" and arguments.to == "on":
        lifecycle.start_node(state, arguments.node)
    elif command == "power":
        files = [network.node_file(state.spec.name, arguments.node)]
        processes.end([state.processes[arguments.node]])
        processes.end_all_inside(files, processes.ancestors())
    else:
        for user in state.users:
            _say(f"user {user}: {state.spec.account_of(user)}, home {state.home(user)}")
        _say(state.admin("sinfo", "--Node", "--long").rstrip())


def _words(words: list[str]) -> list[str]:
    return words[1:] if words[:1] == ["--"] else words


def _say(line: str) -> None:
    print(line, flush=True)


sys.exit(main(sys.argv[1:]))
