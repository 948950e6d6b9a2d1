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

from checks.common.json_lines import PROGRAM_SECRET

#: Variables that every rank gets, on other nodes too; Slurm forwards all.
FORWARDED = ("ASSAY_LAUNCHED_AT", "ASSAY_LAUNCH_HOST", PROGRAM_SECRET)


class SessionLauncher(JobLauncher):
    """Runs `mpi_command` inside the session script.

    `limit_s` ends the launch; `extra_options` come from the environment's extras.
    """

    #: Kind of daemons the session boots and halts: none, lam, prte, pvm.
    daemons = "none"
    limit_s = 60.0
    extra_options: tuple[str, ...] = ()
    #: The environment's own mpirun, if it names one.
    mpirun = ""

    def command(self, job: Any) -> list[str]:
        """The launch command of `job`, which knows ranks and ranks per node."""
        words = [*self.mpi_command(job), *self.extra_options]
        session = ["./session.sh", self.daemons, f"{self.limit_s:g}"]
        return [*session, *(shlex.quote(word) for word in words)]

    def mpi_command(self, job: Any) -> list[str]:
        """The library's own launch command, without options of the environment."""
        raise NotImplementedError


@register_launcher("assay-srun")
class SrunSession(SessionLauncher):
    """Slurm starts the ranks itself; the environment's options choose the PMI."""

    def mpi_command(self, job: Any) -> list[str]:
        """`srun` with the job's ranks."""
        return ["srun", "-n", str(job.num_tasks), f"--ntasks-per-node={job.num_tasks_per_node}"]


@register_launcher("assay-openmpi")
class OpenMpiSession(SessionLauncher):
    """Open MPI's mpirun inside the allocation."""

    def mpi_command(self, job: Any) -> list[str]:
        """`mpirun.openmpi`, ranks mapped by node."""
        per_node = job.num_tasks_per_node
        mpirun = self.mpirun or "mpirun.openmpi"
        ranks = ["-np", str(job.num_tasks), "--map-by", f"ppr:{per_node}:node"]
        return [mpirun, *ranks, "-x", PROGRAM_SECRET]


@register_launcher("assay-lam")
class LamSession(SessionLauncher):
    """LAM's mpirun on daemons which the session boots; `-O`: nodes of one kind."""

    daemons = "lam"

    def mpi_command(self, job: Any) -> list[str]:
        """`mpirun.lam`; C means one rank on every processor of the boot schema."""
        return [self.mpirun or "mpirun.lam", "-O", "-x", ",".join(FORWARDED)]


@register_launcher("assay-prte")
class PrteSession(SessionLauncher):
    """PRRTE's prun, for Open MPI 5, on daemons which the session boots."""

    daemons = "prte"

    def mpi_command(self, job: Any) -> list[str]:
        """`prun`, ranks mapped by node. Options are PRRTE's: Open MPI's are variables, by -x."""
        forwarded = [word for name in FORWARDED for word in ("-x", name)]
        ranks = ["--np", str(job.num_tasks), "--map-by", f"ppr:{job.num_tasks_per_node}:node"]
        return ["prun", "--dvm-uri", "file:prte.uri", *forwarded, *ranks]


@register_launcher("assay-pvm")
class PvmSession(SessionLauncher):
    """The program itself, on the first node; it spawns its other tasks through PVM's daemons."""

    daemons = "pvm"

    def mpi_command(self, job: Any) -> list[str]:
        """Empty: the program starts its other tasks itself."""
        return []
