# SPDX-License-Identifier: Apache-2.0
"""Launch of a check as a ReFrame test: set up, started, judged when it has ended."""

import json
import os
import shlex
import shutil
import traceback
import types
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from secrets import token_hex
from typing import Any, TypeVar

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.backends import getlauncher, register_launcher
from reframe.core.builtins import fixture, run_after, run_before, sanity_function
from reframe.core.exceptions import ConfigError
from reframe.core.launchers import JobLauncher
from reframe.core.logging import getlogger

from checks.common.base import MpiCheck, Setting
from checks.common.definition import CheckDefinition
from checks.common.json_lines import TOKEN, read_printed, session_lines
from checks.common.judging import EndedJob, JudgingError, judge
from checks.common.registry import leaf_of
from checks.common.session.builds import build_of
from checks.common.session.launch_commands import LAUNCHERS, launch_words
from checks.common.session.outcome import (
    PROGRAMS,
    Launch,
    Outcome,
    WorkFolderError,
    emit,
    folder_trouble,
)
from checks.common.slurm.commands import HALTING_S, limits_s
from checks.common.slurm.scheduler import job_loss, run_options
from checks.common.sources import LAUNCH_SCRIPTS, launch_files
from records.site.topology import Topology, TopologyDescription


@cache
def topology_of(described: str) -> Topology:
    """The topology of its description as JSON."""
    return TopologyDescription.model_validate_json(described).topology()


