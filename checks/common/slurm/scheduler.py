# SPDX-License-Identifier: Apache-2.0
"""ReFrame's schedulers `assay-slurm`, a job a launch, `assay-allocation`, a step a launch, and
`assay-local`, a step of this machine.

Every command has a time limit. What Slurm does not take, and what it cannot tell, is a fault of the
infrastructure and never a result of the launch: a `loss` of the job.
"""

import math
import os
import re
import select
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from reframe.core.backends import register_scheduler
from reframe.core.exceptions import (
    ConfigError,
    JobSchedulerError,
    SpawnedProcessError,
    SpawnedProcessTimeout,
)
from reframe.core.schedulers.slurm import SqueueJobScheduler, _SlurmJob

from checks.common.session.outcome import Fault, Loss, Moment, Outcome, send
from checks.common.slurm.commands import HERE, Answer, is_down
from checks.common.slurm.job import (
    BEFORE,
    ENDING_S,
    FORGOTTEN,
    QUIET_POLL_S,
    RUN_ID,
    ControllerSilentError,
    SlurmJob,
    last_words,
    this_machine,
    told_allocation,
)
from records.waiting import CONTROLLER_S, DOWN_NODES_S, PENDING_CONTROLLER_S, STEP_END_S, scaled

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


def _dialogue(job: Any, job_id: str = "") -> SlurmJob:
    """The dialogue with Slurm of ReFrame's `job`, told to the harness."""
    launch = getattr(job, "launch_index", -1)
    return SlurmJob(job_id=job_id, launch=launch, watch=lambda queue: send(Outcome(queue=queue)))


class _OnSlurm(SqueueJobScheduler):
    """Scheduler that a launch may ask for dead nodes, and whether processes may outlive it."""

    leaves_processes = staticmethod(HERE.leaves_processes)
    dead_nodes = staticmethod(HERE.dead_nodes)


class AssaySlurmScheduler(_OnSlurm):
    """Scheduler for Slurm without accounting that knows how a job ended.

    ReFrame's own `squeue` scheduler calls every job that has left the queue COMPLETED, and waits
    two seconds after each submission. `scontrol show job` tells for MinJobAge seconds how a job
    ended. It is asked rarely while the job runs, as each question takes time from the ranks that
    are being measured: when the job's script has created END_MARKER, its last act, or every
    QUIET_POLL_S seconds. Waiting in the queue has no limit, and the harness is told of it at each
    question; a job that will not run however long one waits is cancelled, with Slurm's reason.

    Adds to the job: `slurm` (the last description's fields), `loss` (why it has no result of its
    own, or None) and `down_nodes_s` (how long it waits for nodes that are down). A check may set
    `launch_index`, for messages, and `down_nodes_return`: whether nodes that are down are waited
    for.
    """

    def submit(self, job: Any) -> None:
        """Submit; again and again while Slurm takes no further job of this user.

        A job that it does not take at all gets a loss, which its launch reports.
        """
        job.slurm, job.loss, job.dialogue = {}, None, _dialogue(job)
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
    if asked != "(null)":
        states = HERE.node_states(f"--nodes={asked}")
        if down := sorted(name for name, state in states.items() if is_down(state)):
            return f"node {', '.join(down)} is asked for, and down"
    states = HERE.node_states(f"--partition={job.slurm.get('Partition', '')}")
    needed = job.slurm.get("NumNodes", "").split("-")[0]
    if getattr(job, "down_nodes_return", True) or not states or not needed.isdigit():
        return None
    up = [name for name, state in states.items() if not is_down(state)]
    return (
        None if len(up) >= int(needed) else f"{needed} nodes asked for, not enough of them are up"
    )


#: srun's words where a job has had as many steps as it may have (MaxStepCount).
NO_MORE_STEPS = "Step limit reached"
#: File in the job's working folder with what srun itself says.
_SRUN = "launch.srun"
#: Seconds that Slurm may take to begin a step, and to end one after the time that it may need.
_STEP_PATIENCE_S = 300.0
#: What a step says: its name in Slurm's words, then how its command ended.
_SAID = re.compile(rb"^(?:begun (\d+-\d+)|ended (\d+))$", re.MULTILINE)
#: Characters kept of what a step says.
_KEPT = 1000


#: What a check may set of a job: its place in the list of launches, the nodes that it must have,
#: whether no other may run at the same time, the longest time that it may take; and `drawn_by`,
#: which names the launch when its nodes are drawn.
_DEFAULTS = {"launch_index": -1, "asked_nodes": None, "undisturbed": True, "needs_s": None}


