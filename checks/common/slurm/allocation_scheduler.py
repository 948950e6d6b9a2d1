# SPDX-License-Identifier: Apache-2.0
"""ReFrame scheduler `assay-allocation`: each job is a step of an allocation granted already.

Slurm places and runs the steps; here is only chosen which nodes a launch gets: those that it asks
for, or free ones drawn at random. Launches begin in the order in which they are handed in. One
that is to be undisturbed waits until no other runs, and the others wait for it. Jobs are handed in
while others run, so that nothing but their steps is left to be begun when their turn comes.
"""

from __future__ import annotations

import math
import os
import re
import select
import subprocess
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from reframe.core.backends import register_scheduler
from reframe.core.schedulers.slurm import SqueueJobScheduler

from checks.common.session.outcome import Fault, Loss, Moment
from checks.common.slurm.allocation import ENDING_S, told_allocation
from checks.common.slurm.commands import HERE
from checks.common.slurm.job import ControllerSilentError, SlurmJob, last_words
from checks.common.slurm.scheduler import HEARTBEAT_S, dialogue, step_name
from records.waiting import STEP_END_S, scaled

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


@register_scheduler("assay-allocation")
class AllocationScheduler(SqueueJobScheduler):
    """Runs jobs as steps of the allocation in the file that the variable ALLOCATION names.

    Adds to a job: `slurm` and `loss`, as assay-slurm does, and `neighbours`: the nodes of each
    launch that ran at the same time, by its index. A check may set `launch_index`, `drawn_by`,
    which names the launch when its nodes are drawn, `asked_nodes`, `undisturbed` and `needs_s`, the
    longest time that it may take.
    """

    def __init__(self) -> None:
        super().__init__()
        allocation = told_allocation()
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
        job._jobid, job._state = f"{self._allocation.job_id}.{self._handed_in}", "PENDING"
        job.slurm, job.loss, job.neighbours, job.step = {}, None, {}, None
        job.dialogue = dialogue(job, job._jobid)
        job.handed_in = job.ended = job.dialogue.handed_in
        job._submit_time = job.handed_in.wall
        job.place = getattr(job, "launch_index", -1)
        self._waiting.append(job)
        self._begin_next()

    def poll(self, *jobs: Any) -> None:
        """Take over what has ended, and begin what waits."""
        self._ending = [step for step in self._ending if step.process.poll() is None]
        for job in self._running:
            self._end_if_overdue(job)
        ended = [job for job in self._running if job.step.over()]
        for job in ended:
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
        while self._waiting:
            job = self._waiting[0]
            if len(self._running) >= self._allocation.at_once:
                return
            if self._running and (self._undisturbed(job) or self._undisturbed(self._running[0])):
                return
            late = self._over or self._too_late_for(job)
            nodes = self._nodes_for(job)
            if nodes is None or (late and self._running):
                return
            self._waiting.remove(job)
            if late:
                self._end(job, Loss(late, "allocation", ran=False))
            elif job.loss is None:
                self._begin(job, nodes)

    def _undisturbed(self, job: Any) -> bool:
        return bool(getattr(job, "undisturbed", True))

    def _nodes_for(self, job: Any) -> list[str] | None:
        """The nodes that the job gets; None: they are not free yet."""
        taken = {node for other in self._running for node in other._nodelist}
        free = [node for node in self._allocation.nodes if node not in taken]
        if asked := getattr(job, "asked_nodes", None):
            lacking = set(asked) - set(self._allocation.nodes)
            if lacking:
                self._end(job, Loss(f"{self._named} lacks {_list(lacking)}", "refused", False))
                return []
            return list(asked) if set(asked) <= set(free) else None
        count = -(-(job.num_tasks or 1) // (job.num_tasks_per_node or 1))
        if count > len(self._allocation.nodes):
            said = f"{self._named}, {_list(self._allocation.nodes)}, lacks {count} nodes"
            self._end(job, Loss(f"{said}: ask for more --nodes", "refused", ran=False))
            return []
        return self._allocation.drawn(count, free, getattr(job, "drawn_by", job.name))

    def _too_late_for(self, job: Any) -> str | None:
        """Why the job might not end before the allocation does, or None."""
        left_s = max(0.0, self._allocation.ends_at - ENDING_S - time.monotonic())
        needed_s = getattr(job, "needs_s", 0.0)
        if left_s < needed_s:
            return f"{self._named} lasts {left_s:.0f} s more, {needed_s:.0f} s may be needed"
        return None

    def _begin(self, job: Any, nodes: list[str]) -> None:
        per_node, files = job.num_tasks_per_node or 1, (str(job.stdout), str(job.stderr))
        step = self._allocation.step("./allocated.sh", nodes, job.num_tasks or 1, per_node, files)
        step[1:1] = [f"--job-name={step_name(job.name)}"]
        # In the minutes in which Slurm counts. Where the allocation ends before, Slurm may refuse a
        # step that is longer than the longest job of its partition.
        needs_s, left_s = getattr(job, "needs_s", None), self._allocation.ends_at - time.monotonic()
        if needs_s is not None and 60 * (minutes := math.ceil(needs_s / 60) + 1) <= left_s:
            step[1:1] = [f"--time={minutes}"]
        job._nodelist, job._nodespec, job._state = nodes, ",".join(nodes), "RUNNING"
        for other in self._running:
            if not other.step.over():
                other.neighbours[job.place] = nodes
                job.neighbours[other.place] = other._nodelist
        job.step = _Step([*step, "bash", job.script_filename], Path(job.workdir))
        self._running.append(job)

    def _end_if_overdue(self, job: Any) -> None:
        """End a step that Slurm does not begin, or does not end long after its time."""
        began = bool(job.step.name)
        longest_s = _STEP_PATIENCE_S + (getattr(job, "needs_s", math.inf) if began else 0.0)
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


def _said_by_srun(job: Any) -> str:
    return last_words((Path(job.workdir) / _SRUN).read_text(errors="replace"))


def _list(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
