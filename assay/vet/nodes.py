# SPDX-License-Identifier: Apache-2.0
"""Vetting other nodes: a short job for each, or the nodes of the job that this is called in."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Lock

import msgspec
from ClusterShell.NodeSet import NodeSet

from assay import ROOT
from assay.commands import run_command
from assay.sites.site import Site
from assay.vet.folder import VetFolder
from checks.common.slurm.commands import Answer
from checks.common.slurm.text import pairs
from records.errors import InfrastructureError
from records.vetting import Reference, Vetting, vetting_of

#: Seconds that a job may wait for its nodes, and that it may run.
_WAIT_S, _JOB_S = 30, 60
_AT_ONCE = 32  # jobs
#: What each task of a job runs: the node itself, or the other end of its link.
_TASK = """\
node=$1; shift
[ "$SLURMD_NODENAME" = "$node" ] || set -- "$@" --answer=55
exec "$@"
"""


def own_command() -> str:
    """The `assay` that runs now."""
    return str(Path(sys.executable).with_name("assay"))


def vet_by_slurm(
    site: Site, nodes: Sequence[str], folder: VetFolder, words: Sequence[str]
) -> list[Vetting]:
    """Vet each node by a job of its own, side by side where nodes share no cores; a node that gets
    no job is suspect. `words` are those of `assay` on a node."""
    reference = None
    with suppress(OSError, msgspec.MsgspecError):
        reference = folder.reference()
    folder.path.mkdir(parents=True, exist_ok=True)
    site.show_to_jobs([ROOT, folder.path])
    linked = "link" in next((word for word in words if word.startswith("--steps=")), "link")
    lock, held = Lock(), set[str]()

    def vet(node: str) -> Vetting:
        with lock:
            states = pairs(site.slurm_output("sinfo", "-h", "-N", "-o", "%N %T"))
            neighbours = good_neighbours(states, {node, *held}, reference) if linked else []
            named = [node, *neighbours]
            held.update(neighbours)
        job = [
            *("srun", "--quiet", "--mpi=none", *site.description.access),
            *(f"--nodes={len(named)}", f"--ntasks={len(named)}", "--ntasks-per-node=1"),
            *(f"--nodelist={','.join(named)}", "--exclusive", "--time=2", "--job-name=assay-vet"),
            *(f"--immediate={_WAIT_S}", "--wait=1", "--chdir=/"),
            *("sh", "-c", _TASK, "sh", node, own_command(), *words),
            *("--neighbour", ",".join(neighbours)),
        ]
        try:
            answer = site.ask(job, reads=[ROOT], limit_s=_WAIT_S + _JOB_S)
        except InfrastructureError as error:
            answer = Answer(124, "", str(error))
        held.difference_update(neighbours)
        return _read(answer.stdout, [node], answer.said)[0]

    at_once = 1 if site.description.shared_cores else min(_AT_ONCE, 1 + len(nodes) // 4)
    with ThreadPoolExecutor(at_once) as pool:
        return [*pool.map(vet, nodes)]


def good_neighbours(
    states: Mapping[str, str], taken: Collection[str], reference: Reference | None
) -> list[str]:
    """Two idle nodes, those found fit lately before any other. The second look is at another link:
    where the first neighbour's is slow, the node is not unfit."""
    ready = {"idle", "completing"}
    idle = [name for name, state in states.items() if state in ready and name not in taken]
    known = [name for name in (reference.fit if reference else []) if name in idle]
    return [*dict.fromkeys([*known, *idle])][:2]


def vet_in_job(words: Sequence[str]) -> list[Vetting]:
    """Vet all nodes of the job that this is called in, at once, without the link."""
    nodes = [*NodeSet(os.environ.get("SLURM_JOB_NODELIST", ""))]
    if not nodes:
        why = "no SLURM_JOB_NODELIST; call it in a batch script or inside salloc"
        raise InfrastructureError(f"vet --job: this is in no job of Slurm ({why})")
    job = ["srun", "--quiet", "--mpi=none", "--overlap", f"--nodes={len(nodes)}"]
    job += [f"--ntasks={len(nodes)}", "--ntasks-per-node=1", own_command(), *words]
    answer = run_command(job, os.environ, limit_s=_WAIT_S + _JOB_S)
    return _read(answer.stdout, nodes, answer.said)


def _read(printed: str, nodes: Sequence[str], said: str) -> list[Vetting]:
    """The vetting of each node in what the nodes printed, a record a line; suspect where it is
    missing."""
    found: dict[str, Vetting] = {}
    for line in printed.splitlines():
        with suppress(msgspec.MsgspecError):
            vetting = vetting_of(line)
            found[vetting.node] = vetting
    return [found.get(node) or not_vetted(node, f"no vetting came: {said}") for node in nodes]


def not_vetted(node: str, why: str) -> Vetting:
    """A vetting that found out nothing."""
    line = f"{node} is suspect: {why}; vet it again"
    return Vetting(id="none", node=node, at="", line=line, troubles=[why])