class _Step:
    """A launch's step: srun, and what launch/allocated.sh says through it."""

    def __init__(self, argv: list[str], folder: Path) -> None:
        with (folder / _SRUN).open("wb") as said:
            # By the main thread: the step is told to end when the thread that started it does.
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "TERM", *argv],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=said,
            )
        assert self.process.stdout is not None
        #: Readable when the step says something.
        self.pipe = self.process.stdout.fileno()
        os.set_blocking(self.pipe, False)
        self._said = b""
        self.name = ""
        #: When it was handed in, then when it has begun.
        self.since = time.monotonic()
        self.status: int | None = None

    def over(self) -> bool:
        """True if the launch has ended, though srun may still be at its step's end."""
        gone = self.process.poll() is not None
        with suppress(BlockingIOError):
            while len(self._said) < _KEPT and (text := os.read(self.pipe, _KEPT)):
                self._said += text
        for name, status in _SAID.findall(self._said[: self._said.rfind(b"\n") + 1]):
            if name and not self.name:
                self.name, self.since = name.decode().replace("-", "."), time.monotonic()
            self.status = int(status) if status else self.status
        return gone or self.status is not None

    def end(self) -> None:
        """End it: srun ends its step when it is told to end itself."""
        self.process.terminate()
        try:
            self.process.wait(scaled(STEP_END_S))
        except subprocess.TimeoutExpired:
            HERE.cancel(*filter(None, [self.name]))
            self.process.kill()

    def clear(self) -> None:
        """End the steps that its command began: ranks outlive an srun that was killed."""
        HERE.cancel(*(HERE.steps_of(self.name) if self.name else ()))


