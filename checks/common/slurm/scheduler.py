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

from checks.common.evidence.clocks import Moment
from checks.common.session.faults import Fault, Loss
from checks.common.session.outcome import Outcome, iso_time, send
from checks.common.slurm.commands import (
    Alone,
    cancel,
    described,
    down_nodes,
    fields,
    slurm_seconds,
    up_nodes,
)
from checks.common.slurm.reasons import (
    Refusal,
    last_words,
    pending_verdict,
    refusal_verdict,
    with_meaning,
)
from records.queue_state import QueueState, State

#: Environment variable with the run's id.
RUN_ID = "ASSAY_RUN_ID"
#: File in the job's working folder that its script creates last.
END_MARKER = "launch.ended"
#: Seconds between two polls of Slurm while a job waits or runs; of a long wait a share, up to a
#: limit, for a controller has more to do.
QUIET_POLL_S = 2.0
_WAITING_SHARE, _MOST_POLL_S = 0.02, 30.0
#: Seconds between two messages that a job runs.
HEARTBEAT_S = 60.0
#: Seconds that Slurm may not answer before a running job counts as lost; a pending one stays where
#: it is, and its launch is only not run now.
CONTROLLER_PATIENCE_S = 30.0
PENDING_PATIENCE_S = 600.0
#: Seconds that a job may wait for nodes that nobody brings back, before it is given up.
DOWN_NODES_PATIENCE_S = 5.0
#: Seconds until a job that Slurm did not take is handed in again: at first, and at most.
FIRST_RETRY_S, MOST_RETRY_S = 5.0, 60.0

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
#: States before the job's script has begun.
_BEFORE = {"PENDING", "CONFIGURING", "REQUEUED"}
_SLURM_LOST = {"BOOT_FAIL", "NODE_FAIL"}


def run_options() -> list[str]:
    """Options of every job of a run: marked as its own, and started once.

    What Slurm would start anew would be two launches in one record.
    """
    return [f"--comment={_run_name()}", "--no-requeue"]


def step_name(name: str) -> str:
    """What Slurm calls a launch's step in an allocation: it too names the run."""
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


def not_taken(said: str, verdict: Refusal) -> Loss:
    """The loss of a job that sbatch ended without, from what it said."""
    fault: Fault = "slurm" if verdict == "unreached" else "refused"
    return Loss(f"Slurm did not take the job: {last_words(said)}", fault, ran=False)


