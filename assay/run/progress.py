# SPDX-License-Identifier: Apache-2.0
"""Shows the progress of a run: a line a launch, and on a terminal a bar with the time left."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bar

from assay.terminal import own_stderr
from checks.common.registry import register
from records.errors import InfrastructureError
from records.plain_text import one_line, plain
from records.record import Record
from reports.notation.units import readable_unit, three_digits

#: Seconds without output after which, without a bar, a line says that a launch is running.
QUIET_S = 30.0


class Progress:
    """Prints to standard error; `live` shows a bar, otherwise plain lines."""

    def __init__(self, live: bool | None = None) -> None:
        self._console = Console(file=own_stderr(), highlight=False, soft_wrap=True)
        self._live = sys.stderr.isatty() if live is None else live
        self._bar: Bar | None = None
        self._total = self._count = 0
        self._spoke = time.monotonic()
        self._doing: str | None = None

    def begin(self, total: int, already: int) -> None:
        """Report that `total` launches are to come; `already` records exist."""
        self._total, self._count = total, 0
        kept = f" ({already} records are there already)" if already else ""
        self.say(f"{total} launches to run{kept}")
        if self._live and total:
            self._bar = Bar(
                TextColumn("launches"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TextColumn("left"),
                TimeRemainingColumn(),
                console=self._console,
            )
            self._task = self._bar.add_task("", total=total)
            self._bar.start()

    def say(self, text: str) -> None:
        """Print one line."""
        self._spoke = time.monotonic()
        try:
            self._console.print(plain(text), markup=False)
        except OSError as error:
            # Nothing that is printed later may fail for it.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
            raise InfrastructureError(
                f"progress cannot be shown: the terminal or pipe is gone ({error.strerror})"
            ) from error

    def doing(self, what: str | None) -> None:
        """What is said from now on while nothing happens; None: that a launch is running."""
        self._doing = what

    def tick(self) -> None:
        """Called about once a second; without a bar, says at times what the run is doing."""
        if self._bar is None and time.monotonic() - self._spoke > QUIET_S:
            doing = self._doing or "one is running"
            self.say(f"... {self._count} of {self._total} launches done, {doing}")

    def record(self, record: Record) -> None:
        """Report a launch that has its record."""
        self._count += 1
        self.say(f"[{self._count}/{self._total}] {describe(record)}")
        if self._bar is not None:
            self._bar.advance(self._task)

    def end(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            with suppress(OSError):
                self._bar.stop()
            self._bar = None


def describe(record: Record) -> str:
    """One launch in one line: case, block, status, its main figure or its reason."""
    head = f"{record.case_id} {record.environment}, block {record.block}: {record.status}"
    if record.status != "ok":
        return f"{head}: {one_line(record.reason or '')}"
    known = register().checks.get(record.check)
    shown = [metric for metric in record.metrics if known and metric.name == known.shown]
    if shown:
        best = max(shown, key=lambda metric: metric.value)
        unit = readable_unit(best.unit, [best.value])
        most = "up to " if len(shown) > 1 else ""
        label = f" {unit.label}" if unit.label != "1" else ""
        value = three_digits(best.value / unit.factor)
        head = f"{head}, {best.name.replace('_', ' ')} {most}{value}{label}"
    return f"{head} ({one_line(', '.join(record.flags))})" if record.flags else head
