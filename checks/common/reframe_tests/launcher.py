# SPDX-License-Identifier: Apache-2.0
"""ReFrame's launcher `assay-environment`: each environment's own, known before a test's first hook.

ReFrame knows one launcher a partition, and tests use it in hooks after `setup`. So ReFrame's making
of a job is extended: the job's launcher learns the environment, and its job belongs to the run.
"""

from __future__ import annotations

import copy
import shlex
from collections.abc import Mapping
from typing import Any

from reframe.core.backends import register_launcher
from reframe.core.launchers import JobLauncher
from reframe.core.pipeline import RegressionTest

from checks.common.base import MpiCheck
from checks.common.session.builds import MakeBuild
from checks.common.session.launch_commands import Start, launch_words
from checks.common.slurm.scheduler import run_options

_OWN = (MpiCheck, MakeBuild)


@register_launcher("assay-environment")
class EnvironmentLauncher(JobLauncher):
    """Starts ranks as the site says for the environment; each rank by evidence.sh."""

    extras: Mapping[str, Any] = {}

    def command(self, job: Any) -> list[str]:
        """The launch command of a job."""
        ranks = job.num_tasks or 1
        start = Start(
            ranks,
            job.num_tasks_per_node or ranks,
            self.extras["mpirun"] or "",
            job.num_cpus_per_task,
            self.extras["launcher_command"] or "",
        )
        words = launch_words(self.extras["launcher"], start)
        return [shlex.quote(word) for word in [*words, *self.extras["launcher_options"]]]

    def run_command(self, job: Any) -> str:
        """With the options of the test, then what each rank begins with."""
        return f"{super().run_command(job)} {shlex.quote(f'{job.workdir}/evidence.sh')}"


def install(seen_as: Mapping[str, str]) -> None:
    """Let tests of suites find their environment's launcher, and the name by which they ask for
    that environment (`seen_as`) from their hooks after `setup` on."""
    create_job, resolve = RegressionTest._create_job, RegressionTest._resolve_fixtures

    def job_of_run(test: Any, *words: Any, **options: Any) -> Any:
        job = create_job(test, *words, **options)
        if isinstance(job.launcher, EnvironmentLauncher):
            job.launcher.extras = test.current_environ.extras
        if job.scheduler.registered_name != "local":
            job.options += run_options()
        return job

    def with_name(test: Any) -> Any:
        found = resolve(test)
        name = seen_as.get(test.current_environ.name)
        if name and not isinstance(test, _OWN):
            test._current_environ = copy.copy(test._current_environ)
            test._current_environ._name = name
        return found

    RegressionTest._create_job, RegressionTest._resolve_fixtures = job_of_run, with_name