@register_scheduler("assay-slurm")
class AssaySlurmScheduler(SqueueJobScheduler):
    """Polls quietly, reports final states, tells the harness of jobs that wait.

    Adds to the job: `slurm` (the last description's fields) and `loss` (why it has no result of
    its own, or None). A check may set `launch_index`, for messages, and `down_nodes_return`:
    whether nodes that are down are waited for.
    """

    def submit(self, job: Any) -> None:
        """Submit; again and again while Slurm takes no further job of this user.

        A job that it does not take at all gets a loss, which its launch reports.
        """
        job.slurm, job.loss, job.alone = {}, None, Alone()
        job.handed_in, pause_s = Moment.now(), FIRST_RETRY_S
        while (said := self._refusal(job)) is not None:
            verdict = refusal_verdict(said)
            if verdict not in ("waits", "unclear"):
                job.loss = not_taken(said, verdict)
                job._jobid, job._state, job._submit_time = "0", "FAILED", job.handed_in.wall
                break
            tell(job, "not-taken", last_words(said))
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, MOST_RETRY_S)
        job.handed_in = job.ended = Moment.now()
        job.asked_at = job.reached_at = job.told_at = job.handed_in.steady

    def _refusal(self, job: Any) -> str | None:
        """What sbatch said that did not take the job; None: it did."""
        try:
            super().submit(job)
        except (JobSchedulerError, SpawnedProcessError) as error:
            if isinstance(error, SpawnedProcessTimeout):  # the job may have been taken even so
                cancel("--me", f"--name={job.name}")
            return str(getattr(error, "stderr", "") or error)
        return None

    def cancel_many(self, jobs: Any) -> None:
        """End jobs; one that Slurm cannot be told of now is found again by its run's comment."""
        if jobs:
            cancel(*(job.jobid for job in jobs if job.jobid not in (None, "0")))
        for job in jobs:
            job._is_cancelling = True

    def poll(self, *jobs: Any) -> None:
        """Bring the states of `jobs` up to date."""
        for job in jobs:
            if job is None or job.state in _FINAL:
                continue
            now = time.monotonic()
            ended = (Path(job.workdir) / END_MARKER).exists()
            if ended or now - job.asked_at >= _pause_s(job):
                job.asked_at = now
                self._ask(job)

    def _ask(self, job: Any) -> None:
        """Take over what Slurm says of the job."""
        answer = described("job", job.jobid)
        if answer.returncode == 0 and "JobState=" in answer.stdout:
            told = fields(answer.stdout)
        elif "Invalid job id" in answer.stderr:
            told = {"JobState": "COMPLETED", "Reason": "forgotten by Slurm"}
        else:
            self._bear_silence(job)
            return
        job.reached_at, job.slurm = job.asked_at, told
        job._nodespec = told.get("NodeList", "")
        job._exitcode = int(told.get("ExitCode", "0:0").split(":")[0])
        job._state, job.ended = told["JobState"], Moment.now()
        if job._state in _BEFORE:
            self._wait_in_queue(job, told.get("Reason", "None"))
        elif job._state not in _FINAL and job.asked_at - job.told_at > HEARTBEAT_S:
            tell(job, "running", "")

    def _bear_silence(self, job: Any) -> None:
        """A controller that does not answer is borne, longer while the job is in its queue."""
        waits = job._state in (None, *_BEFORE)
        patience_s = PENDING_PATIENCE_S if waits else CONTROLLER_PATIENCE_S
        if job.asked_at - job.reached_at > patience_s:
            reason = f"Slurm's controller did not answer for {patience_s:.0f} s"
            job.loss = Loss(reason, "slurm", ran=not waits)
            job._state = "NODE_FAIL"
        elif waits:
            tell(job, "pending", "Slurm's controller does not answer")

    def _wait_in_queue(self, job: Any, reason: str) -> None:
        """Tell that the job waits, or give it up where waiting does not help."""
        verdict = pending_verdict(reason)
        never = verdict == "never" or job.alone.long_enough(verdict)
        long_enough = job.handed_in.ago_s() > DOWN_NODES_PATIENCE_S
        if long_enough and (missing := _missing_nodes(job, reason)):
            self._give_up(job, Loss(f"{missing} (Slurm: {reason})", "nodes", ran=False))
        elif never:
            told = f"Slurm will not run the job: {with_meaning(reason)} ({_shape(job)})"
            self._give_up(job, Loss(told, "refused", ran=False))
        else:
            tell(job, "pending", with_meaning(reason))

    def _give_up(self, job: Any, loss: Loss) -> None:
        self.cancel(job)
        job.loss, job._state = loss, "CANCELLED"


def _pause_s(job: Any) -> float:
    """Seconds between two questions about a job."""
    if job._state not in _BEFORE:
        return QUIET_POLL_S
    waited_s: float = job.handed_in.ago_s()
    return min(max(QUIET_POLL_S, _WAITING_SHARE * waited_s), _MOST_POLL_S)


def _missing_nodes(job: Any, reason: str) -> str | None:
    """Which nodes that the job cannot do without are down and not waited for, or None."""
    if reason in ("Priority", "None", "BeginTime"):
        return None
    asked = job.slurm.get("ReqNodeList", "(null)")
    if asked != "(null)" and (down := down_nodes(asked)):
        return f"node {', '.join(down)} is asked for, and down"
    if getattr(job, "down_nodes_return", True):
        return None
    needed = job.slurm.get("NumNodes", "").split("-")[0]
    up = up_nodes(job.slurm.get("Partition", ""))
    if up is None or not needed.isdigit() or len(up) >= int(needed):
        return None
    return f"{needed} nodes asked for, not enough of them are up"


def _shape(job: Any) -> str:
    """What the job asks for, in Slurm's words."""
    names = ("NumNodes", "NumTasks", "TimeLimit", "Partition", "Account", "QOS")
    return ", ".join(f"{name}={job.slurm[name]}" for name in names if name in job.slurm)


def tell(job: Any, state: State, reason: str) -> None:
    """Tell the harness where the job is."""
    job.told_at = time.monotonic()
    start = job.slurm.get("StartTime", "Unknown")
    since = job.handed_in.wall
    if state == "running":
        since = slurm_seconds(start) or since
    expected = slurm_seconds(start) if state == "pending" else None
    queue = QueueState(
        state=state,
        launch=getattr(job, "launch_index", -1),
        job_id=job.jobid,
        reason="".join(c if c.isprintable() else " " for c in reason.replace("_", " "))[:300],
        since=str(iso_time(since)),
        waited_s=job.handed_in.ago_s(),
        expected_start=iso_time(expected),
    )
    send(Outcome(queue=queue))
