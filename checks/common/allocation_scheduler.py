# SPDX-License-Identifier: Apache-2.0
"""ReFrame scheduler `assay-allocation`: each job is a step of an allocation granted already.

Slurm places and runs the steps; here is only chosen which nodes a launch gets: those that it asks
for, or free ones drawn at random. Launches begin in the order in which they are handed in. One
that is to be undisturbed waits until no other runs, and the others wait for it.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from pathlib import Path
from typing import Any

from reframe.core.backends import register_scheduler
from reframe.core.schedulers.slurm import SqueueJobScheduler

from checks.common.allocation import ALLOCATION, ENDING_S, Allocation, without_slurm
from checks.common.faults import Loss
from checks.common.queue_reasons import last_words
from checks.common.scheduler import END_MARKER, HEARTBEAT_S, tell
from checks.common.slurm_answers import cancel, described, fields

#: File in the job's working folder in which its step leaves its name.
_STEP = "launch.step"
#: File beside it with what srun itself says.
_SRUN = "launch.srun"
#: Seconds that srun has to end its step, once it is told to.
_CANCELLING_S = 10.0


@register_scheduler("assay-allocation")
class AllocationScheduler(SqueueJobScheduler):
    """Runs jobs as steps of the allocation that the environment variable ALLOCATION describes.

    Adds to a job: `slurm` and `loss`, as assay-slurm does, and `neighbours`: the nodes of each
    launch that ran beside it, by its index. A check may set `launch_index`, `asked_nodes`,
    `undisturbed` and `needs_s`, the longest time that it may take.
    """

    def __init__(self) -> None:
        super().__init__()
        self._allocation = Allocation.model_validate_json(os.environ[ALLOCATION])
        self._waiting: list[Any] = []
        self._running: list[Any] = []
        self._handed_in = 0

    def submit(self, job: Any) -> None:
        """Put the job behind those that wait; it begins as soon as its nodes are free."""
        self._handed_in += 1
        job._jobid, job._state = f"{self._allocation.job_id}.{self._handed_in}", "PENDING"
        job.slurm, job.loss, job.neighbours, job.process = {}, None, {}, None
        job.handed_in = job._submit_time = time.time()
        job.told_at = time.monotonic()
        job.place = getattr(job, "launch_index", -1)
        self._waiting.append(job)
        self._begin_next()

    def poll(self, *jobs: Any) -> None:
        """Take over what has ended, and begin what waits."""
        for job in [job for job in self._running if job.process.poll() is not None]:
            self._running.remove(job)
            self._take_over(job)
        self._begin_next()
        for job in self._running:
            if time.monotonic() - job.told_at > HEARTBEAT_S:
                tell(job, "running", "")

    def cancel_many(self, jobs: Any) -> None:
        """End jobs: srun ends its step when it is told to end itself."""
        for job in jobs:
            job._is_cancelling = True
            if job in self._waiting:
                self._waiting.remove(job)
                job._state = "CANCELLED"
            elif job.process is not None and job.process.poll() is None:
                job.process.terminate()
                try:
                    job.process.wait(_CANCELLING_S)
                except subprocess.TimeoutExpired:
                    cancel(*self._step_of(job))
                    job.process.kill()

    def wait(self, job: Any) -> None:
        """Wait until the job has ended."""
        while not self.finished(job):
            self.poll(job)
            time.sleep(0.05)

    def _begin_next(self) -> None:
        """Begin the jobs whose turn it is, as many as there are nodes for."""
        while self._waiting:
            job = self._waiting[0]
            if self._running and (self._undisturbed(job) or self._undisturbed(self._running[0])):
                return
            nodes, late = self._nodes_for(job), self._too_late_for(job)
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
                self._end(job, Loss(f"{self._named()} lacks {_list(lacking)}", "refused", False))
                return []
            return list(asked) if set(asked) <= set(free) else None
        per_node = job.num_tasks_per_node or 1
        count = -(-(job.num_tasks or 1) // per_node)
        if count > len(self._allocation.nodes):
            said = f"{self._named()} has {len(self._allocation.nodes)} nodes, {count} are needed"
            self._end(job, Loss(said, "refused", ran=False))
            return []
        if count > len(free):
            return None
        return self._allocation.drawn(count, free, job.place)

    def _too_late_for(self, job: Any) -> str | None:
        """Why the job might not end before the allocation does; None: it will."""
        left_s = max(0.0, self._allocation.ends_at - ENDING_S - time.time())
        needed_s = getattr(job, "needs_s", 0.0)
        if left_s >= needed_s:
            return None
        return f"{self._named()} lasts {left_s:.0f} s more, {needed_s:.0f} s may be needed"

    def _begin(self, job: Any, nodes: list[str]) -> None:
        per_node = job.num_tasks_per_node or 1
        step = self._allocation.step("./allocated.sh", nodes, job.num_tasks or 1, per_node)
        step[1:1] = [f"--job-name={job.name}", f"--output={job.stdout}", f"--error={job.stderr}"]
        job._nodelist, job._nodespec, job._state = nodes, ",".join(nodes), "RUNNING"
        for other in self._running:
            other.neighbours[job.place] = nodes
            job.neighbours[other.place] = other._nodelist
        with (Path(job.workdir) / _SRUN).open("wb") as said:
            job.process = subprocess.Popen(
                [*step, "bash", job.script_filename],
                cwd=job.workdir,
                env=without_slurm(os.environ),
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
            )
        self._running.append(job)

    def _take_over(self, job: Any) -> None:
        """What has become of a job whose step is over."""
        job._exitcode = job.process.returncode
        if (Path(job.workdir) / END_MARKER).exists():
            job._state = "FAILED" if job._exitcode else "COMPLETED"
        else:
            ran = (Path(job.workdir) / _STEP).exists()
            told = fields(described("job", self._allocation.job_id).stdout)
            state = told.get("JobState", "RUNNING")
            if state != "RUNNING":
                loss = Loss(f"{self._named()} ended {state}", "allocation", ran=ran)
            elif not ran:
                said = last_words((Path(job.workdir) / _SRUN).read_text(errors="replace"))
                loss = Loss(f"Slurm did not start the step: {said}", "slurm", ran=False)
            else:
                loss = None
            self._end(job, loss)
        job._jobid = (self._step_of(job) or [job._jobid])[0]

    def _end(self, job: Any, loss: Loss | None) -> None:
        job.loss, job._state = loss, "FAILED"

    def _step_of(self, job: Any) -> list[str]:
        """The step in Slurm's words, e.g. 12.7; nothing where it has not begun."""
        try:
            step = (Path(job.workdir) / _STEP).read_text().strip()
        except OSError:
            return []
        return [step.replace("-", ".")] if re.fullmatch(r"\d+-\d+", step) else []

    def _named(self) -> str:
        return f"allocation {self._allocation.job_id}"


def _list(names: set[str]) -> str:
    return ", ".join(sorted(names))
