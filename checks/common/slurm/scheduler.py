# SPDX-License-Identifier: Apache-2.0
"""ReFrame scheduler `assay-slurm`: Slurm without accounting, with the job's true final state.

ReFrame's own `squeue` scheduler calls every job that has left the queue COMPLETED, and waits two
seconds after each submission. This one asks `scontrol show job`, which knows for MinJobAge seconds
how a job ended, and asks it rarely while the job runs, because on a small machine each question
takes time from the ranks that are being measured: the job script's last act is to create the file
END_MARKER, and only when that is there, or every QUIET_POLL_S seconds, is Slurm asked.

Waiting in the queue is no failure and has no limit here; the harness is told of it at each
question. A job that will not run however long one waits is cancelled, with Slurm's reason.

Every command has a time limit. What Slurm does not take, and what it cannot tell, is a fault of the
infrastructure and never a result of the launch.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from reframe.core.backends import register_scheduler
from reframe.core.exceptions import JobSchedulerError, SpawnedProcessError, SpawnedProcessTimeout
from reframe.core.schedulers.slurm import SqueueJobScheduler

from checks.common.session.outcome import Fault, Loss, Moment, Outcome, send
from checks.common.slurm.allocation import RUN_ID
from checks.common.slurm.commands import HERE, Answer
from checks.common.slurm.job import BEFORE, FORGOTTEN, QUIET_POLL_S, SlurmJob
from records.run.queue_state import QueueState
from records.waiting import CONTROLLER_S, DOWN_NODES_S, PENDING_CONTROLLER_S, scaled

#: File in the job's working folder that its script creates last.
END_MARKER = "launch.ended"
#: Of a long wait a share passes between two looks, up to a limit: a controller has more to do.
_WAITING_SHARE, _MOST_POLL_S = 0.02, 30.0
#: Seconds between two messages that a job runs.
HEARTBEAT_S = 60.0

_FINAL = {
    *("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL"),
    *("OUT_OF_MEMORY", "PREEMPTED", "TIMEOUT"),
}
_SLURM_LOST = {"BOOT_FAIL", "NODE_FAIL"}


def run_options() -> list[str]:
    """Options of every job of a run: marked as its own, and started once.

    What Slurm would start anew would be two launches in one record.
    """
    return [f"--comment={_run_name()}", "--no-requeue"]


def step_name(name: str) -> str:
    """Name of a launch's step in an allocation: it too names the run."""
    return f"{_run_name()}.{name}"


def _run_name() -> str:
    return f"assay-{os.environ.get(RUN_ID, 'by-hand')}"


def job_loss(job: Any) -> Loss | None:
    """Why a finished job has no result of its own (node or scheduler failed), or None."""
    if job.loss:
        found: Loss = job.loss
        return found
    if job.state in _SLURM_LOST:
        reason = f"Slurm: {job.state} on {job.slurm.get('NodeList', '?')}"
        return Loss(reason, "nodes", ran=job.state == "NODE_FAIL")
    return None


def dialogue(job: Any, job_id: str = "") -> SlurmJob:
    """The dialogue with Slurm of ReFrame's `job`, told to the harness."""

    def watch(queue: QueueState) -> None:
        send(Outcome(queue=queue))

    return SlurmJob(job_id=job_id, launch=getattr(job, "launch_index", -1), watch=watch)


