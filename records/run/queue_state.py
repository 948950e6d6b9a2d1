# SPDX-License-Identifier: Apache-2.0
"""State of a run's current launch, which waits or runs: said by its session, kept for readers.

The file is in the run directory while a driver runs and a launch takes long enough to be asked
for; it is no part of what a run is judged by.
"""

from pathlib import Path
from typing import Annotated, Literal

import msgspec

from records.errors import AssayError
from records.files import write_whole
from records.forms import Part, key
from records.input_files import read_whole

#: `pending`: in Slurm's queue; `not-taken`: Slurm takes no further job now; `running`: on nodes.
State = Literal["pending", "not-taken", "running"]

#: Name of the file in a run directory.
FILE = "queue.json"


class QueueState(Part, kw_only=True):
    """Job of a launch in Slurm's queue."""

    state: Annotated[State, key("In the queue, not taken by Slurm now, or on nodes.")]
    launch: Annotated[int, key("The launch's number in its session; -1: a build.")] = -1
    job_id: Annotated[str | None, key("Slurm's id of the job.")] = None
    reason: Annotated[str, key("Slurm's reason why it waits.")] = ""
    since: Annotated[str, key("Since when (UTC).")]
    waited_s: Annotated[float, key("Seconds since the job was handed in.")] = 0.0
    expected_start: Annotated[str | None, key("Slurm's own estimate (UTC).")] = None

    @property
    def waiting(self) -> bool:
        """Tell whether the launch has not begun."""
        return self.state != "running"

    def told(self) -> str:
        """In words: since when, why, and when Slurm expects it to begin."""
        job = f" (job {self.job_id})" if self.job_id else ""
        since, reason = readable_time(self.since), f": {self.reason}" if self.reason else ""
        if self.state == "running":
            return f"runs since {since}{job}"
        if self.state == "not-taken":
            return f"waits since {since} for Slurm to take its job{reason}"
        start = readable_time(self.expected_start) if self.expected_start else "not known"
        return f"waits since {since}{job}{reason}; estimated start: {start}"


class CurrentJob(Part, kw_only=True):
    """Job that the driver of a run is at."""

    what: Annotated[str, key("Purpose of the job.")]
    queue: Annotated[QueueState, key("Where the job is.")]


def readable_time(time: str) -> str:
    """ "2026-11-22T08:00:00.000Z" -> "2026-11-22 08:00:00 UTC"."""
    return f"{time[:10]} {time[11:19]} UTC"


def write_current(run: Path, current: CurrentJob | None) -> None:
    """Keep what the run's driver is at; None: it is at nothing that is worth telling."""
    if current is None:
        (run / FILE).unlink(missing_ok=True)
    else:
        write_whole(run / FILE, msgspec.json.encode(current))


def read_current(run: Path) -> CurrentJob | None:
    """Job that the run's driver is at, as far as it is known; None where nothing fit is kept."""
    try:
        current = msgspec.json.decode(read_whole(run / FILE), type=CurrentJob)
    except (AssayError, msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return current if current.queue.told().isprintable() else None
