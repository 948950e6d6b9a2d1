# SPDX-License-Identifier: Apache-2.0
"""The command line: `assay cluster up|down|status|shell|revive|kill-node|…`."""

import argparse
import os
import re
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from records.errors import AssayError, ExitStatus
from virtual_cluster import api, images
from virtual_cluster.api import Cluster
from virtual_cluster.image_command import add_sources
from virtual_cluster.spec import AUTO, AWAKE, NETWORKS, ONE, ClusterSpec


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the subcommands."""
    below = parser.add_subparsers(dest="cluster_command", required=True, metavar="COMMAND")
    _add_up(_command(below, "up", _up, "bring a cluster up"))
    _command(below, "down", _down, "take a cluster down; nothing of it is left")
    _command(below, "revive", _revive, "start again what has ended: munged, slurmctld, nodes")
    _command(below, "status", _status, "nodes, network, jobs")
    text = "a shell, or -- COMMAND, where jobs are submitted or run"
    where = "where (default: the login environment), and what to run instead of a shell"
    shell = _command(below, "shell", _shell, text)
    shell.add_argument("words", nargs="*", metavar="[NODE] [-- COMMAND]", help=where)
    for name, act, text, result in (
        ("kill-node", Cluster.kill_node, "cut the power of a node", "has no power"),
        ("restore-node", Cluster.restore_node, "restore the power of a node", "takes jobs again"),
        ("mend", Cluster.mend, "undo degrade", "is as it was"),
    ):
        command = _command(below, name, _change_node, text)
        command.add_argument("node", help="for example n2")
        command.set_defaults(act=act, result=result)
    text = "make a node slow on purpose, to rehearse finding it"
    degrade = _command(below, "degrade", _degrade, text)
    degrade.add_argument("node", help="for example n2; or a switch, as s1, with --link")
    for option, what in (("--cpu", "core time"), ("--link", "link rate")):
        degrade.add_argument(option, type=float, metavar="SHARE", help=f"share of {what} left")


def _add_up(up: argparse.ArgumentParser) -> None:
    up.add_argument("--nodes", type=int, default=4, help="number of nodes (default 4)")
    text = "cores of a node (default: the machine's cores divided among the nodes, at least 1)"
    text = f"what hosts boot: {', '.join(images.names())}, the path of a root file system, or / for"
    text += f" the programs of this machine (default: {images.DEFAULT})"
    up.add_argument("--image", default=images.DEFAULT, help=text)
    add_sources(up)
    up.add_argument("--cpus-per-node", type=int, metavar="K", help=text)
    text = f"speed of the links: {', '.join(NETWORKS)}"
    up.add_argument("--network", default="unlimited", help=text)
    text = "switches that have nodes, below a top one (default: 1, a single switch)"
    up.add_argument("--switches", default=ONE, metavar="N", help=text)
    text = "how cores are kept awake while a job runs (default: auto, which is latency where you"
    text += " may write to /dev/cpu_dma_latency, else spinner)"
    up.add_argument("--awake", default=AUTO, choices=(AUTO, *AWAKE), help=text)


def _command(
    below: Any, name: str, act: Callable[[argparse.Namespace], None], text: str
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = below.add_parser(name, help=text, description=text)
    parser.add_argument("--name", default="default", help="name of the cluster (default: default)")
    parser.set_defaults(run=run, command_function=act)
    return parser


def run(args: argparse.Namespace) -> int:
    """Execute a parsed command; return its exit status. Raises AssayError."""
    args.command_function(args)
    return ExitStatus.PASS


def main(argv: Sequence[str]) -> int:
    """`python -m virtual_cluster.command`: parse, run, and show an error as one message."""
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
    shape = (args.nodes, args.cpus_per_node, args.network, args.switches)
    spec = ClusterSpec(args.name, *shape, awake=args.awake, image=args.image)
    # Exit through the clean-up of `up` instead of ending at once.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    api.up(spec, _say, sources=(args.mirror, args.snapshots))


def _down(args: argparse.Namespace) -> None:
    found = api.down(args.name, _say)
    said = "down, nothing is left" if found else "there is nothing to take down"
    _say(f"cluster {args.name}: {said}")


def _revive(args: argparse.Namespace) -> None:
    ended = api.revive(args.name, _say)
    said = f"{', '.join(ended)} started again" if ended else "nothing of it had ended"
    _say(f"cluster {args.name}: {said}")


def _status(args: argparse.Namespace) -> None:
    status = api.load(args.name).status()
    _say(f"cluster {status['name']}: {len(status['nodes'])} nodes, network {status['network']}")
    _say(f"  hosts boot image {status['image']} {status['image_digest'][:12]}".rstrip())
    _say(f"  jobs are staged in {status['work_dir']}")
    _say(f"  cores are kept awake while a job runs by {status['awake']}")
    for node in status["nodes"]:
        power, cores = "on" if node["power"] else "no power", ",".join(map(str, node["cores"]))
        words = f"{node['name']:6} {node['state']:12} {power:9} cores {cores:8}"
        _say(f"  {words} {node['address']}")
    for job in status["jobs"]:
        _say("  job {job_id} {name} {state} {nodes}".format(**job))
    if not status["jobs"]:
        _say("  no jobs")


def _shell(args: argparse.Namespace) -> None:
    cluster = api.load(args.name)
    cluster.show([Path(__file__).resolve().parents[1], Path(sys.prefix)])  # it may call assay
    node, argv = _split_words(args.words)
    # A terminal interrupts the command, not the words that enter: it would be killed with these.
    argv = ["env", "--default-signal=INT", *(argv or ["/bin/bash", "-i"])]
    if node == "login":
        terminal = {"TERM": os.environ["TERM"]} if "TERM" in os.environ else {}
        command = cluster.user_command(argv, terminal)
    else:
        command = cluster.node_command(node, argv)
    os.execvp("env", ["env", "--ignore-signal=INT", *command])  # noqa: S606


def _split_words(words: list[str]) -> tuple[str, list[str]]:
    """Host and command: a first word such as n2 or login is a place."""
    if words and (words[0] == "login" or re.fullmatch(r"n\d+", words[0])):
        return words[0], words[1:]
    return "login", words


def _change_node(args: argparse.Namespace) -> None:
    args.act(api.load(args.name), args.node)
    _say(f"cluster {args.name}: {args.node} {args.result}")


def _degrade(args: argparse.Namespace) -> None:
    api.load(args.name).degrade(args.node, args.cpu, args.link)
    shares = {"cores' time": args.cpu, "link's rate": args.link}
    left = [f"{100 * v:g} % of its {k}" for k, v in shares.items() if v is not None]
    _say(f"cluster {args.name}: {args.node} has {' and '.join(left)} left")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
