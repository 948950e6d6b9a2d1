# SPDX-License-Identifier: Apache-2.0
"""ReFrame's command line as the harness starts it: this module as a program, with its options.

It tells the harness of each test that fails before its launch as soon as it does; ReFrame itself
says so only at its end. Its temporary files are in the working folder, as do those that it leaves
behind; TMPDIR stays, because jobs inherit it.
"""

import os
import sys
import tempfile
import time
from collections import deque
from functools import partialmethod
from pathlib import Path
from typing import Any

from reframe.core import fields, variables
from reframe.core.logging import LoggerAdapter
from reframe.frontend import cli
from reframe.frontend.executors import RegressionTask, TaskEventListener
from reframe.frontend.executors.policies import AsynchronousExecutionPolicy, SerialExecutionPolicy
from reframe.frontend.printer import PrettyPrinter

from checks.common.registry import message_of
from checks.common.session import outcome
from checks.common.session.builds import MakeBuild
from checks.common.session.launching import LaunchTest
from checks.common.session.outcome import fault_of
from checks.common.slurm.scheduler import AllocationScheduler
from records.plugins import hooks

#: Seconds without news after which launches, and builds, are looked at.
LOOK_S, BUILD_LOOK_S = 1.0, 0.05
#: Seconds between two looks at jobs that were handed in at once.
JOBS_LOOK_S = 0.2


class Reporter(TaskEventListener):
    """Reports builds that failed, and launches that were never submitted."""

    def on_task_failure(self, task: Any) -> None:
        """A build without programs, or a launch without an outcome."""
        check, error = task.check, task.exc_info[1]
        if isinstance(check, MakeBuild):
            output = f"{type(error).__name__}: {error}\n{check.output()}"
            name = task.testcase.environ.name
            outcome.send(
                outcome.Outcome(build=outcome.BuildFailure(name, type(check).__name__, output))
            )
        elif not isinstance(check, LaunchTest):
            self._of_suite(task, "failure")
        else:
            fault = fault_of(error, Path.cwd())
            said = message_of([check.definition.folder], error)
            outcome.report_refusal(check.launch_index, f"not started: {said[:400]}", fault)

    def _of_suite(self, task: Any, end: Any) -> None:
        """The end of a launch of a suite's test, or of a fixture of one."""
        if not isinstance(task.check, LaunchTest | MakeBuild):
            for report in hooks("session_task_end"):
                report(task, end)

    on_task_success = partialmethod(_of_suite, end="success")
    on_task_skip = partialmethod(_of_suite, end="skip")
    #: One that failed as it declares, or passed though it declares that it fails.
    on_task_xfailure = partialmethod(_of_suite, end="xfailure")
    on_task_xsuccess = partialmethod(_of_suite, end="xsuccess")

    def _ignore(self, task: Any) -> None:
        """Nothing to tell."""

    on_task_setup = on_task_run = on_task_compile = on_task_exit = on_task_compile_exit = _ignore
    on_task_abort = _ignore


class ReportingPolicy(SerialExecutionPolicy):
    """Policy of one test after the other, as ReFrame's own."""

    def __init__(self) -> None:
        super().__init__()
        self.task_listeners.append(Reporter())


class InAllocationPolicy(AsynchronousExecutionPolicy):
    """Launches as steps of an allocation, as many at a time as the site says, in their order; or as
    jobs that are handed in at once.

    ReFrame's own, which looks at every test again and again, gets to see only those that run and
    as many that are handed in meanwhile: the next launch begins as soon as its nodes are free. None
    runs while programs are built. It sleeps until a launch says something.
    """

    def __init__(self) -> None:
        super().__init__()
        self.task_listeners.append(Reporter())
        self._coming: deque[Any] = deque()
        self._pollctl = self

    def runcase(self, case: Any) -> None:
        """Put a test behind the others."""
        super().runcase(case)
        task = self._task_index[case]
        self._current_tasks.remove(task)
        self._coming.append(task)

    def exit(self) -> None:
        """Run all tests; of jobs that are handed in at once, all programs are made before."""
        if not any(isinstance(one, AllocationScheduler) for one in self._schedulers.values()):
            self._coming = deque(
                sorted(self._coming, key=lambda t: isinstance(t.check, LaunchTest))
            )
        self._admit()
        super().exit()

    def _advance_all(self, tasks: Any, timeout: float | None = None) -> None:
        super()._advance_all(tasks, timeout)
        self._admit()

    def _admit(self) -> None:
        """Let ReFrame see the next tests: builds, or as many launches as may be handed in."""
        most = max(self._max_jobs[name] for name in self._schedulers if name != "_rfm_local")
        while self._coming:
            launches = sum(isinstance(task.check, LaunchTest) for task in self._current_tasks)
            builds = len(self._current_tasks) - launches
            is_launch = isinstance(self._coming[0].check, LaunchTest)
            if launches >= most or (builds if is_launch else launches):
                return
            self._current_tasks.add(self._coming.popleft())

    def reset_poll_rate(self) -> None:
        """Nothing is polled at a rate."""

    def snooze(self) -> None:
        """Sleep until there is something to do, in place of ReFrame's poll controller."""
        launches = [task for task in self._current_tasks if isinstance(task.check, LaunchTest)]
        if any(task.state in ("startup", "completing") for task in launches):
            return
        for scheduler in self._schedulers.values():
            if isinstance(scheduler, AllocationScheduler):
                scheduler.await_news(LOOK_S if launches else BUILD_LOOK_S)
                return
        time.sleep(JOBS_LOOK_S)


def _nothing(*_: Any, **__: Any) -> None:
    """In place of parts of ReFrame that are not used."""


def _ended(task: Any) -> None:
    """In place of ReFrame's end of a test, which also writes the whole test as JSON, unread."""
    task._current_stage = "finalize"
    task._notify_listeners("on_task_success")


def _named(logger: Any) -> None:
    """In place of what ReFrame gathers of a check at each line of its log: what ours gives.

    One of its attributes is deprecated, and warns by a walk through the stack: milliseconds a line.
    """
    if logger.check is not None:
        logger.extra["check_info"] = logger.check.info()


if __name__ == "__main__":
    if (jobs_libraries := os.environ.pop(outcome.JOBS_LIBRARIES, None)) is not None:
        os.environ["LD_LIBRARY_PATH"] = jobs_libraries
    # A site's settings of its own ReFrame: another system, when a job counts as failed, and more.
    for setting in [name for name in os.environ if name.startswith("RFM_")]:
        del os.environ[setting]
    outcome.outcome_pipe()  # before anything is started that would inherit its name
    # The list of failures reads what jobs put in the place of output.
    PrettyPrinter.failure_report = _nothing
    RegressionTask.finalize = _ended
    LoggerAdapter._update_check_extras = _named
    # ReFrame warns of its deprecated variables whenever it copies them to a test. No check of ours
    # sets one. Each warning walks through the stack: 7 ms a test, more than half of the time until
    # a session's first launch.
    fields.user_deprecation_warning = variables.user_deprecation_warning = _nothing
    tempfile.tempdir = str(Path.cwd())
    cli.SerialExecutionPolicy, cli.AsynchronousExecutionPolicy = ReportingPolicy, InAllocationPolicy
    sys.exit(cli.main())
