# SPDX-License-Identifier: Apache-2.0
"""What a run prints: a line for each launch, and on a terminal a bar with the time left."""

from __future__ import annotations

import sys
import time

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bar

from checks.common.registry import REGISTER
from records.metric import Metric
from records.record import Record

#: Factor and name of the unit shown beside a launch, by the metric's unit.
_UNITS = {
    "flop/s": (1e9, "Gflop/s"),
    "bytes/s": (1e6, "MB/s"),
    "s": (1e-3, "ms"),
    "1": (1.0, ""),
}
#: Seconds without output after which a line says that the run goes on, where there is no bar.
QUIET_S = 30.0


class Progress:
    """Prints to standard error; `live` shows a bar, otherwise plain lines."""

    def __init__(self, live: bool | None = None) -> None:
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._live = sys.stderr.isatty() if live is None else live
        self._bar: Bar | None = None
        self._total = self._count = 0
        self._spoke = time.monotonic()

    def begin(self, total: int, already: int) -> None:
        """`total` launches are to come; `already` records are there."""
        self._total = total
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
        """One line."""
        self._spoke = time.monotonic()
        self._console.print(text, markup=False)

    def tick(self) -> None:
        """Called each second without a message; without a bar, say now and then what is done."""
        if self._bar is None and time.monotonic() - self._spoke > QUIET_S:
            self.say(f"... {self._count} of {self._total} launches done, one is running")

    def record(self, record: Record) -> None:
        """A launch has its record."""
        self._count += 1
        self.say(f"[{self._count}/{self._total}] {describe(record)}")
        if self._bar is not None:
            self._bar.advance(self._task)

    def end(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def describe(record: Record) -> str:
    """One launch in one line: case, block, status, its main figure or its reason."""
    head = f"{record.case_id} {record.environment}, block {record.block}: {record.status}"
    if record.status != "ok":
        return f"{head}: {record.reason}"
    known = REGISTER.checks.get(record.check)
    values = [metric for metric in record.metrics if known and metric.name == known.shown]
    marks = f" ({', '.join(record.flags)})" if record.flags else ""
    return f"{head}, {_figure(values)}{marks}" if values else f"{head}{marks}"


def _figure(metrics: list[Metric]) -> str:
    best = max(metrics, key=lambda metric: metric.value)
    factor, unit = _UNITS.get(best.unit, (1.0, best.unit))
    most = "up to " if len(metrics) > 1 else ""
    return f"{best.name.replace('_', ' ')} {most}{best.value / factor:.4g} {unit}".rstrip()
