# SPDX-License-Identifier: Apache-2.0
"""ReFrame's launcher `assay-environment`: each environment's own, known before a test's first hook.

ReFrame knows one launcher a partition, and tests use it in hooks after `setup`. So ReFrame's making
of a job is extended: the job's launcher learns the environment, and its job belongs to the run.
"""

from __future__ import annotations

import copy
import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from reframe.core.backends import register_launcher
from reframe.core.launchers import JobLauncher
from reframe.core.pipeline import RegressionTest
from reframe.frontend import executors
from reframe.utility.cpuinfo import cpuinfo

from checks.common.session.builds import MakeBuild
from checks.common.session.launch_commands import launch_words
from checks.common.session.launching import LaunchTest
from checks.common.slurm.scheduler import run_options
from records.run.brought import Brought, ReframeTest

_OWN = (LaunchTest, MakeBuild)


@register_launcher("assay-environment")
class EnvironmentLauncher(JobLauncher):
    """Starts ranks as the site says for the environment; each rank by evidence.sh."""

    extras: Mapping[str, Any] = {}

    def command(self, job: Any) -> list[str]:
        """The launch command of a job."""
        ranks = job.num_tasks or 1
        words = launch_words(
            self.extras["launcher"],
            ranks,
            job.num_tasks_per_node or ranks,
            mpirun=self.extras["mpirun"] or "",
            cpus_per_task=job.num_cpus_per_task,
            template=self.extras["launcher_command"] or "",
        )
        return [shlex.quote(word) for word in [*words, *self.extras["launcher_options"]]]

    def run_command(self, job: Any) -> str:
        """With the options of the test, then what each rank begins with. How srun joins ranks to
        the library (`--mpi`) is the environment's, not the test's."""
        self.options: list[str] = [one for one in self.options if not one.startswith("--mpi=")]
        return f"{super().run_command(job)} {shlex.quote(f'{job.workdir}/evidence.sh')}"


#: C compiler → those of C++ and Fortran that come with it.
_COMPILERS = {
    "mpicc": ("mpicxx", "mpif90"),
    "mpiicc": ("mpiicpc", "mpiifort"),
    "mpiicx": ("mpiicpx", "mpiifx"),
    "gcc": ("g++", "gfortran"),
    "clang": ("clang++", "flang"),
    "icx": ("icpx", "ifx"),
    "cc": ("CC", "ftn"),
}


def configure(site: Mapping[str, Any], configuration: dict[str, Any]) -> None:
    """Add to ReFrame's configuration what tests of suites ask a system for: its modules, its
    processor, features, the launcher, compilers of C++ and Fortran."""
    (system,) = configuration["systems"]
    (partition,) = system["partitions"]
    modules = site["modules_system"]
    system["modules_system"] = "envmod" if modules.startswith("tmod") else modules
    partition["launcher"] = "assay-environment"
    partition["features"] = [*partition["features"], "remote", "scontrol"]
    if site["virtual_cluster"]:
        own = _of_this_machine(site["cores_per_node"])
        partition["processor"] = own | partition["processor"]
    for environment in configuration["environments"]:
        folder, slash, base = environment["cc"].rpartition("/")
        stem, dot, suffix = base.partition(".")
        names = zip(("cxx", "ftn"), _COMPILERS.get(stem, ()), strict=False)
        environment |= {key: f"{folder}{slash}{name}{dot}{suffix}" for key, name in names}


def _of_this_machine(cores: int) -> dict[str, Any]:
    """Processor of this machine as ReFrame's own detection finds it, cut to a node of so many
    cores."""
    found = cpuinfo()

    def cut(masks: list[str]) -> list[str]:
        return [hex(one) for mask in masks if (one := int(mask, 16) & ((1 << cores) - 1))]

    caches = [{**one, "cpusets": cut(one["cpusets"])} for one in found["topology"].pop("caches")]
    topology = {name: cut(masks) for name, masks in found["topology"].items()}
    sockets = len(topology["sockets"])
    found |= {"num_cpus": cores, "num_sockets": sockets, "num_cpus_per_socket": cores // sockets}
    return {**found, "topology": {**topology, "caches": caches}}


def _seen_as(asked: str, extras: Mapping[str, Any], environment: Any) -> Any:
    """The environment by the name that a test asks for, or with the features: `+mpi %cc=gcc`; its
    extras are those given, and not ours, which may have a name that suites use."""
    found = copy.copy(environment)
    words = [] if asked[:1].isalnum() else asked.split()
    found._name = asked if asked and not words else environment.name
    found._features = [*found.features, *(one[1:] for one in words if one[0] == "+")]
    pairs = (one[1:].partition("=")[::2] for one in words if one[0] == "%")
    found._extras = {**extras, **dict(pairs)}
    return found


def install(brought: Iterable[Brought]) -> None:
    """Let tests of suites find their environment's launcher, and the name or features by which
    they ask for that environment from their hooks after `setup` on: of a launch those of its case,
    of a fixture those of the first test that says it."""
    if not (tests := [line for line in brought if isinstance(line, ReframeTest)]):
        return
    seen_as, extras = dict[str, str](), dict[str, Any]()
    for one in reversed(tests):
        seen_as |= one.seen_as
        extras |= one.extras
    create_job, resolve = RegressionTest._create_job, RegressionTest._resolve_fixtures

    def job_of_run(test: Any, *words: Any, **options: Any) -> Any:
        test.assay_extras = test.current_environ.extras
        job = create_job(test, *words, **options)
        if isinstance(job.launcher, EnvironmentLauncher):
            job.launcher.extras = test.current_environ.extras
        if job.scheduler.registered_name != "local":
            job.options += run_options()
        return job

    def with_name(test: Any) -> Any:
        found = resolve(test)
        if not isinstance(test, _OWN):
            line = getattr(getattr(test, "definition", None), "line", None)
            asked = getattr(line, "seen_as", seen_as).get(test.current_environ.name, "")
            given = getattr(line, "extras", extras)
            test._current_environ = _seen_as(asked, given, test._current_environ)
        return found

    RegressionTest._create_job, RegressionTest._resolve_fixtures = job_of_run, with_name
    # An assertion of a test is that test's error, not ReFrame's own, at which the session ends.
    executors.ABORT_REASONS = tuple({*executors.ABORT_REASONS} - {AssertionError})