class SessionLauncher(JobLauncher):
    """Runs the command of the launcher `kind` inside launch/session.sh, which stamps the phases of
    the launch, sets its limit and, for libraries with daemons, boots and halts them.

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
        words = launch_words(
            self.kind,
            job.num_tasks,
            job.num_tasks_per_node,
            mpirun=self.mpirun,
            cpus_per_task=job.num_cpus_per_task,
            template=self.template,
        )
        words += self.extra_options
        session = ["./session.sh", self.daemons, f"{self.limit_s:g}"]
        return [*session, *(shlex.quote(word) for word in words)]


for _kind in LAUNCHERS:

    class _OfKind(SessionLauncher):
        kind = _kind

    with suppress(ConfigError):  # ReFrame loads this file anew where it looks for tests in folders
        register_launcher(_kind)(_OfKind)


class LaunchTest(rfm.RunOnlyRegressionTest):
    """Launch of a check, made for its definition and its parameters."""

    #: The check, its class of run.py, the launch as it was asked for, and its parameters.
    definition: CheckDefinition[Any]
    leaf: type[MpiCheck]
    asked: Launch
    params: Any
    launch_index: int
    #: Case, block and attempt, by which and the seed its nodes are drawn.
    drawn_by: str

    valid_systems = ["*"]
    valid_prog_environs = ["+mpi", "+pvm"]
    sourcesdir = str(LAUNCH_SCRIPTS)
    build_locally = True

    @run_after("setup")
    def choose_launcher(self) -> None:
        """Set ranks, nodes, limits and the environment's own launcher."""
        extras, partition = self.current_environ.extras, self.current_partition.extras
        asked, job = self.asked, self.job
        self.token = token_hex(8)
        self.limit_s, job_s = limits_s(asked.limit_s, partition["longest_job_s"])
        self.launch = self.leaf(self.definition, self.params, self._setting())
        self.time_limit = f"{job_s}s"
        self.num_tasks, self.num_tasks_per_node = asked.ranks, asked.ranks_per_node
        self.exclusive_access = True
        self.num_cpus_per_task = asked.cpus_per_task
        self.extra_resources = asked.resources
        job.launch_index, job.drawn_by = self.launch_index, self.drawn_by
        job.down_nodes_return = partition["down_nodes_return"]
        job.options, job.asked_nodes = run_options(), self.launch.nodes_asked()
        if job.asked_nodes:
            job.options.append(f"--nodelist={','.join(job.asked_nodes)}")
        job.undisturbed = asked.undisturbed
        job.needs_s = self.limit_s + HALTING_S
        alone = self.definition.without_mpi
        launcher = getlauncher(partition["alone"] if alone else extras["launcher"])()
        launcher.limit_s = self.limit_s
        launcher.extra_options = () if alone else tuple(extras["launcher_options"])
        launcher.mpirun = "" if alone else extras["mpirun"] or ""
        launcher.template = extras["launcher_command"] or ""
        job.launcher = launcher

    def _setting(self) -> Setting:
        extras, partition = self.current_environ.extras, self.current_partition.extras
        described, stage = partition["topology"], Path(self.stagedir)
        return Setting(
            ranks=self.asked.ranks,
            ranks_per_node=self.asked.ranks_per_node,
            cpus_per_task=self.asked.cpus_per_task or 0,
            has_resources=bool(self.asked.resources),
            drawn_by=self.drawn_by,
            **{name: extras[name] for name in ("library", "device", "seen", "programs")},
            features=self.current_environ.features,
            wire_is_counted=partition["wire_is_counted"],
            nominal=partition["nominal"],
            topology=None if described is None else topology_of(json.dumps(described)),
            partition={**partition, "access": self.current_partition.access},
            builds={name: Path(getattr(self, name).folder) for name in self.definition.builds},
            folder=stage,
            stderr=partial(read_printed, stage / self.job.stderr),
        )

    @run_before("run")
    def choose_program(self) -> None:
        """Link helpers into the stage folder, write input files, set variables and command."""
        launch, stage, dry = self.launch, Path(self.stagedir), self.is_dry_run()
        gone = [] if dry else [one for one in launch.setting.builds.values() if not one.is_dir()]
        if gone:
            raise WorkFolderError(f"{gone[0]}: the programs built there are gone")
        if not dry and self.job.scheduler.leaves_processes():
            self.env_vars["ASSAY_SWEEP"] = "yes"
        if preload := self.current_environ.extras["preload"]:
            self.env_vars["ASSAY_PRELOAD"] = preload
        before = ["libassay_evidence.so"] if launch.foreign else []
        before += ["libassay_profile.so"] if launch.profiled else []
        helpers = [helper for helper in ("stepkeeper", preload, *before) if helper]
        for helper in helpers:
            (stage / helper).symlink_to(launch.built.resolve() / helper)
        command = launch.command()
        self.env_vars.update({**self._threads(), **launch.variables, TOKEN: self.token})
        folder, own = os.environ.get(PROGRAMS, ""), launch.setting.programs.values()
        #: Words of the command that are programs built for it, or the site's own; and helpers.
        self.executed = [
            *(one for one in command if one in own or (folder and one.startswith(f"{folder}/"))),
            *(str(launch.built / helper) for helper in helpers),
        ]
        if before or launch.input_file:
            rank = ["./rank.sh", ",".join(before) or "-", launch.input_file or "/dev/null"]
            command = [*rank, *command]
        self.executable, *self.executable_opts = (shlex.quote(word) for word in command)
        brought = self.definition.folder
        for file in () if self.definition.is_shipped else launch_files(brought):
            copy = stage / file.relative_to(brought)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, copy)
        launch.write_inputs(stage)
        if not dry:
            launch.begin()

    def _threads(self) -> dict[str, str]:
        """Variables of the definition; where ranks have CPUs, each has as many threads."""
        variables, cpus = self.definition.variables, self.asked.cpus_per_task
        counts = ["OMP_NUM_THREADS", *(one for one in variables if one.endswith("_NUM_THREADS"))]
        return {**variables, **(dict.fromkeys(counts, str(cpus)) if cpus else {})}

    @sanity_function
    def verify(self) -> Any:
        """Judge the launch and send its outcome to the harness; passes if the outcome is ok."""
        self.launch.end()
        job, stage = self.job, Path(self.stagedir)
        printed = read_printed(stage / job.stdout)
        nodes = list(job.nodelist or [])
        ended = EndedJob(
            token=self.token,
            nodes=nodes,
            handed_in=job.handed_in,
            ended=job.ended,
            daemons=job.launcher.daemons,
            limit_s=self.limit_s,
            state=str(job.state),
            exit_status=job.exitcode,
            loss=job_loss(job),
            dead_nodes=partial(job.scheduler.dead_nodes, nodes),
        )
        try:
            outcome = judge(printed, ended, self.launch)
        except JudgingError as error:
            getlogger().verbose(traceback.format_exc())
            outcome = Outcome("wrong", f"judging failed: {error}"[:500])
        if outcome.status in ("failed", "wrong"):
            built = self.launch.built
            if trouble := folder_trouble(stage if built.is_dir() else built):
                outcome = Outcome("lost", f"{trouble}; {outcome.reason}", fault="work-folder")
        self.outcome = outcome
        emit(self, outcome, session_lines(printed.text, self.token).session_interval())
        return sn.assert_eq(outcome.status, "ok", msg=f"{outcome.status}: {outcome.reason}")


T = TypeVar("T", bound=LaunchTest)


def test_of(definition: CheckDefinition[Any], base: type[T]) -> type[T]:
    """The ReFrame test of a check. Raises CheckError for a class Run that cannot be used."""
    body: dict[str, Any] = {
        **{
            name: fixture(build_of(definition, name), scope="environment")
            for name in definition.builds
        },
        "definition": definition,
        "leaf": leaf_of(definition),
        "__module__": __name__,
        "__doc__": definition.__doc__,
    }
    kinds = sorted(definition.features & {"mpi", "pvm"})
    if kinds:
        body["valid_prog_environs"] = [" ".join(f"+{kind}" for kind in kinds)]

    def fill(space: dict[str, Any]) -> None:
        for name, value in body.items():
            space[name] = value  # one by one: ReFrame's namespace notices variables so

    made: type[T] = types.new_class(f"{definition.name}_leaf", (base,), {}, fill)
    return made
