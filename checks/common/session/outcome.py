# SPDX-License-Identifier: Apache-2.0
"""A launch as a session is asked for it, and its outcome, as a check sends it to the harness: one
JSON line on a pipe.

The harness that started the ReFrame session gives the pipe's descriptor in OUTCOME_FD and turns
each line into a record. Without the variable nothing is sent.
"""

from __future__ import annotations

import errno
import os
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from checks.common.slurm.commands import slurm_seconds
from records.metric import Metric
from records.run.queue_state import QueueState
from records.run.record import Status

#: Environment variable with the number of the descriptor that takes outcomes.
OUTCOME_FD = "ASSAY_OUTCOME_FD"
#: Environment variable with the LD_LIBRARY_PATH of jobs, where the session's Python needs another.
JOBS_LIBRARIES = "ASSAY_JOBS_LIBRARIES"
#: Environment variable with the folder of the programs that launches run, which stay from session
#: to session.
PROGRAMS = "ASSAY_PROGRAMS"

#: Launches of this session whose outcome was sent.
_sent: set[int] = set()


class Launch(msgspec.Struct, frozen=True):
    """Launch to come: a case's content, its layout, block and attempt. `undisturbed`: no other
    runs meanwhile. A line of a session's list."""

    index: int
    case_id: str
    check: str
    environment: str
    params: dict[str, Any]
    ranks: int
    ranks_per_node: int
    nodes: int
    block: int
    attempt: int
    limit_s: float
    undisturbed: bool = True
    cpus_per_task: int | None = None
    resources: dict[str, dict[str, int | str]] = {}

    @property
    def key(self) -> tuple[str, int]:
        """Case and block: what gets one record that counts."""
        return self.case_id, self.block


class BuildFailure(msgspec.Struct, forbid_unknown_fields=True):
    """A build that failed: of what, for which environment, and all that it printed."""

    environment: str
    program: str
    output: str


