# SPDX-License-Identifier: Apache-2.0
"""Start-up: from the launcher to the first instruction, through MPI_Init, until all are heard.

The program is startup.c; the phases around it are stamped by launch/session.sh on the host where
rank 0 runs, so that no clocks of two hosts are subtracted. A library that lives in daemons also
gives the times of booting and halting them.
"""

from __future__ import annotations

from checks.common import json_lines
from checks.common.base import MpiCheck, Reading
from checks.common.knobs import knobs_of
from checks.startup import StartupParameters
from records.metric import Metric

_PHASES = {
    "launch": ("launch_begin", "launch_end"),
    "daemon_boot": ("boot_begin", "boot_end"),
    "daemon_halt": ("halt_begin", "halt_end"),
}
_PROGRAM_METRICS = {"first_instruction", "init", "all_heard"}


class StartupCheck(MpiCheck, knobs_of(StartupParameters)):
    """Times of the phases of one launch over `ranks`."""

    program = "startup"

    def read(self, output: json_lines.Output, text: str) -> Reading:  # noqa: ARG002
        """The program's metrics and the session's phases."""
        missing = _PROGRAM_METRICS - {metric.name for metric in output.metrics}
        if missing:
            return Reading(wrong=f"not reported: {', '.join(sorted(missing))}")
        return Reading(metrics=[*output.metrics, *self._phases(output)])

    @staticmethod
    def _phases(output: json_lines.Output) -> list[Metric]:
        metrics = []
        for name, (begin, end) in _PHASES.items():
            seconds = output.phase_s(begin, end)
            if seconds is not None:
                metrics.append(json_lines.registered_metric(name, seconds))
        return metrics
