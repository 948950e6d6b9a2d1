# SPDX-License-Identifier: Apache-2.0
"""Vetting other nodes: a short job for each, or the nodes of the job that this is called in."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
from ClusterShell.NodeSet import NodeSet

from assay import ROOT
from assay.commands import run_command
from assay.sites.site import Site
from assay.vet.folder import VetFolder
from checks.common.slurm.commands import Answer
from checks.common.slurm.text import is_usable, pairs
from records.errors import InfrastructureError
from records.vetting import Reference, Vetting, vetting_of

#: Seconds that a job may wait for its nodes, and that it may run.
_WAIT_S, _JOB_S = 30, 60
#: Most jobs at a time.
_AT_ONCE = 32
#: What each task of a job runs: the node itself, or the other end of its link.
_TASK = """\
[ "$SLURMD_NODENAME" = "$1" ] && node=yes || node=
shift
if [ -n "$node" ]; then exec "$@"; fi
exec "$1" vet --answer 55 --port "$PORT"
"""


def own_command() -> str:
    """The `assay` that runs now."""
    return str(Path(sys.executable).with_name("assay"))


def vet_by_slurm(
    site: Site, nodes: Sequence[str], folder: VetFolder, options: Sequence[str], port: int
) -> list[Vetting]:
    """Vet each node by a job of its own, side by side where nodes share no cores; a node that gets
    no job is suspect."""
    try:
        reference = folder.reference()
    except (OSError, msgspec.MsgspecError):
        reference = None
    states = pairs(site.ask(["sinfo", "-h", "-N", "-o", "%N %T"]).stdout)

    def vet(node: str) -> Vetting:
        neighbour = good_neighbour(node, states, reference)
        return _vet_one(site, node, neighbour, folder, options, port)

    at_once = 1 if site.description.shared_cores else _AT_ONCE
    with ThreadPoolExecutor(at_once) as pool:
        return [*pool.map(vet, nodes)]


def good_neighbour(node: str, states: dict[str, str], reference: Reference | None) -> str:
    """An idle node, the latest one found fit before any other; "" where there is none."""
    idle = [name for name, state in states.items() if state == "idle" and name != node]
    known = [name for name in (reference.fit if reference else []) if name in idle]
    return next(iter([*known, *idle]), "")


def _vet_one(  # noqa: PLR0917
    site: Site,
    node: str,
    neighbour: str,
    folder: VetFolder,
    options: Sequence[str],
    port: int,
) -> Vetting:
    named = [node, neighbour] if neighbour else [node]
    link = ["--neighbour", neighbour] if neighbour else []
    words = [
        *("srun", "--quiet", "--mpi=none", *site.description.access),
        *(f"--nodes={len(named)}", f"--ntasks={len(named)}", "--ntasks-per-node=1"),
        *(f"--nodelist={','.join(named)}", "--exclusive", "--time=2", "--job-name=assay-vet"),
        *(f"--immediate={_WAIT_S}", "--wait=1", "--chdir=/"),
        *("env", f"PORT={port}", "sh", "-c", _TASK, "sh", node, own_command()),
        *("vet", "--local", "--json", f"--folder={folder.path.absolute()}", f"--port={port}"),
        *(*link, *options),
    ]
    try:
        argv, environment = site.command(words, {}, reads=[ROOT])
        answer = run_command(argv, environment, limit_s=_WAIT_S + _JOB_S, called="srun")
    except InfrastructureError as error:
        answer = Answer(124, "", str(error))
    return _read(answer.stdout, [node], answer.said)[0]


def vet_in_job(options: Sequence[str]) -> list[Vetting]:
    """Vet all nodes of the job that this is called in, at once, without the link."""
    listed = os.environ.get("SLURM_JOB_NODELIST", "")
    nodes = [*NodeSet(listed)]
    if not nodes:
        raise InfrastructureError(
            "vet --job: this is in no job of Slurm (SLURM_JOB_NODELIST is not set); call it in a"
            " batch script or inside salloc"
        )
    count = str(len(nodes))
    words = ["srun", "--quiet", "--mpi=none", "--overlap", "--nodes", count, "--ntasks", count]
    task = ["--ntasks-per-node=1", own_command(), "vet", "--local", "--json", *options]
    answer = run_command([*words, *task], os.environ, limit_s=_WAIT_S + _JOB_S)
    return _read(answer.stdout, nodes, answer.said)


def _read(printed: str, nodes: Sequence[str], said: str) -> list[Vetting]:
    """The vetting of each node in what the nodes printed, a record a line; suspect where it is
    missing."""
    found: dict[str, Vetting] = {}
    for line in printed.splitlines():
        try:
            vetting = vetting_of(line)
        except msgspec.MsgspecError:
            continue
        found[vetting.node] = vetting
    return [found.get(node) or not_vetted(node, f"no vetting came: {said}") for node in nodes]


def not_vetted(node: str, why: str) -> Vetting:
    """A vetting that found out nothing."""
    line = f"{node} is suspect: {why}; vet it again"
    return Vetting(id="none", node=node, at="", line=line, troubles=[why])


def usable(states: dict[str, str]) -> list[str]:
    """The nodes that jobs get."""
    return [node for node, state in states.items() if is_usable(state)]
