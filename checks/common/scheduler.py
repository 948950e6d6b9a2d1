# SPDX-License-Identifier: Apache-2.0
"""ReFrame scheduler `assay-slurm`: Slurm without accounting, with the job's true final state.

ReFrame's own `squeue` scheduler calls every job that has left the queue COMPLETED, and waits two
seconds after each submission. This one asks `scontrol show job`, which knows for MinJobAge seconds
how a job ended, and asks it rarely while the job runs, because on a small machine each question
takes time from the ranks that are being measured: the job script's last act is to create the file
END_MARKER, and only when that is there, or every QUIET_POLL_S seconds, is Slurm asked.
"""

from __future__ import annotations

import re
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

from reframe.core.backends import register_scheduler
from reframe.core.schedulers.slurm import SqueueJobScheduler

#: File in the job's working folder that its script creates last.
END_MARKER = "launch.ended"
#: Seconds between two polls of Slurm while a job waits or runs.
QUIET_POLL_S = 2.0
#: Seconds that Slurm may not answer before a job counts as lost.
CONTROLLER_PATIENCE_S = 30.0
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


_SLURM_LOST = {"BOOT_FAIL", "NODE_FAIL"}


def job_loss(job: Any) -> str | None:
    """Why a finished job counts as lost (node or scheduler died), or None."""
    if job.loss:
        return str(job.loss)
    if job.state in _SLURM_LOST:
        return f"Slurm: {job.state} on {job.slurm.get('NodeList', '?')}"
    return None


def dead_nodes(job: Any) -> str | None:
    """Names the nodes of a failed job that are gone, or None when all still answer.

    A node counts as gone when Slurm says so, or when its slurmd refuses a connection that another
    node of the same job takes: Slurm itself needs SlurmdTimeout to notice a power cut.
    """
    described = (_fields(_scontrol("node", name).stdout) for name in job.nodelist or [])
    nodes = [fields for fields in described if {"NodeName", "NodeAddr"} <= fields.keys()]
    down = {
        n["NodeName"] for n in nodes if re.search(r"DOWN|NOT_RESPONDING|\*", n.get("State", ""))
    }
    silent = {n["NodeName"] for n in nodes if not _answers(n["NodeAddr"], n.get("Port", "6818"))}
    if len(silent) < len(nodes):
        down |= silent
    return f"node {', '.join(sorted(down))} died during the launch" if down else None


def _answers(address: str, port: str) -> bool:
    try:
        with socket.create_connection((address, int(port)), timeout=1):
            return True
    except OSError:
        return False


def _scontrol(kind: str, name: str) -> subprocess.CompletedProcess[str]:
    command = ["scontrol", "show", kind, "-o", name]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def _fields(description: str) -> dict[str, str]:
    """The KEY=value pairs of `scontrol show … -o`."""
    return dict(pair.split("=", 1) for pair in description.split() if "=" in pair)


@register_scheduler("assay-slurm")
class AssaySlurmScheduler(SqueueJobScheduler):
    """Polls quietly, reports final states, and never leaves a job waiting for dead nodes.

    Adds to the job: `slurm` (the last description's fields) and `loss` (why it counts as lost, or
    None).
    """

    def submit(self, job: Any) -> None:
        """Submit; a refusal becomes a job that is lost, so that the run goes on."""
        job.slurm, job.loss = {}, None
        job.asked_at = job.reached_at = time.monotonic()
        try:
            super().submit(job)
        except Exception as error:
            reason = str(getattr(error, "stderr", "") or error).strip().splitlines()[-1:]
            job.loss = f"Slurm did not take the job: {''.join(reason)}"
            job._jobid, job._state, job._submit_time = "0", "FAILED", time.time()

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
                    job.loss = (
                        f"Slurm's controller did not answer for {CONTROLLER_PATIENCE_S:.0f} s"
                    )
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
                job.loss = f"{asked} nodes asked for, not enough of them are up (Slurm: {reason})"
                job._state = "CANCELLED"
