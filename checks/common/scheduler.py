# SPDX-License-Identifier: Apache-2.0
"""ReFrame scheduler `assay-slurm`: Slurm without accounting, with the job's true final state.

ReFrame's own `squeue` scheduler calls every job that has left the queue COMPLETED, and waits two
seconds after each submission. This one asks `scontrol show job`, which knows for MinJobAge seconds
how a job ended, and asks it rarely while the job runs, because on a small machine each question
takes time from the ranks that are being measured: the job script's last act is to create the file
END_MARKER, and only when that is there, or every QUIET_POLL_S seconds, is Slurm asked.

Every command has a time limit. What Slurm does not take, and what it cannot tell, is a fault of the
infrastructure and never a result of the launch.
"""

from __future__ import annotations

import re
import socket
import subprocess
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from reframe.core.backends import register_scheduler
from reframe.core.exceptions import SpawnedProcessTimeout
from reframe.core.schedulers.slurm import SqueueJobScheduler

from checks.common.faults import Loss

#: File in the job's working folder that its script creates last.
END_MARKER = "launch.ended"
#: Seconds between two polls of Slurm while a job waits or runs.
QUIET_POLL_S = 2.0
#: Seconds that Slurm may not answer before a job counts as lost.
CONTROLLER_PATIENCE_S = 30.0
#: Seconds that a Slurm command may take.
COMMAND_LIMIT_S = 15.0
#: Seconds that a job may wait for nodes that are down before it counts as lost.
DOWN_NODES_PATIENCE_S = 5.0

_FINAL = {
    "BOOT_FAIL",
    "CANCELLED",
    "COMPLETED",
    "DEADLINE",
    "FAILED",
    "NODE_FAIL",
    "OUT_OF_MEMORY",
    "PREEMPTED",
    "TIMEOUT",
}
_NODES_DOWN = re.compile(
    r"^(Nodes_required_for_job_are_DOWN|ReqNodeNotAvail|NodeDown|PartitionDown|BadConstraints"
    r"|PartitionNodeLimit|PartitionConfig)"
)


#: What sbatch says when it could not ask: the job may be taken later as it is.
_UNREACHED = re.compile(
    r"unable to contact|connect|communicat|timed? ?out|munge|authentic|credential|zero bytes"
    r"|temporarily|try again|too many|submit ?job|submission rate|resource limit|system call"
    r"|controller|no space|partition.*(down|not avail|inactive|drain)",
    re.IGNORECASE,
)
_SLURM_LOST = {"BOOT_FAIL", "NODE_FAIL"}


def job_loss(job: Any) -> Loss | None:
    """Why a finished job has no result of its own (node or scheduler failed), or None."""
    if job.loss:
        found: Loss = job.loss
        return found
    if job.state in _SLURM_LOST:
        reason = f"Slurm: {job.state} on {job.slurm.get('NodeList', '?')}"
        return Loss(reason, "nodes", ran=job.state == "NODE_FAIL")
    return None


def not_taken(said: str) -> Loss:
    """The loss of a job that sbatch ended without, from what it said."""
    last = "".join(line.strip() for line in said.strip().splitlines()[-1:]) or "no reason given"
    reason = f"Slurm did not take the job: {last}"
    return Loss(reason, "slurm" if _UNREACHED.search(said) else "refused", ran=False)


def dead_nodes(job: Any) -> str | None:
    """Names the nodes of a failed job that are gone, or None when all still answer.

    A node counts as gone when Slurm says so, or when its slurmd refuses a connection that another
    node of the same job takes: Slurm itself needs SlurmdTimeout to notice a power cut.
    """
    described = [_fields(_scontrol("node", name).stdout) for name in job.nodelist or []]
    nodes = [fields for fields in described if {"NodeName", "NodeAddr"} <= fields.keys()]
    down = {
        n["NodeName"] for n in nodes if re.search(r"DOWN|NOT_RESPONDING|\*", n.get("State", ""))
    }
    silent = {n["NodeName"] for n in nodes if not _answers(n["NodeAddr"], n.get("Port", "6818"))}
    if len(silent) < len(nodes):
        down |= silent
    return f"node {', '.join(sorted(down))} died during the launch" if down else None


