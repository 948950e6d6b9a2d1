# SPDX-License-Identifier: Apache-2.0
"""ReFrame launchers: each library's own way to start ranks, inside one session script.

`launch/session.sh` stamps the phases of every launch, sets its time limit and, for libraries with
daemons, boots them on the allocation and always halts them again.
An environment names its launcher and further options in its extras.
"""

from __future__ import annotations

import shlex
from typing import Any

from reframe.core.backends import register_launcher
from reframe.core.launchers import JobLauncher

from checks.common.launch_commands import LAUNCHERS, Start, launch_words


class SessionLauncher(JobLauncher):
    """Runs the command of the launcher `kind` inside the session script.

    `limit_s` ends the launch; the others come from the environment's extras.
    """

    kind = ""
    limit_s = 60.0
    extra_options: tuple[str, ...] = ()
    mpirun = ""
    template = ""

    @property
    def daemons(self) -> str:
        """Kind of daemons that the session boots and halts, or none."""
        return LAUNCHERS[self.kind].daemons

    def command(self, job: Any) -> list[str]:
        """The launch command of `job`, which knows ranks, ranks per node and CPUs per rank."""
        per_node, cpus = job.num_tasks_per_node, job.num_cpus_per_task
        start = Start(job.num_tasks, per_node, self.mpirun, cpus, self.template)
        words = [*launch_words(self.kind, start), *self.extra_options]
        session = ["./session.sh", self.daemons, f"{self.limit_s:g}"]
        return [*session, *(shlex.quote(word) for word in words)]


for _kind in LAUNCHERS:

    @register_launcher(_kind)
    class _OfKind(SessionLauncher):
        kind = _kind