@register_scheduler("assay-slurm")
class AssaySlurmScheduler(SqueueJobScheduler):
    """Polls quietly, reports final states, tells the harness of jobs that wait.

    Adds to the job: `slurm` (the last description's fields), `loss` (why it has no result of its
    own, or None) and `down_nodes_s` (how long it waits for nodes that are down). A check may set
    `launch_index`, for messages, and `down_nodes_return`: whether nodes that are down are waited
    for.
    """

    def submit(self, job: Any) -> None:
        """Submit; again and again while Slurm takes no further job of this user.

        A job that it does not take at all gets a loss, which its launch reports.
        """
        job.slurm, job.loss, job.dialogue = {}, None, dialogue(job)
        refused = job.dialogue.submit(lambda: self._sbatch(job), ("waits", "unclear"), time.sleep)
        job.handed_in = job.ended = job.dialogue.handed_in
        job.down_nodes_s = scaled(DOWN_NODES_S)
        if refused is not None:
            fault: Fault = "slurm" if refused.verdict == "unreached" else "refused"
            job.loss = Loss(f"Slurm did not take the job: {refused.words}", fault, ran=False)
            job._jobid, job._state, job._submit_time = "0", "FAILED", job.handed_in.wall

    def _sbatch(self, job: Any) -> Answer:
        """Hand the job in once, by ReFrame's own command with the site's options."""
        try:
            super().submit(job)
        except (JobSchedulerError, SpawnedProcessError) as error:
            if isinstance(error, SpawnedProcessTimeout):  # the job may have been taken even so
                HERE.cancel("--me", f"--name={job.name}")
            return Answer(1, "", str(getattr(error, "stderr", "") or error))
        return Answer(0, job.jobid, "")

    def cancel_many(self, jobs: Any) -> None:
        """End jobs; one that Slurm cannot be told of now is found again by its run's comment."""
        HERE.cancel(*(job.jobid for job in jobs if job.jobid not in (None, "0")))
        for job in jobs:
            job._is_cancelling = True

    def poll(self, *jobs: Any) -> None:
        """Bring the states of `jobs` up to date."""
        for job in jobs:
            if job is None or job.state in _FINAL:
                continue
            ended = (Path(job.workdir) / END_MARKER).exists()
            if ended or time.monotonic() - job.dialogue.asked_at >= pause_s(job.dialogue):
                self._look(job, job.dialogue)

    def _look(self, job: Any, slurm_job: SlurmJob) -> None:
        """Take over what Slurm says of the job.

        A controller that does not answer is borne, longer while the job is in its queue.
        """
        if not slurm_job.look():
            waits = slurm_job.state in BEFORE
            patience_s = PENDING_CONTROLLER_S if waits else CONTROLLER_S
            if slurm_job.silent_s > patience_s:
                reason = f"Slurm's controller did not answer for {patience_s:.0f} s"
                job.loss, job._state = Loss(reason, "slurm", ran=not waits), "NODE_FAIL"
            elif waits:
                slurm_job.tell("pending", "Slurm's controller does not answer")
            return
        state, job.slurm = slurm_job.state, slurm_job.described
        job._nodespec = job.slurm.get("NodeList", "")
        job._exitcode = int(job.slurm.get("ExitCode", "0:0").split(":")[0])
        job._state, job.ended = "COMPLETED" if state == FORGOTTEN else state, Moment.now()
        if state in BEFORE:
            self._wait_in_queue(job, slurm_job)
        elif job._state not in _FINAL and slurm_job.asked_at - slurm_job.told_at > HEARTBEAT_S:
            slurm_job.tell("running")

    def _wait_in_queue(self, job: Any, slurm_job: SlurmJob) -> None:
        """Tell that the job waits, or give it up where waiting does not help."""
        long_enough = slurm_job.handed_in.ago_s() > job.down_nodes_s
        never = slurm_job.never_runs()
        if long_enough and (missing := _missing_nodes(job, slurm_job.reason)):
            loss = Loss(f"{missing} (Slurm: {slurm_job.reason})", "nodes", ran=False)
        elif never is not None:
            asked = ("NumNodes", "NumTasks", "TimeLimit", "Partition", "Account", "QOS")
            shape = ", ".join(f"{name}={job.slurm[name]}" for name in asked if name in job.slurm)
            loss = Loss(f"Slurm will not run the job: {never} ({shape})", "refused", ran=False)
        else:
            slurm_job.tell("pending", slurm_job.reason)
            return
        self.cancel(job)
        job.loss, job._state = loss, "CANCELLED"


def pause_s(slurm_job: SlurmJob) -> float:
    """Seconds between two looks at a job."""
    if slurm_job.state not in BEFORE:
        return QUIET_POLL_S
    return min(max(QUIET_POLL_S, _WAITING_SHARE * slurm_job.handed_in.ago_s()), _MOST_POLL_S)


def _missing_nodes(job: Any, reason: str) -> str | None:
    """Names of nodes that the job cannot do without, and that are down for good, or None."""
    if reason in ("Priority", "", "BeginTime"):
        return None
    asked = job.slurm.get("ReqNodeList", "(null)")
    if asked != "(null)" and (down := HERE.down_nodes(asked)):
        return f"node {', '.join(down)} is asked for, and down"
    if getattr(job, "down_nodes_return", True):
        return None
    needed = job.slurm.get("NumNodes", "").split("-")[0]
    up = HERE.up_nodes(job.slurm.get("Partition", ""))
    if up is None or not needed.isdigit() or len(up) >= int(needed):
        return None
    return f"{needed} nodes asked for, not enough of them are up"
