# SPDX-License-Identifier: Apache-2.0
"""Shows the progress of a run: on a terminal a line that updates, with what runs and the time left,
and a line for the first failure of each reason; elsewhere a plain line a launch. Keeps where a run
waits for Slurm, and takes signals that ask it to end."""

from __future__ import annotations

import math
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import FrameType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as Bar

from assay.plan.times import Clock
from assay.terminal import folded, own
from checks.common.session.outcome import Launch
from records.errors import AssayError, ExitStatus, InfrastructureError
from records.metric import Register
from records.run.queue_state import CurrentJob, QueueState, write_current
from records.run.record import Record
from records.run.run_directory import RunDirectory
from records.text.plain_text import alike, one_line, plain
from reports.notation.units import about, count_text

#: Seconds without output after which, without a terminal, a line says that a launch is running.
QUIET_S = 30.0
#: Cells of the bar.
BAR = 20
#: Signals that ask a run to end, and seconds after which a sleep ends by them.
_ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_STEP_S = 0.2


class Progress:
    """Prints to standard error; `live` shows a line that updates, otherwise plain lines."""

    def __init__(self, live: bool | None = None) -> None:
        stream = own(sys.stderr)
        moves = stream.isatty()
        self._console = Console(file=stream, force_terminal=moves, highlight=False, soft_wrap=True)
        self._is_live = moves and not self._console.is_dumb_terminal if live is None else live
        self._bar: Bar | None = None
        self._total = self._count = 0
        self._spoke = time.monotonic()
        self._doing: str | None = None
        self._next: Launch | None = None
        self._clock: Clock | None = None
        #: What cases are called, by id; one that is not here is called by its id.
        self.names: Mapping[str, str] = {}
        #: The metrics and checks of the run.
        self.register = Register({}, {})
        #: What went wrong: status, and what its reasons have in common.
        self._bad = set[tuple[str, str]]()

    def begin(self, coming: Sequence[Launch], already: int, clock: Clock) -> None:
        """Report what is to come; `already` records exist, which the clock knows."""
        self._total, self._count, self._clock = len(coming), 0, clock
        to_run = count_text(self._total, "launch")
        kept = f" ({count_text(already, 'record')} already)" if already else ""
        self.say(f"{to_run} to run{kept}, about {time_text(self._left_s())}")
        if self._is_live and coming:
            self._bar = Bar(
                BarColumn(BAR),
                TextColumn("{task.fields[text]}", markup=False),
                console=self._console,
                refresh_per_second=2,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._bar.add_task("", total=self._total, text="")
            self._bar.start()

    def say(self, text: str) -> None:
        """Print one line."""
        self._spoke = time.monotonic()
        try:
            text = plain(text)
            if self._bar is not None:
                text = folded(text, self._console.width)
            self._console.print(text, markup=False)
        except OSError as error:
            # Nothing that is printed later may fail for it.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
            raise InfrastructureError(
                f"progress cannot be shown: the terminal or pipe is gone ({error.strerror})"
            ) from error

    def next(self, launch: Launch | None) -> None:
        """The launch that runs from now on, as far as is known."""
        self._next = launch

    def doing(self, what: str | None) -> None:
        """Set what is said while nothing happens; None: that a launch is running."""
        self._doing = what

    def tick(self) -> None:
        """Called about once a second; off a terminal, says at times what the run is doing."""
        now = self._doing or (self.what(self._next) if self._next else "one is running")
        left = f"about {time_text(self._left_s())} left"
        if self._bar is not None:
            text = f"{self._count}/{self._total}, {left}, now: {now}"
            self._bar.update(self._bar.task_ids[0], completed=self._count, text=one_line(text))
        elif time.monotonic() - self._spoke > QUIET_S:
            self.say(f"... {self._count} of {self._total} launches done, {left}, {now}")

    def record(self, record: Record) -> None:
        """Report a launch that has its record; on a terminal in a line of its own if it is bad, and
        the first for its reason."""
        self._count += 1
        if self._clock is not None:
            self._clock.add(record)
        bad = record.status in ("failed", "wrong", "lost")
        key = record.status, alike(record.reason)
        if self._bar is None or (bad and key not in self._bad):
            left_s = self._left_s()
            left = f"; about {time_text(left_s)} left" if left_s else ""
            self.say(f"[{self._count}/{self._total}] {self._described(record)}{left}")
        self._bad |= {key} if bad else set()
        self.tick()

    def _described(self, record: Record) -> str:
        """Line on a launch: what it is, status, its main figure or its reason."""
        head = f"{self.what(record)}: {record.status}"
        if record.status != "ok":
            return f"{head}: {one_line(record.reason or '')}"
        known = self.register.checks.get(record.check)
        shown = [metric for metric in record.metrics if known and metric.name == known.shown]
        if shown:
            best = max(shown, key=lambda metric: metric.value)
            most, title = "up to " if len(shown) > 1 else "", self.register.metric_title(best.name)
            head = f"{head}, {title} {most}{about(best.value, best.unit)}"
        return f"{head} ({one_line(', '.join(record.flags))})" if record.flags else head

    def end(self) -> None:
        """Remove the line that updates."""
        if self._bar is not None:
            with suppress(OSError):
                self._bar.stop()
            self._bar = None

    def _left_s(self) -> float:
        return self._clock.left_s(time.time()) if self._clock else 0.0

    def what(self, launch: Launch | Record) -> str:
        """A launch in words: "su3_rmd 8³ × 16, 2 ranks in mpich, block 1"."""
        name = self.names.get(launch.case_id, launch.case_id)
        return f"{name} in {launch.environment}, block {launch.block}"


class Waiting:
    """Where a run's current launch is while it waits for Slurm: shown, kept for `assay status`.
    What launches wait is counted apart from what they take, so that no limit of time runs
    meanwhile; `limits.queue_s` alone ends a run for it."""

    def __init__(self, run: RunDirectory, progress: Progress, limit_s: float | None) -> None:
        self._run, self._progress, self._limit_s = run, progress, limit_s
        self._begun, self._ended_s = time.monotonic(), 0.0
        self._since: float | None = None
        self._said = self._kept = ""

    @property
    def seconds(self) -> float:
        """Seconds that launches have waited so far."""
        current = time.monotonic() - self._since if self._since is not None else 0.0
        return self._ended_s + current

    def heed(self, state: QueueState, what: str) -> None:
        """Take over the state of the job of `what`, e.g. "startup 2 ranks in lam, block 1". Raises
        AssayError when a job has waited for longer than the campaign allows."""
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
        since = self._since
        if self._limit_s is None or since is None or time.monotonic() - since <= self._limit_s:
            return
        raise AssayError(
            f"limits.queue_s = {self._limit_s:g} is used up: {what} {told}. What is done is kept."
            f" Continue with: assay run --resume {self._run.path}",
            ExitStatus.INCONCLUSIVE,
        )

    def over(self) -> None:
        """The job has ended, or is followed no more."""
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

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)


def time_text(time_s: float) -> str:
    """ "40 s", "119 s", "7 min", "2.5 h"."""
    if time_s <= 120:
        return f"{math.ceil(time_s)} s"
    return f"{time_s / 60:.0f} min" if time_s < 5400 else f"{time_s / 3600:.1f} h"
