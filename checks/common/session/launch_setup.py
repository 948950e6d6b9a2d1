# SPDX-License-Identifier: Apache-2.0
"""How a launch is set up: ranks, nodes, limits, launcher, program, variables and input files."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from random import Random
from secrets import token_hex
from typing import Any

import reframe as rfm
from reframe.core.backends import getlauncher, register_launcher
from reframe.core.builtins import fixture, run_after, run_before, variable
from reframe.core.launchers import JobLauncher

from checks.common.definition import CheckDefinition
from checks.common.json_lines import TOKEN
from checks.common.session.builds import Programs
from checks.common.session.faults import WorkFolderError
from checks.common.session.launch_commands import LAUNCHERS, Start, launch_words
from checks.common.session.outcome import PROGRAMS
from checks.common.slurm.allocation import ALLOCATION, granted_nodes
from checks.common.slurm.commands import HERE
from checks.common.slurm.scheduler import RUN_ID, run_options
from checks.common.slurm.text import HALTING_S, limits_s
from checks.common.sources import LAUNCH_SCRIPTS, launch_files
from checks.common.switches import drawn_among
from records.site.topology import Topology, TopologyDescription


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
        per_node, cpus = job.num_tasks_per_node, job.num_cpus_per_task
        start = Start(job.num_tasks, per_node, self.mpirun, cpus, self.template)
        words = [*launch_words(self.kind, start), *self.extra_options]
        session = ["./session.sh", self.daemons, f"{self.limit_s:g}"]
        return [*session, *(shlex.quote(word) for word in words)]


for _kind in LAUNCHERS:

    @register_launcher(_kind)
    class _OfKind(SessionLauncher):
        kind = _kind


class LaunchSetup(rfm.RunOnlyRegressionTest):
    """One launch of a program under MPI or PVM, up to its start.

    It is made for a check's `definition`, with the check's parameters as its variables (leaves.py).
    """

    definition: CheckDefinition[Any]
    #: The check's parameters that are variables here.
    knob_names: tuple[str, ...] = ()

    #: MPI ranks of the launch.
    ranks = variable(int, value=2)
    #: MPI ranks on each node.
    ranks_per_node = variable(int, value=1)
    #: CPUs of each rank, and threads of its BLAS and OpenMP; 0: as Slurm gives them.
    cpus_per_task = variable(int, value=0)
    #: What the job needs besides nodes, by the names of the site's `resources`.
    resources = variable(dict, value={})
    #: Seconds after which a launch is ended and counts as failed.
    launch_limit_s = variable(float, value=120.0)
    #: Whether no other launch may run meanwhile, on other nodes of the same allocation.
    undisturbed = variable(bool, value=True)
    #: Whether its nodes must be at one switch, or at several; "": anywhere.
    switches = variable(str, value="")
    #: Place in the campaign's list of launches; -1 when run by hand.
    launch_index = variable(int, value=-1)
    #: Case, block and attempt, by which and the seed its nodes are drawn.
    drawn_by = variable(str, value="")

    programs = fixture(Programs, scope="environment")

    valid_systems = ["*"]
    valid_prog_environs = ["+mpi", "+pvm"]
    sourcesdir = str(LAUNCH_SCRIPTS)
    build_locally = True

    @classmethod
    def parts_of(cls, _definition: CheckDefinition[Any]) -> dict[str, Any] | None:
        """Further parts of the class of a check whose parameters are no variables; None: they are,
        and it has no further parts."""
        return None

    @classmethod
    def settings(cls, params: Any) -> dict[str, Any]:
        """The variables that hold the parameters of a launch."""
        held = {"ranks", "ranks_per_node"}
        return {name: value for name, value in dict(params).items() if name not in held}

    @cached_property
    def params(self) -> Any:
        """The check's parameters, validated."""
        model = self.definition.parameters
        names = [*self.knob_names, *({"ranks", "ranks_per_node"} & model.model_fields.keys())]
        return model.model_validate({name: getattr(self, name) for name in names})

    @cached_property
    def token(self) -> str:
        """The launch's own lines carry it, which a program's text does not."""
        return token_hex(8)

    @run_after("setup")
    def choose_launcher(self) -> None:
        """Set ranks, nodes, limits and the environment's own launcher."""
        extras, partition = self.current_environ.extras, self.current_partition.extras
        if self.launch_index < 0:
            cores = self.current_partition.processor.num_cpus // max(1, self.cpus_per_task)
            layout = self.definition.layout(self.params, max(1, cores))
            self.ranks, self.ranks_per_node = layout.ranks, layout.ranks_per_node
        self.launch_limit_s, job_s = limits_s(self.launch_limit_s, partition["longest_job_s"])
        self.time_limit = f"{job_s}s"
        self.num_tasks, self.num_tasks_per_node = self.ranks, self.ranks_per_node
        self.exclusive_access = True
        self.num_cpus_per_task = self.cpus_per_task or None
        self.extra_resources = self.resources
        self.job.launch_index, self.job.drawn_by = self.launch_index, self.drawn_by
        self.job.down_nodes_return = partition["down_nodes_return"]
        self.job.options = run_options()
        nodes = self.job.asked_nodes = self.nodes_asked()
        if nodes:
            self.job.options.append(f"--nodelist={','.join(nodes)}")
        self.job.undisturbed, self.job.switches = self.undisturbed, self.switches or None
        self.job.needs_s = self.launch_limit_s + HALTING_S
        alone = self.definition.without_mpi
        launcher = getlauncher("assay-srun" if alone else extras["launcher"])()
        launcher.limit_s = self.launch_limit_s
        launcher.extra_options = ("--mpi=none",) if alone else tuple(extras["launcher_options"])
        launcher.mpirun = "" if alone else extras["mpirun"] or ""
        launcher.template = extras["launcher_command"] or ""
        self.job.launcher = launcher

    @run_before("run")
    def choose_program(self) -> None:
        """Link helpers into the stage folder, write input files, set the command."""
        built = self.built
        if not built.is_dir() and not self.is_dry_run():
            raise WorkFolderError(f"{built}: the programs built there are gone")
        preload = self.current_environ.extras["preload"]
        if preload:
            self.env_vars["ASSAY_PRELOAD"] = preload
        if not self.is_dry_run() and HERE.leaves_processes():
            self.env_vars["ASSAY_SWEEP"] = "yes"
        before = ["libassay_evidence.so"] if self.foreign else []
        before += ["libassay_profile.so"] if self.profiled else []
        helpers = [helper for helper in ("stepkeeper", preload, *before) if helper]
        for helper in helpers:
            (Path(self.stagedir) / helper).symlink_to(built.resolve() / helper)
        self.env_vars.update(self.definition.variables)
        if self.cpus_per_task:  # as many threads
            counts = (name for name in self.definition.variables if name.endswith("_NUM_THREADS"))
            names = ["OMP_NUM_THREADS", *counts]
            self.env_vars.update(dict.fromkeys(names, str(self.cpus_per_task)))
        self.env_vars[TOKEN] = self.token
        command = self.command()
        folder, own = os.environ.get(PROGRAMS, ""), self.current_environ.extras["programs"].values()
        #: Words of the command that are programs built for it, or the site's own; and helpers.
        self.executed = [
            *(one for one in command if one in own or (folder and one.startswith(f"{folder}/"))),
            *(str(built / helper) for helper in helpers),
        ]
        if before or self.input_file:
            rank = ["./rank.sh", ",".join(before) or "-", self.input_file or "/dev/null"]
            command = [*rank, *command]
        self.executable, *self.executable_opts = (shlex.quote(word) for word in command)
        if not self.definition.is_shipped:
            brought = self.definition.folder
            for file in launch_files(brought):
                copy = Path(self.stagedir) / file.relative_to(brought)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, copy)
        self.write_inputs(Path(self.stagedir))

    @property
    def built(self) -> Path:
        """The folder of our own programs."""
        return Path(self.programs.folder)

    @property
    def input_file(self) -> str | None:
        """Name of the file in the stage folder that every rank reads from its standard input."""
        return None

    @property
    def foreign(self) -> str | None:
        """Name of the site's own program to run (`programs` of the environment); None: ours."""
        return None

    @property
    def foreign_path(self) -> Path:
        """Where the site's own program is."""
        return Path(self.current_environ.extras["programs"][self.foreign])

    def nodes_asked(self) -> Sequence[str] | None:
        """The nodes that the launch must have, so many hops apart or at `switches`; None: as Slurm
        places it. In an allocation they are drawn when they are free."""
        hops, topology = self.definition.hops_asked(self.params), self.declared_topology()
        if hops and topology is not None:
            cores, held = self.current_partition.extras["shared_cores"], granted_nodes()
            # Where the allocation has no such pair, one that it lacks: the launch is refused.
            return topology.pair_at(hops, cores, held) or topology.pair_at(hops, cores)
        if not self.switches or topology is None or ALLOCATION in os.environ:
            return None
        up = HERE.up_nodes(self.current_partition.extras["slurm_partition"]) or set()
        dice = Random(f"{os.environ.get(RUN_ID)}.{self.drawn_by}")  # noqa: S311  no secret
        count = -(-self.ranks // self.ranks_per_node)
        return drawn_among(self.switches, count, up, topology.leaves, dice)

    def declared_topology(self) -> Topology | None:
        """How the site's nodes are joined, where it says so."""
        described = self.current_partition.extras["topology"]
        if described is None:
            return None
        return TopologyDescription.model_validate(described).topology()

    @property
    def profiled(self) -> bool:
        """Whether the MPI profile is preloaded (LD_PRELOAD)."""
        return bool(getattr(self.params, "mpi_profile", False))

    def command(self) -> list[str]:
        """The program and its arguments, word by word."""
        raise NotImplementedError

    def write_inputs(self, stage: Path) -> None:
        """Write the program's input files into `stage`."""
