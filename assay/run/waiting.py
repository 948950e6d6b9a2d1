# SPDX-License-Identifier: Apache-2.0
"""Where a run's current launch is while it waits for Slurm: shown, kept for `assay status`.

What launches wait is counted apart from what they take, so that no limit of time runs meanwhile;
`limits.queue_s` alone ends a run for it.
"""

from __future__ import annotations

import time
from contextlib import suppress

from assay.run.progress import Progress
from records.errors import AssayError, ExitStatus
from records.queue_state import CurrentJob, QueueState, write_current
from records.run_directory import RunDirectory


class Waiting:
    """What the session of a run tells of its current job."""

    def __init__(self, run: RunDirectory, progress: Progress, limit_s: float | None) -> None:
        self._run, self._progress, self._limit_s = run, progress, limit_s
        self._begun, self._ended_s = time.monotonic(), 0.0
        self._since: float | None = None
        self._said = self._kept = ""

    @property
    def seconds(self) -> float:
        """How long launches have waited so far."""
        current = time.monotonic() - self._since if self._since is not None else 0.0
        return self._ended_s + current

    def heed(self, state: QueueState, what: str) -> None:
        """Take over what is told of the job of `what`, e.g. "startup-16ffe605, block 1".

        Raises AssayError when a job has waited for longer than the campaign allows.
        """
        if state.waiting and self._since is None:
            self._since = max(self._begun, time.monotonic() - state.waited_s)
        elif not state.waiting:
            self._end_wait()
        told = state.told()
        self._progress.doing(f"{what} {told}")
        if state.waiting and state.reason != self._said:
            self._progress.say(f"{what} {told}")
            self._said = state.reason
        if told != self._kept:
            self._keep(CurrentJob(what=what, queue=state), told)
        self._refuse_longer(what, state)

    def over(self) -> None:
        """The job has ended, or nobody asks for it any more."""
        self._end_wait()
        self._progress.doing(None)
        self._said = ""
        if self._kept:
            self._keep(None, "")

    def _keep(self, current: CurrentJob | None, told: str) -> None:
        # It is for readers: a full disk shows at the next record.
        with suppress(OSError):
            write_current(self._run.path, current)
        self._kept = told

    def _end_wait(self) -> None:
        self._ended_s, self._since = self.seconds, None

    def _refuse_longer(self, what: str, state: QueueState) -> None:
        if self._limit_s is None or self._since is None:
            return
        if time.monotonic() - self._since > self._limit_s:
            raise AssayError(
                f"limits.queue_s = {self._limit_s:g} is used up: {what} {state.told()}. What is"
                f" done is kept. Continue with: assay run --resume {self._run.path}",
                ExitStatus.INCONCLUSIVE,
            )
