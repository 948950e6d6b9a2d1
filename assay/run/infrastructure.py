# SPDX-License-Identifier: Apache-2.0
"""Asks whether Slurm, the work folder and the nodes work; ends the jobs of a run; takes signals
that ask a run to end.

Each question has a time limit, for what is asked may hang.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from assay.sites.site import Site
from checks.common.slurm.commands import Answer, Slurm, is_down, pairs
from records.errors import InfrastructureError, UnreachableError
from records.waiting import CLEARING_S, JOBS_END_S, SLURM_COMMAND_S, scaled

#: Seconds between two times that the jobs of a run are cancelled.
_AGAIN_S = 5.0
#: Signals that ask a run to end, and seconds after which a sleep ends by them.
_ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_STEP_S = 0.2


def asked(site: Site, *argv: str) -> Answer:
    """Run a command where launches are submitted. Raises InfrastructureError when
    it cannot be run or takes too long."""
    answer = site.ask(argv, limit_s=scaled(SLURM_COMMAND_S))
    if answer.status == 127:
        raise InfrastructureError(f"{argv[0]} cannot be run: {answer.said}")
    return answer


def answer_of(site: Site, *argv: str) -> str:
    """Output of such a command; also raises, with its last words, when it fails."""
    answer = asked(site, *argv)
    if answer.status != 0:
        raise InfrastructureError(f"{argv[0]} failed: {answer.said}")
    return answer.stdout


def require_slurm(site: Site) -> None:
    """Raise UnreachableError unless Slurm answers."""
    try:
        answer_of(site, "squeue", "--noheader", "--me", "--format=%i")
    except InfrastructureError as error:
        raise UnreachableError(f"Slurm does not answer: {error}") from error


def trouble(site: Site, work: Path, nodes: int) -> str | None:
    """Fault that keeps launches of up to `nodes` nodes from being run; else None. Nodes that
    are drained or reserved come back, and are waited for in Slurm's queue."""
    try:
        if not site.down_nodes_return:
            words = ["sinfo", "-hN", "--format=%N %T", "-p", site.description.slurm_partition]
            states = pairs(answer_of(site, *words))
            out = sorted(f"{name} {state}" for name, state in states.items() if is_down(state))
            if (there := len(states) - len(out)) < nodes:
                return (
                    f"launches need {nodes} nodes, and {there} of {len(states)} take jobs"
                    f" ({', '.join(out) or 'no others are known'})"
                )
        require_slurm(site)
    except InfrastructureError as error:
        return f"{error}"
    probe = str(work / ".probe")
    try:
        answer_of(site, "dd", "if=/dev/zero", f"of={probe}", "bs=64k", "count=16", "conv=fsync")
        answer_of(site, "rm", "-f", probe)
    except InfrastructureError as error:
        return f"the work folder {work} cannot be written: {error}"
    return None


def end_steps(site: Site, name: str, job: str) -> None:
    """End the steps that launches of the run with this work folder have left in a job; wait until
    they are gone. Raises InfrastructureError when Slurm does not answer, or a step does not end."""
    slurm, limit_s = Slurm(lambda argv: asked(site, *argv)), scaled(JOBS_END_S)
    since = time.monotonic()
    while True:
        left = [step for step, called in slurm.steps(job) if called.startswith(f"assay-{name}.")]
        if not left:
            return
        if time.monotonic() - since > limit_s:
            raise InfrastructureError(
                f"step {left[0]} of this run does not end, though it was cancelled (Slurm ends none"
                " whose srun was killed before its ranks began). Go on in another job, or outside"
                " of one"
            )
        slurm.cancel(*left)
        time.sleep(0.5)


def end_jobs(
    site: Site,
    name: str,
    *,
    pause: Callable[[float], None] = time.sleep,
    clearing_s: float = CLEARING_S,
) -> None:
    """End every job that Slurm knows of the run with this work folder; wait until they are gone.
    Raises InfrastructureError when Slurm does not answer, or a job does not end."""
    require_slurm(site)
    begun, cancelled = time.monotonic(), -_AGAIN_S
    ending_s = scaled(JOBS_END_S)
    while True:
        listed = answer_of(site, "squeue", "--noheader", "--me", "--format=%i %T %k").splitlines()
        jobs = [row.split() for row in listed if row.endswith(f" assay-{name}")]
        if not jobs:
            return
        run = [job for job, state, *_ in jobs if state != "COMPLETING"]
        now = time.monotonic()
        if now - begun > (ending_s if run else clearing_s):
            after = "" if run else f": Slurm clears its nodes for {clearing_s:.0f} s (COMPLETING)"
            job = min(run) if run else jobs[0][0]
            raise InfrastructureError(f"job {job} of this run does not end{after}")
        if run and now - cancelled >= _AGAIN_S:
            answer_of(site, "scancel", *run)
            cancelled = now
        pause(0.5)


class Interruption:
    """While this is entered TERM, INT and HUP end nothing by themselves; one that is ignored, as
    HUP under nohup, stays so. Use from the main thread.
    """

    def __init__(self) -> None:
        self._asked: signal.Signals | None = None
        self._before: dict[signal.Signals, Any] = {}

    def check(self) -> None:
        """Raise InfrastructureError once a signal has asked the run to end."""
        if self._asked is not None:
            raise InfrastructureError(f"ended by {self._asked.name}; what is done is kept")

    def sleep(self, seconds: float) -> None:
        """Sleep, but no longer than until a signal asks the run to end."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.check()
            time.sleep(_STEP_S)

    def _note(self, number: int, _: FrameType | None) -> None:
        self._asked = self._asked or signal.Signals(number)

    def __enter__(self) -> Interruption:
        for number in _ENDING:
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: TracebackType | object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
