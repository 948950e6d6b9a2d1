# SPDX-License-Identifier: Apache-2.0
"""What has become of an allocation of many launches, by what Slurm says of its job."""

from __future__ import annotations

import time
from collections.abc import Mapping

from checks.common.slurm.allocation import ENDING_S
from checks.common.slurm.commands import described, fields, job_line, left_s
from checks.common.slurm.reasons import last_words
from checks.common.slurm.scheduler import CONTROLLER_PATIENCE_S, QUIET_POLL_S

#: Seconds for which a job's end is waited for whose nodes Slurm still clears, and between looks.
_CLEARING_S, _CLEARING_LOOK_S = 15.0, 0.5
#: What became of a job, by Slurm's state of it.
_ENDS = {
    "CANCELLED": "was cancelled",
    "COMPLETED": "was given back before its launches had ended",
    "COMPLETING": "ended; Slurm has not said why, as its nodes are not clear yet",
    "DEADLINE": "reached its deadline",
    "FORGOTTEN": "ended; Slurm has forgotten it",
    "NODE_FAIL": "lost a node",
    "OUT_OF_MEMORY": "ran out of memory",
    "PREEMPTED": "was preempted by another job",
    "TIMEOUT": "reached its time limit",
}


class ControllerSilentError(Exception):
    """Slurm's controller does not tell what it was asked; the message says for how long."""


class AllocationEnd:
    """Asks Slurm what has become of one job."""

    def __init__(self, job_id: str) -> None:
        self._job_id = job_id
        self._silent_at: float | None = None

    def told(self) -> str | None:
        """What became of the job; None: it runs, and goes on. Raises ControllerSilentError.

        Slurm says it once the job's nodes are clear, or later where one of them does not answer.
        """
        end = time.monotonic() + _CLEARING_S
        told = self._asked()
        while told["JobState"] == "COMPLETING" and time.monotonic() < end:
            time.sleep(_CLEARING_LOOK_S)
            told = self._asked()
        state = told["JobState"]
        return _end_to_come(told) if state == "RUNNING" else _ENDS.get(state, f"ended {state}")

    def _asked(self) -> dict[str, str]:
        """What Slurm says of the job, asked again while its controller does not answer.

        Where it has been silent just now, once is enough.
        """
        begun = time.monotonic()
        lately = self._silent_at is not None and begun - self._silent_at < CONTROLLER_PATIENCE_S
        end = begun if lately else begun + CONTROLLER_PATIENCE_S
        while True:
            answer = described("job", self._job_id)
            told = fields(job_line(answer.stdout, self._job_id))
            if answer.returncode == 0 and "JobState" in told:
                self._silent_at = None
                return told
            if "Invalid job id" in answer.stderr:
                return {"JobState": "FORGOTTEN"}
            if time.monotonic() >= end:
                break
            time.sleep(QUIET_POLL_S)
        self._silent_at = time.monotonic()
        raise ControllerSilentError(
            f"Slurm's controller did not answer for {CONTROLLER_PATIENCE_S:.0f} s:"
            f" {last_words(answer.stderr)}"
        )


def _end_to_come(told: Mapping[str, str]) -> str | None:
    """Why a job that still runs has been told to end; None: it has not.

    Preempted, it runs on for a time of grace, but its steps get a signal at once.
    """
    if told.get("PreemptTime", "None") not in ("None", "Unknown"):
        return "is being preempted by another job"
    rest_s = left_s(told)
    if rest_s is not None and rest_s < ENDING_S:
        return "is at the end of its time limit"
    return None
