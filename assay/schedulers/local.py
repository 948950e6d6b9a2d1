# SPDX-License-Identifier: Apache-2.0
"""This machine alone as a site: each launch is a step of it, kept by launch/keeper.py."""

import os
import signal
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from assay.commands import Pause
from assay.schedulers.seam import Scheduler
from assay.terminal import Say
from checks.common.slurm.job import RUN_ID, Allocation, this_machine
from records.errors import InfrastructureError
from records.run.plan import PlannedCase
from records.run.provenance import SlurmAsRun
from records.waiting import JOBS_END_S, scaled


class LocalScheduler(Scheduler):
    """No scheduler: one launch at a time on one node, without a queue."""

    jobs = steps = "assay-local"
    alone = "assay-none"
    told = "launches run on this machine, one at a time, without Slurm and without a network"
    absent: ClassVar[Mapping[str, str]] = {
        name: f"{name} needs its daemons on the nodes of a cluster, and this is one machine"
        for name in ("lam", "lam-lamd", "pvm")
    }

    def require(self) -> None:
        """Ask nobody: it is here."""

    def identity(self) -> str:
        """The machine's name."""
        return socket.gethostname()

    def facts(self) -> SlurmAsRun:
        """None: there is no Slurm."""
        return SlurmAsRun()

    def limits(self) -> tuple[int | None, int | None]:
        """A job has one node, and the seconds of the site's file."""
        return 1, self.site.description.longest_job_s

    def nodes(self) -> list[str]:
        """The machine."""
        return this_machine().nodes

    def lacking(self, nodes: int) -> str | None:
        """The other nodes."""
        return f"launches need {nodes} nodes, and this is one machine" if nodes > 1 else None

    def allocation(self, cases: Sequence[PlannedCase], seed: int, say: Say) -> Allocation:
        """The machine, for every run."""
        del cases, seed, say
        return this_machine()

    def end(self, run: str, own: Allocation | None, pause: Pause, clear_s: float) -> None:
        """Found by the run's name in their environment; of a keeper that was killed nothing else
        tells. Raises InfrastructureError where one does not end."""
        del own, clear_s
        begun = time.monotonic()
        while left := [*_processes_of(run)]:
            if time.monotonic() - begun > scaled(JOBS_END_S):
                raise InfrastructureError(f"process {left[0]} of this run does not end")
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            pause(0.05)


def _processes_of(run: str) -> Iterator[int]:
    """Processes of this user that a session of the run has started, without those that have ended
    and are not waited for."""
    mark = f"{RUN_ID}={run}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
            if mark in (folder / "environ").read_bytes().split(b"\0") and state != "Z":
                yield int(folder.name)
