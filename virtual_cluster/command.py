# SPDX-License-Identifier: Apache-2.0
"""The command line: `assay cluster up|down|status|shell|kill-node|restore-node|degrade|mend`."""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any

from records.errors import AssayError, ExitStatus
from virtual_cluster import api, host
from virtual_cluster.spec import NETWORKS, ClusterSpec
from virtual_cluster.switches import ONE

Subparsers = Any


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands; `run` does what was parsed."""
    parser.set_defaults(run=run)
    commands = parser.add_subparsers(dest="cluster_command", required=True, metavar="COMMAND")
    up = _command(commands, "up", "bring a cluster up")
    up.add_argument("--nodes", type=int, default=4, help="number of nodes (default 4)")
    up.add_argument(
        "--cpus-per-node",
        type=int,
        metavar="K",
        help="cores of a node (default: the machine's cores divided among the nodes, at least 1)",
    )
    up.add_argument(
        "--network", default="unlimited", help=f"speed of the links: {', '.join(NETWORKS)}"
    )
    up.add_argument(
        "--switches",
        default=ONE,
        metavar="TREE",
        help="switches that have nodes, below a top one, as 2; or a tree from the top down, as 2x2"
        " (default: 1, a single switch)",
    )
    _command(commands, "down", "take a cluster down; nothing of it is left")
    status = _command(commands, "status", "nodes, network, jobs")
    status.add_argument("--json", action="store_true", help="for machines")
    shell = _command(commands, "shell", "a shell, or -- COMMAND, as the ordinary user")
    shell.add_argument(
        "words",
        nargs="*",
        metavar="[NODE] [-- COMMAND]",
        help="where (default: the login environment), and what to run instead of a shell",
    )
    for name, text in (("kill-node", "cut the power"), ("restore-node", "restore the power")):
        command = _command(commands, name, f"{text} of a node")
        command.add_argument("node", help="for example n2")
    degrade = _command(commands, "degrade", "make a node slow on purpose, to rehearse finding it")
    degrade.add_argument("node", help="for example n2")
    degrade.add_argument("--cpu", type=float, metavar="SHARE", help="share of core time left")
    degrade.add_argument("--link", type=float, metavar="SHARE", help="share of link rate left")
    mend = _command(commands, "mend", "undo degrade")
    mend.add_argument("node", help="for example n2")


def _command(commands: Subparsers, name: str, text: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text)
    parser.add_argument("--name", default="default", help="name of the cluster (default: default)")
    return parser


def run(args: argparse.Namespace) -> int:
    """Do a parsed command; return its exit status. Raises AssayError for the caller to show."""
    handlers = {
        "up": _up,
        "down": _down,
        "status": _status,
        "shell": _shell,
        "kill-node": _kill_node,
        "restore-node": _restore_node,
        "degrade": _degrade,
        "mend": _mend,
    }
    ClusterSpec(name=args.name)
    handlers[args.cluster_command](args)
    return ExitStatus.PASS


def main(argv: Sequence[str]) -> int:
    """`python -m virtual_cluster`: parse, run, and show an error as one message."""
    parser = argparse.ArgumentParser(prog="assay cluster")
    add_arguments(parser)
    args = parser.parse_args(argv)
    try:
        return run(args)
    except AssayError as problem:
        print(f"assay cluster: {problem}", file=sys.stderr)
        return problem.status


def _say(line: str) -> None:
    print(line, flush=True)


def _up(args: argparse.Namespace) -> None:
    spec = ClusterSpec(args.name, args.nodes, args.cpus_per_node, args.network, args.switches)
    signal.signal(signal.SIGTERM, _end_tidily)
    api.up(spec, _say)


def _end_tidily(_signal: int, _frame: FrameType | None) -> None:
    """Leave through the clean-up of `up` instead of dying at once."""
    raise SystemExit(128 + signal.SIGTERM)


def _down(args: argparse.Namespace) -> None:
    if api.down(args.name, _say):
        _say(f"cluster {args.name}: down, nothing is left")
    else:
        _say(f"cluster {args.name}: there is nothing to take down")


def _status(args: argparse.Namespace) -> None:
    host.require_rights("status")
    status = api.load(args.name).status()
    if args.json:
        _say(json.dumps(status, indent=1))
        return
    _say(
        f"cluster {status['name']}: {len(status['nodes'])} nodes, network {status['network']}, "
        f"jobs of {status['user']} staged in {status['work_dir']}"
    )
    for node in status["nodes"]:
        power = "on" if node["power"] else "no power"
        cores = ",".join(map(str, node["cores"]))
        _say(f"  {node['name']:6} {node['state']:12} {power:9} cores {cores:8} {node['address']}")
    for job in status["jobs"]:
        _say(f"  job {job['job_id']} {job['name']} {job['user']} {job['state']} {job['nodes']}")
    if not status["jobs"]:
        _say("  no jobs")


def _shell(args: argparse.Namespace) -> None:
    host.require_rights("shell")
    cluster = api.load(args.name)
    node, argv = _split_words(args.words)
    argv = argv or ["/bin/bash", "-i"]
    if node == "login":
        command = cluster.user_command(argv, _terminal())
        os.chdir(cluster.site_facts()["work_dir"])
    else:
        command = cluster.node_command(node, argv)
    os.execvp(command[0], command)  # noqa: S606


def _split_words(words: list[str]) -> tuple[str, list[str]]:
    """Where to go and what to run there: a first word such as n2 or login is a place."""
    if words and (words[0] == "login" or re.fullmatch(r"n\d+", words[0])):
        return words[0], words[1:]
    return "login", words


def _terminal() -> dict[str, str]:
    return {"TERM": os.environ["TERM"]} if "TERM" in os.environ else {}


def _kill_node(args: argparse.Namespace) -> None:
    host.require_rights("kill-node")
    api.load(args.name).kill_node(args.node)
    _say(f"cluster {args.name}: {args.node} has no power")


def _restore_node(args: argparse.Namespace) -> None:
    host.require_rights("restore-node")
    api.load(args.name).restore_node(args.node)
    _say(f"cluster {args.name}: {args.node} takes jobs again")


def _degrade(args: argparse.Namespace) -> None:
    host.require_rights("degrade")
    api.load(args.name).degrade(args.node, args.cpu, args.link)
    shares = {"cores' time": args.cpu, "link's rate": args.link}
    left = " and ".join(f"{100 * v:g} % of its {k}" for k, v in shares.items() if v is not None)
    _say(f"cluster {args.name}: {args.node} has {left} left")


def _mend(args: argparse.Namespace) -> None:
    host.require_rights("mend")
    api.load(args.name).mend(args.node)
    _say(f"cluster {args.name}: {args.node} is as it was")