class AllocationScheduler(_OnSlurm):
    """Scheduler of jobs as steps of the allocation in the file that the variable ALLOCATION names.

    Slurm places and runs the steps; here is only chosen which nodes a launch gets: those that it
    asks for, or free ones drawn at random. Launches begin in the order in which they are handed in.
    One that is to be undisturbed waits until no other runs, and the others wait for it. Jobs are
    handed in while others run, so that only their steps remain to start when their turn comes.

    Adds to a job: `slurm` and `loss`, as assay-slurm does. A check may set the attributes of
    _DEFAULTS.
    """

    _told = staticmethod(told_allocation)

    def __init__(self) -> None:
        super().__init__()
        allocation = self._told()
        assert allocation is not None
        self._allocation, self._named = allocation, f"allocation {allocation.job_id}"
        self._allocation_job = SlurmJob(job_id=self._allocation.job_id)
        #: Why no more launches are begun; "": they are.
        self._over = ""
        self._waiting: list[Any] = []
        self._running: list[Any] = []
        #: Steps of launches that have ended, whose srun has not.
        self._ending: list[_Step] = []
        self._handed_in = 0

    def submit(self, job: Any) -> None:
        """Put the job behind those that wait; it begins as soon as its nodes are free."""
        self._handed_in += 1
        for name, value in {**_DEFAULTS, "drawn_by": job.name}.items():
            setattr(job, name, getattr(job, name, value))
        job._jobid, job._state = f"{self._allocation.job_id}.{self._handed_in}", "PENDING"
        job.slurm, job.loss, job.step = {}, None, None
        job.dialogue = _dialogue(job, job._jobid)
        job.handed_in = job.ended = job.dialogue.handed_in
        job._submit_time = job.handed_in.wall
        self._waiting.append(job)
        self._begin_next()

    def poll(self, *jobs: Any) -> None:
        """Take over what has ended, and begin what waits."""
        self._ending = [step for step in self._ending if step.process.poll() is None]
        for job in self._running:
            self._end_if_overdue(job)
        for job in [job for job in self._running if job.step.over()]:
            self._running.remove(job)
            self._take_over(job)
        self._begin_next()
        for job in self._running:
            if time.monotonic() - job.dialogue.told_at > HEARTBEAT_S:
                job.dialogue.tell("running")

    def await_news(self, most_s: float) -> None:
        """Sleep until a launch begins or ends, but no longer than `most_s`."""
        news = select.poll()
        for job in self._running:
            news.register(job.step.pipe, select.POLLIN)
        news.poll(1000 * most_s)

    def cancel_many(self, jobs: Any) -> None:
        """End jobs, those that wait without having begun."""
        for job in jobs:
            job._is_cancelling = True
            if job in self._waiting:
                self._waiting.remove(job)
                job._state = "CANCELLED"
            elif job.step is not None and job.step.process.poll() is None:
                job.step.end()

    def wait(self, job: Any) -> None:
        """Wait until the job has ended."""
        while not self.finished(job):
            self.poll(job)
            self.await_news(0.05)

    def _begin_next(self) -> None:
        """Begin the jobs whose turn it is, as many as there are nodes for."""
        while self._waiting and len(self._running) < self._allocation.at_once:
            job = self._waiting[0]
            if self._running and (job.undisturbed or self._running[0].undisturbed):
                return
            late, nodes = self._over, self._nodes_for(job)
            left_s = max(0.0, self._allocation.ends_at - ENDING_S - time.monotonic())
            if not late and left_s < (job.needs_s or 0.0):
                late = f"{self._named} lasts {left_s:.0f} s more, {job.needs_s:.0f} s may be needed"
            if nodes is None or (late and self._running):
                return
            self._waiting.remove(job)
            if late:
                self._end(job, Loss(late, "allocation", ran=False))
            elif job.loss is None:
                self._begin(job, nodes)

    def _nodes_for(self, job: Any) -> list[str] | None:
        """The nodes that the job gets; None: they are not free yet. One that the allocation cannot
        have gets a loss."""
        every, taken = self._allocation.nodes, {n for one in self._running for n in one._nodelist}
        free, asked = [node for node in every if node not in taken], job.asked_nodes or ()
        count = -(-(job.num_tasks or 1) // (job.num_tasks_per_node or 1))
        if lacking := sorted(set(asked) - set(every)):
            self._end(job, Loss(f"{self._named} lacks {', '.join(lacking)}", "refused", ran=False))
            return []
        if asked:
            return list(asked) if set(asked) <= set(free) else None
        if count > len(every):
            said = f"{self._named}, {', '.join(sorted(every))}, lacks {count} nodes"
            self._end(job, Loss(f"{said}: ask for more --nodes", "refused", ran=False))
            return []
        return self._allocation.drawn(count, free, job.drawn_by)

    def _begin(self, job: Any, nodes: list[str]) -> None:
        per_node, files = job.num_tasks_per_node or 1, (str(job.stdout), str(job.stderr))
        options = [f"--job-name={_run_name()}.{job.name}"]
        # In the minutes in which Slurm counts. Where the allocation ends before, Slurm may refuse a
        # step that is longer than the longest job of its partition.
        left_s = self._allocation.ends_at - time.monotonic()
        minutes = math.ceil((job.needs_s or 0) / 60) + 1
        if job.needs_s is not None and 60 * minutes <= left_s:
            options.append(f"--time={minutes}")
        job._nodelist, job._nodespec, job._state = nodes, ",".join(nodes), "RUNNING"
        ranks = job.num_tasks or 1
        step = self._allocation.step(".", nodes, ranks, per_node, files=files, options=options)
        job.step = _Step([*step, "bash", job.script_filename], Path(job.workdir))
        self._running.append(job)

    def _end_if_overdue(self, job: Any) -> None:
        """End a step that Slurm does not begin, or does not end long after its time."""
        began = bool(job.step.name)
        longest_s = _STEP_PATIENCE_S + ((job.needs_s or math.inf) if began else 0.0)
        if not job.step.over() and time.monotonic() - job.step.since > longest_s:
            did = "end" if began else "start"
            told = f"Slurm did not {did} the step within {longest_s:.0f} s: {_said_by_srun(job)}"
            job.loss = Loss(told, "slurm", ran=began)
            job.step.end()

    def _take_over(self, job: Any) -> None:
        """Take over how the launch of a job ended."""
        step, job.ended = job.step, Moment.now()
        self._ending.append(step)
        job._jobid = step.name or job._jobid
        job._exitcode = step.process.returncode if step.status is None else step.status
        if step.status != 0:
            step.clear()
        if step.status == 0:
            job._state, job.loss = "COMPLETED", None
        else:
            self._end(job, job.loss or self._loss_of(job))

    def _loss_of(self, job: Any) -> Loss | None:
        """Why a launch that did not end well has no result of its own; None: it has one."""
        began = bool(job.step.name)
        try:
            end = self._allocation_job.end_reason()
        except ControllerSilentError as silence:
            return Loss(f"{silence}", "slurm", ran=began)
        if end is not None:
            self._over = f"{self._named} {end}"
            return Loss(self._over, "allocation", ran=began)
        if began:
            return None
        said = _said_by_srun(job)
        fault: Fault = "allocation" if NO_MORE_STEPS in said else "slurm"
        return Loss(f"Slurm did not start the step: {said}", fault, ran=False)

    def _end(self, job: Any, loss: Loss | None) -> None:
        job.loss, job._state = loss, "FAILED"


class _LocalJob(_SlurmJob):
    @property
    def nodelist(self) -> Any:
        """The nodes that it was given."""
        return self._nodelist


class LocalSteps(AllocationScheduler):
    """Scheduler of jobs as steps on this machine, each kept by launch/keeper.py."""

    def make_job(self, *args: Any, **keys: Any) -> _SlurmJob:
        """A job whose nodes Slurm need not tell."""
        return _LocalJob(*args, **keys)

    _told = staticmethod(lambda: told_allocation() or this_machine())
    leaves_processes = staticmethod(lambda: False)
    dead_nodes = staticmethod(lambda names: None)  # noqa: ARG005  of the same name

    def _loss_of(self, job: Any) -> Loss | None:
        if job.step.name:
            return None
        told = f"the launch was not started: {_said_by_srun(job)}"
        return Loss(told, "nodes", ran=False)


def _said_by_srun(job: Any) -> str:
    return last_words((Path(job.workdir) / _SRUN).read_text(errors="replace"))


with suppress(ConfigError):  # ReFrame loads this file anew where it looks for tests in folders
    register_scheduler("assay-slurm")(AssaySlurmScheduler)
    register_scheduler("assay-allocation")(AllocationScheduler)
    register_scheduler("assay-local")(LocalSteps)
