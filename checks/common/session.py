# SPDX-License-Identifier: Apache-2.0
"""ReFrame's command line as the harness starts it: `python -m checks.common.session OPTION...`.

It tells the harness of each test that fails before its launch as soon as it does; ReFrame itself
says so only at its end. Its temporary files lie in the working folder, as do those that it leaves
behind; TMPDIR stays, because jobs inherit it.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from reframe.frontend import cli
from reframe.frontend.executors import TaskEventListener
from reframe.frontend.executors.policies import (
    AsynchronousExecutionPolicy,
    SerialExecutionPolicy,
)
from reframe.frontend.printer import PrettyPrinter

from checks.common.base import MpiCheck
from checks.common.builds import MakeBuild
from checks.common.faults import fault_of
from checks.common.outcome import BuildFailure, outcome_pipe, report_build_failure, report_refusal


class Reporter(TaskEventListener):
    """Reports builds that failed, and launches that were never submitted."""

    def on_task_failure(self, task: Any) -> None:
        """A build without programs, or a launch without an outcome."""
        check, error = task.check, task.exc_info[1]
        said = f"{type(error).__name__}: {error}"
        if isinstance(check, MakeBuild):
            output = f"{said}\n{check.output()}"
            name = task.testcase.environ.name
            report_build_failure(BuildFailure(name, type(check).__name__, output))
        elif isinstance(check, MpiCheck):
            fault = fault_of(error, Path.cwd())
            report_refusal(check.launch_index, f"not started: {said[:400]}", fault)

    def _ignore(self, task: Any) -> None:
        """Nothing to tell."""

    on_task_setup = on_task_run = on_task_compile = on_task_exit = on_task_compile_exit = _ignore
    on_task_skip = on_task_abort = on_task_success = on_task_xfailure = on_task_xsuccess = _ignore


class ReportingPolicy(SerialExecutionPolicy):
    """One test after the other, as ReFrame's own."""

    def __init__(self) -> None:
        super().__init__()
        self.task_listeners.append(Reporter())


class SideBySidePolicy(AsynchronousExecutionPolicy):
    """Several tests at a time, as ReFrame's own; none runs while programs are built."""

    def __init__(self) -> None:
        super().__init__()
        self.task_listeners.append(Reporter())

    def _advance_startup(self, task: Any) -> int:
        """Set up launches when all programs are built, in their order, no more than may soon run.

        Each has a folder.
        """
        if isinstance(task.check, MpiCheck):
            ready = sum(one.state != "startup" for one in self._current_tasks)
            built = not any(isinstance(one.check, MakeBuild) for one in self._current_tasks)
            if not built or ready >= 2 * max(self._max_jobs.values()):
                return 0
        moved: int = super()._advance_startup(task)
        return moved


def _no_report(*_: Any, **__: Any) -> None:
    """In place of ReFrame's list of failures, which reads what jobs put in the place of output."""


if __name__ == "__main__":
    outcome_pipe()  # before anything is started that would inherit its name
    PrettyPrinter.failure_report = _no_report
    tempfile.tempdir = str(Path.cwd())
    cli.SerialExecutionPolicy, cli.AsynchronousExecutionPolicy = ReportingPolicy, SideBySidePolicy
    sys.exit(cli.main())