@cache
def leaves_processes() -> bool:
    """Whether a job's daemonised processes outlive it, as far as Slurm's settings tell.

    They do unless control groups hold them, or the epilog of a virtual cluster ends them.
    """
    settings = _said(["scontrol", "show", "config"]).stdout
    tracked = re.search(r"^ProctrackType\s*=\s*proctrack/(linuxproc|pgid)", settings, re.MULTILINE)
    ended = re.search(r"^Epilog(\[0\])?\s*=.*/end-of-job$", settings, re.MULTILINE)
    return tracked is not None and ended is None


def _answers(address: str, port: str) -> bool:
    try:
        with socket.create_connection((address, int(port)), timeout=1):
            return True
    except OSError:
        return False


def _scontrol(kind: str, name: str) -> subprocess.CompletedProcess[str]:
    return _said(["scontrol", "show", kind, "-o", name])


def _said(command: list[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command, capture_output=True, text=True, timeout=COMMAND_LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired:
        said = f"{command[0]} did not answer within {COMMAND_LIMIT_S:.0f} s"
        return subprocess.CompletedProcess(command, 124, "", said)


def _fields(description: str) -> dict[str, str]:
    """The KEY=value pairs of `scontrol show … -o`."""
    return dict(pair.split("=", 1) for pair in description.split() if "=" in pair)


def _cancel(*words: str) -> None:
    with suppress(subprocess.TimeoutExpired):
        subprocess.run(
            ["scancel", *words], capture_output=True, timeout=COMMAND_LIMIT_S, check=False
        )


@register_scheduler("assay-slurm")
class AssaySlurmScheduler(SqueueJobScheduler):
    """Polls quietly, reports final states, and never leaves a job waiting for dead nodes.

    Adds to the job: `slurm` (the last description's fields) and `loss` (why it has no result of
    its own, or None).
    """

    def submit(self, job: Any) -> None:
        """Submit; a job that Slurm does not take gets a loss, which its launch reports."""
        job.slurm, job.loss = {}, None
        job.asked_at = job.reached_at = time.monotonic()
        try:
            super().submit(job)
        except Exception as error:
            job.loss = not_taken(str(getattr(error, "stderr", "") or error))
            job._jobid, job._state, job._submit_time = "0", "FAILED", time.time()
            if isinstance(error, SpawnedProcessTimeout):  # the job may have been taken even so
                _cancel("--me", f"--name={job.name}")

    def cancel_many(self, jobs: Any) -> None:
        """End jobs; one that Slurm cannot be told of now is found again by its run's comment."""
        if jobs:
            _cancel(*(job.jobid for job in jobs if job.jobid not in (None, "0")))
        for job in jobs:
            job._is_cancelling = True

    def poll(self, *jobs: Any) -> None:
        """Bring the states of `jobs` up to date."""
        for job in jobs:
            if job is None or job.state in _FINAL:
                continue
            now = time.monotonic()
            ended = (Path(job.workdir) / END_MARKER).exists()
            if not ended and now - job.asked_at < QUIET_POLL_S:
                continue
            job.asked_at = now
            answer = _scontrol("job", job.jobid)
            if answer.returncode == 0 and "JobState=" in answer.stdout:
                fields = _fields(answer.stdout)
            elif "Invalid job id" in answer.stderr:
                fields = {"JobState": "COMPLETED", "Reason": "forgotten by Slurm"}
            else:
                if now - job.reached_at > CONTROLLER_PATIENCE_S:
                    reason = f"Slurm's controller did not answer for {CONTROLLER_PATIENCE_S:.0f} s"
                    job.loss = Loss(reason, "slurm", ran=True)
                    job._state = "NODE_FAIL"
                continue
            job.reached_at, job.slurm = now, fields
            job._nodespec = fields.get("NodeList", "")
            job._exitcode = int(fields.get("ExitCode", "0:0").split(":")[0])
            job._state = fields["JobState"]
            waited_s, reason = time.time() - job.submit_time, fields.get("Reason", "")
            nodes_down = job._state == "PENDING" and _NODES_DOWN.match(reason)
            if nodes_down and waited_s > DOWN_NODES_PATIENCE_S:
                self.cancel(job)
                asked = fields.get("NumNodes", "?").split("-")[0]
                reason = f"{asked} nodes asked for, not enough of them are up (Slurm: {reason})"
                job.loss = Loss(reason, "nodes", ran=False)
                job._state = "CANCELLED"
