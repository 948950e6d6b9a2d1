# SPDX-License-Identifier: Apache-2.0
"""Allocation of many launches: asked of Slurm once, and again when its time is used up.

A job of the run holds the nodes; launches are its steps. It ends with the run, and by itself when
the harness is gone: its script waits for a beat that the harness renews. A harness that runs in a
job with enough nodes uses that one.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

from assay.probe.job import Job, JobFolder
from assay.run.infrastructure import end_steps
from assay.run.nodes import granted, holds_nodes, nodes_far_apart
from assay.run.progress import Waiting
from assay.run.work_folder import WorkFolder
from assay.sites.site import Site
from assay.terminal import Say
from checks.common.slurm.allocation import ENDING_S, Allocation
from records.errors import AssayError, ExitStatus, InfrastructureError
from records.run.plan import Plan

#: Seconds between two beats, and after which a script that hears none ends.
BEAT_S, SILENCE_S = 30, 900
#: Seconds between two looks of the script.
_LOOK_S = 10
#: How much longer than estimated launches may take, and seconds for the start of an allocation.
_SLACK, START_S = 1.5, 60.0


#: What holds the nodes until the beat in the folder stays away.
_SCRIPT = f"""\
#!/bin/bash
cd {{folder}} || exit 1
silent=0 last=
while [ "$silent" -lt {SILENCE_S} ]; do
    sleep {_LOOK_S}
    read -r beat <beat
    if [ "$beat" = "$last" ]; then silent=$((silent + {_LOOK_S})); else silent=0; fi
    last=$beat
done
"""


@dataclass(frozen=True)
class InOneJob:
    """Launches share an allocation. `inherited`: the job that the harness runs in, which no
    other follows. `limit_s`: the time to ask for; None: what launches are estimated to take."""

    limit_s: float | None = None
    inherited: Allocation | None = None


def nodes_at_once(plan: Plan, site: Site) -> int:
    """Number of nodes that an allocation needs: as --nodes says, else those of the widest launch,
    or of several at a time."""
    if said := plan.narrowed.get("nodes"):
        return int(str(said))
    cases = [case for case in plan.cases if case.skipped is None]
    widest = max((case.nodes for case in cases), default=1)
    side_by_side = min(site.description.concurrency, len(cases)) * widest
    return max(widest, min(site.facts().nodes, side_by_side))


class Allocations:
    """The allocation that launches of a plan are run in now; another one when it is over. `asked`:
    how they share one; None: each has a job of its own."""

    def __init__(
        self,
        site: Site,
        work: WorkFolder,
        waiting: Waiting,
        pause: Callable[[float], None],
        asked: InOneJob | None,
        *,
        plan: Plan,
        say: Say,
    ) -> None:
        self._site, self._work, self._waiting, self._pause = site, work, waiting, pause
        self._plan, self._asked, self._say = plan, asked, say
        #: Whether launches share an allocation.
        self.shared = asked is not None
        self._inherited = self._now = None if asked is None else asked.inherited
        #: Why the job that the harness runs in serves no more.
        self._over = ""
        self._held = ExitStack()
        self._folder: JobFolder | None = None
        self._beats, self._beat_at, self._unheard = 0, 0.0, False
        #: Jobs of this run whose nodes were given back; Slurm may still clear them.
        self.given_back: set[str] = set()

    @property
    def job_id(self) -> str | None:
        """The job of the current allocation, if it is this run's."""
        return None if self._now is None or self._now is self._inherited else self._now.job_id

    def with_time_for(
        self, next_s: float, longest_s: float, estimate_s: float
    ) -> Allocation | None:
        """An allocation that lasts for the next launch, which may take `next_s`; None: launches
        have jobs of their own. `longest_s`: what any of the launches to come may take,
        `estimate_s`: what all of them probably do. Raises AssayError where there is none."""
        if self._asked is None:
            return None
        now = self._now
        if now is not None and now.ends_at - ENDING_S - time.monotonic() >= next_s:
            return now
        if self._inherited is not None:
            too_late = f"less than the {next_s:.0f} s are left that the next launch may take"
            raise AssayError(
                f"job {self._inherited.job_id}, in which assay runs, serves no more launches:"
                f" {self._over or too_late}; what is done is kept. Go on in another job, or outside"
                " of one",
                ExitStatus.INCONCLUSIVE,
            )
        self.end()
        self._now = self._new(longest_s, estimate_s, self._asked.limit_s)
        return self._now

    def _new(self, longest_s: float, estimate_s: float, limit_s: float | None) -> Allocation:
        described, needed_s = self._site.description, longest_s + ENDING_S + START_S
        wanted_s = limit_s or max(needed_s, _SLACK * estimate_s + needed_s)
        wanted_s = min(wanted_s, described.longest_job_s or wanted_s)
        if wanted_s < longest_s + ENDING_S:
            raise AssayError(
                f"an allocation of {wanted_s:.0f} s is too short: a launch may take"
                f" {longest_s:.0f} s, and {ENDING_S:.0f} s are kept for its end. Give more --time,"
                " or a smaller limits.launch_s"
            )
        minutes, seconds = divmod(int(wanted_s), 60)
        among = nodes_far_apart(self._plan.cases, self._site)
        count = max(nodes_at_once(self._plan, self._site), len(among))
        options = [*described.access, f"--comment=assay-{self._work.name}", "--no-requeue"]
        options += ["--exclusive", f"--nodes={count}", f"--time={minutes}:{seconds:02}"]
        options += [f"--nodelist={','.join(among)}"] if among else []
        self._folder = self._held.enter_context(JobFolder(self._site, str(self._work.held)))
        self._put_beat(self._folder)
        watch = partial(self._waiting.heed, what="the allocation of all launches")
        job = self._held.enter_context(Job(self._folder, "allocation", self._pause, watch))
        job.submit(_SCRIPT.format(folder=shlex.quote(str(self._folder.path))), options)
        job.started()
        self._waiting.over()
        if not holds_nodes(job.described):
            raise InfrastructureError(f"allocation {job.job_id} ended as soon as it began")
        return granted(self._site, job.described, self._plan.seed)

    def beat(self) -> None:
        """Tell the job that holds the nodes that they are still needed; call it often. A beat that
        fails is reported once, and tried again: the job bears a long silence."""
        if self._folder is None or time.monotonic() - self._beat_at <= BEAT_S:
            return
        try:
            self._put_beat(self._folder)
            self._unheard = False
        except (AssayError, OSError) as error:
            if not self._unheard:
                self._say(f"the job that holds the nodes hears nothing now, trying again: {error}")
            self._beat_at, self._unheard = time.monotonic(), True

    def _put_beat(self, folder: JobFolder) -> None:
        self._beats += 1
        folder.put({"beat": f"{self._beats}\n".encode()})
        self._beat_at = time.monotonic()

    def end_steps(self) -> None:
        """End what launches that are over have left in the job."""
        if (job := self._now or self._inherited) is not None:
            end_steps(self._site, self._work.name, job.job_id)

    def over(self, why: str) -> None:
        """The current allocation has ended by itself, or has no time or no steps left."""
        if self._now is not self._inherited:
            self.end()
        else:
            self._now, self._over = None, why

    def end(self) -> None:
        """Give the nodes back, but those of the job that the harness runs in."""
        if (job := self.job_id) is not None:
            self.given_back.add(job)
            self._now = None
        self._folder = None
        self._held.close()