class CompleteBuild(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A build that is complete, and in the folder of programs."""

    environment: str
    program: str


class Outcome(msgspec.Struct, forbid_unknown_fields=True):
    """Message of a session on a launch; `launch_index` is its place in the list of launches.

    Without a status the launch was not run because of a `fault` of the infrastructure, or the
    message is of no launch: `build` failed, one was `built` and can be kept, `progress` says what
    the session is doing, or `queue` where the current job is.
    `files` are paths of the raw output: script, stdout, stderr; and of the values of a scan.
    `programs` are paths of what the launch executes, apart from its launcher and the site's
    commands. `started_at`, `ended_at` and, of jobs that are handed in at once, `submitted_at` are
    UTC.
    """

    status: Status | None = None
    reason: str | None = None
    metrics: list[Metric] = []
    flags: list[str] = []
    profile: list[dict[str, Any]] | None = None
    launch_index: int = -1
    job_id: str | None = None
    nodes: list[str] = []
    started_at: str | None = None
    ended_at: str | None = None
    submitted_at: str | None = None
    files: dict[str, str] = {}
    programs: list[str] = []
    progress: str | None = None
    fault: Fault | None = None
    build: BuildFailure | None = None
    built: CompleteBuild | None = None
    queue: QueueState | None = None


def check_encoding(outcome: Outcome) -> None:
    """Raises an exception unless the harness can read the outcome as it is sent."""
    msgspec.json.decode(msgspec.json.encode(outcome), type=Outcome)


def emit(check: Any, outcome: Outcome, interval: tuple[float, float] | None) -> None:
    """Complete `outcome` with what `check` knows of its job, and write it to the pipe.

    `interval` is the job's own begin and end in seconds since 1970; None: Slurm's, in whole
    seconds.
    """
    job, stage = check.job, Path(check.stagedir)
    outcome.launch_index = check.launch_index
    outcome.job_id = str(job.jobid) if job.jobid not in (None, "0") else None
    outcome.nodes = list(job.nodelist or [])
    outcome.programs = check.executed
    begin, end = interval or [
        slurm_seconds(job.slurm.get(key, "")) for key in ("StartTime", "EndTime")
    ]
    if begin is not None and end is not None:
        end = max(begin, end)  # where a clock was set back meanwhile
    outcome.started_at, outcome.ended_at = iso_time(begin), iso_time(end)
    partition = check.current_partition
    if partition.max_jobs > 1 and partition.scheduler.registered_name == "assay-slurm":
        outcome.submitted_at = iso_time(job.handed_in.wall)
    names = {"script": job.script_filename, "stdout": job.stdout, "stderr": job.stderr}
    outcome.files |= {kind: str(stage / name) for kind, name in names.items()}
    send(outcome)


def report_refusal(launch_index: int, reason: str, fault: Fault | None = None) -> None:
    """Tell the harness that a launch was not started, and why: failed, or for a fault not run."""
    if launch_index in _sent:
        return
    now = iso_time(datetime.now(UTC).timestamp())
    refused = Outcome(None if fault else "failed", reason, launch_index=launch_index, fault=fault)
    refused.started_at = refused.ended_at = now
    send(refused)


@cache
def outcome_pipe() -> int | None:
    """The harness's pipe, None without one; jobs, which inherit the environment, do not get it."""
    name = os.environ.pop(OUTCOME_FD, None)
    return None if name is None else int(name)


def send(message: Outcome) -> None:
    """Write a message to the harness's pipe, if there is one."""
    if message.launch_index >= 0:
        _sent.add(message.launch_index)
    descriptor = outcome_pipe()
    if descriptor is None:
        return
    line, written = msgspec.json.encode(message) + b"\n", 0
    while written < len(line):
        written += os.write(descriptor, line[written:])


def iso_time(seconds: float | None) -> str | None:
    """Seconds since 1970 as UTC, e.g. 2026-11-20T23:50:11.120Z; None stays None."""
    if seconds is None:
        return None
    text = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


#: `refused`: Slurm will not take the job as it is; `slurm`: it does not answer; `nodes`: too few
#: are up; `work-folder`: it is full, gone or not writable; `environment`: a module or its launcher
#: is missing; `allocation`: that of many launches is over, or too short for one more; `clock`: one
#: was set during the launch, or two are far apart.
Fault = Literal["refused", "slurm", "nodes", "work-folder", "environment", "allocation", "clock"]

#: What a launch writes at least; less than this left of a disk counts as full.
_PROBE_BYTES = 1 << 16
_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.ESTALE}


@dataclass(frozen=True)
class Loss:
    """Why a job gave no result of its own; `ran`: whether it had begun."""

    reason: str
    fault: Fault
    ran: bool


class WorkFolderError(Exception):
    """Something that the session put into the work folder is no longer there."""


def folder_trouble(folder: Path) -> str | None:
    """Why a launch cannot write into `folder`; None when it can."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(_PROBE_BYTES))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return f"work folder {folder}: {error.strerror}"
    return None


def fault_of(error: BaseException, folder: Path) -> Fault | None:
    """The fault behind an exception that kept a launch from being submitted, or None.

    `folder`: where the session writes; files missing elsewhere are the check's own fault.
    """
    cause: BaseException | None = error
    while cause is not None:
        full = isinstance(cause, OSError) and (cause.errno in _DISK or folder_trouble(folder))
        if full or isinstance(cause, WorkFolderError):
            return "work-folder"
        cause = cause.__cause__ or cause.__context__
    return None


@dataclass(frozen=True)
class Moment:
    """An instant by this host's clock (seconds since 1970), and by one that cannot be set."""

    wall: float
    steady: float

    @classmethod
    def now(cls) -> Moment:
        """This instant."""
        return cls(time.time(), time.monotonic())

    def ago_s(self) -> float:
        """Seconds since then, regardless of how the clock was set meanwhile."""
        return time.monotonic() - self.steady
