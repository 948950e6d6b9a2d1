# SPDX-License-Identifier: Apache-2.0
"""Asks whether what a run stands on serves: Slurm, the work folder, the nodes.

Each question has a time limit, for what is asked may hang.
"""

from __future__ import annotations

import time
from pathlib import Path

from assay.probe.commands import Answer, ask
from assay.sites.site import Site
from checks.common.slurm_answers import is_down
from records.errors import InfrastructureError

#: Seconds that a command may take.
COMMAND_LIMIT_S = 15.0
#: Seconds in which the jobs of a run must have ended after they were told to.
_ENDING_S = 60.0
_PROBE_BLOCKS = 16


def asked(site: Site, *argv: str) -> Answer:
    """How a command ended that runs where and as whom launches are submitted.

    Raises InfrastructureError when it cannot be run or takes too long.
    """
    answer = ask(site, argv, limit_s=COMMAND_LIMIT_S)
    if answer.status == 127:
        raise InfrastructureError(f"{argv[0]} cannot be run: {answer.said}")
    return answer


def answer_of(site: Site, *argv: str) -> str:
    """What such a command prints; also raises, with its last words, when it fails."""
    answer = asked(site, *argv)
    if answer.status != 0:
        raise InfrastructureError(f"{argv[0]} failed: {answer.said}")
    return answer.stdout


def require_slurm(site: Site) -> None:
    """Raise InfrastructureError unless Slurm answers."""
    _slurm(site, "squeue", "--noheader", "--me", "--format=%i")


def _slurm(site: Site, *argv: str) -> str:
    try:
        return answer_of(site, *argv)
    except InfrastructureError as error:
        raise InfrastructureError(f"Slurm does not answer: {error}") from error


def trouble(site: Site, work: Path, nodes: int) -> str | None:
    """What keeps launches of up to `nodes` nodes from being run; None when nothing does.

    Nodes that are drained or reserved come back, and are waited for in Slurm's queue.
    """
    try:
        missing = None if site.down_nodes_return else _missing_nodes(site, nodes)
        require_slurm(site)
    except InfrastructureError as error:
        return f"{error}"
    if missing is not None:
        return missing
    probe = work / ".probe"
    try:
        size = ["bs=64k", f"count={_PROBE_BLOCKS}", "conv=fsync"]
        answer_of(site, "dd", "if=/dev/zero", f"of={probe}", *size)
        answer_of(site, "rm", "-f", str(probe))
    except InfrastructureError as error:
        return f"the work folder {work} cannot be written: {error}"
    return None


def _missing_nodes(site: Site, nodes: int) -> str | None:
    partition = site.description.slurm_partition
    listed = _slurm(site, "sinfo", "-hN", "--format=%N %T", "-p", partition)
    states = dict(line.split() for line in listed.splitlines() if len(line.split()) == 2)
    out = sorted(name for name, state in states.items() if is_down(state))
    there = len(states) - len(out)
    if there >= nodes:
        return None
    which = ", ".join(f"{name} {states[name]}" for name in out) or "no others are known"
    return f"launches need {nodes} nodes, and {there} of {len(states)} take jobs ({which})"


def end_jobs(site: Site, name: str, spared: str | None = None) -> None:
    """End every job that Slurm knows of the run with this work folder; wait until they are gone.

    But the job `spared`, which holds the nodes of launches to come.

    Raises InfrastructureError when Slurm does not answer, or a job does not end.
    """
    require_slurm(site)
    deadline = time.monotonic() + _ENDING_S
    while True:
        listed = answer_of(site, "squeue", "--noheader", "--me", "--format=%i %k")
        mine = [row.split()[0] for row in listed.splitlines() if row.endswith(f" assay-{name}")]
        jobs = [job for job in mine if job != spared]
        if not jobs:
            return
        if time.monotonic() > deadline:
            raise InfrastructureError(f"job {jobs[0]} of this run does not end")
        answer_of(site, "scancel", *jobs)
        time.sleep(0.5)
