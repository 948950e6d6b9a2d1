# SPDX-License-Identifier: Apache-2.0
"""What every check shares: how a launch is set up, run, verified and turned into an outcome.

A leaf says what is started and how its answer is read; everything else is here. A launch is judged
in one place and in this order: lost (Slurm or a node failed), wrong (a line of ours is damaged, or
data were), failed (the program did not reach its end), wrong (evidence or answer contradict the
request), ok. Only an ok launch gives measurements.
"""

from __future__ import annotations

import os
import shlex
import time
import traceback
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.backends import getlauncher
from reframe.core.builtins import fixture, run_after, run_before, sanity_function, variable
from reframe.core.logging import getlogger

from checks.common import json_lines
from checks.common.allocation import ALLOCATION
from checks.common.answer import Reading
from checks.common.builds import Programs
from checks.common.definition import CheckDefinition
from checks.common.durations import shortfall
from checks.common.evidence import Claim, contradictions, flags
from checks.common.faults import Loss, WorkFolderError, folder_trouble
from checks.common.job_limits import HALTING_S, limits_s
from checks.common.metrics import HOPS
from checks.common.outcome import Outcome, check_encoding, emit
from checks.common.preparation import NO_MODULE
from checks.common.printed import Printed, last_line, read_printed
from checks.common.scheduler import RUN_ID, job_loss, run_options
from checks.common.slurm_answers import dead_nodes, leaves_processes, up_nodes
from checks.common.switches import drawn_among
from records.flags import BEYOND_LIMIT, PARTIAL, TOO_SHORT
from records.limits import Nominal, bound, is_beyond
from records.metric import Metric
from records.pair_scans import ARTIFACT
from records.topology import Topology, TopologyDescription

#: How session.sh ends where the launcher itself is not there: statuses of `timeout`, and its words.
_NOT_RUN, _NO_LAUNCHER = (126, 127), "timeout: failed to run command"


class MpiCheck(rfm.RunOnlyRegressionTest):
    """One launch of a program under MPI or PVM: base of all checks.

    A leaf implements `command()` and `read(output, text)`. It is made for a check's `definition`,
    with the check's parameters as its variables (leaves.py).
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
    #: What the job needs beside nodes, by the names of the site's `resources`.
    resources = variable(dict, value={})
    #: Seconds after which a launch is ended and counts as failed.
    launch_limit_s = variable(float, value=120.0)
    #: Whether no other launch may run meanwhile, on other nodes of the same allocation.
    undisturbed = variable(bool, value=True)
    #: Whether its nodes must lie at one switch, or at several; "": anywhere.
    switches = variable(str, value="")
    #: Place in the campaign's list of launches; -1 when run by hand.
    launch_index = variable(int, value=-1)

    programs = fixture(Programs, scope="environment")

    valid_systems = ["*"]
    valid_prog_environs = ["+mpi", "+pvm"]
    sourcesdir = "launch"
    build_locally = True

    @cached_property
    def params(self) -> Any:
        """The check's parameters, validated."""
        model = self.definition.parameters
        names = [*self.knob_names, *({"ranks", "ranks_per_node"} & model.model_fields.keys())]
        return model.model_validate({name: getattr(self, name) for name in names})

    @cached_property
    def secrets(self) -> json_lines.Secrets:
        """By these the launch's own lines are told from a program's text."""
        return json_lines.Secrets.new()

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
        self.job.launch_index = self.launch_index
        self.job.down_nodes_return = partition["down_nodes_return"]
        self.job.options = run_options()
        nodes = self.job.asked_nodes = self.nodes_asked()
        if nodes:
            self.job.options.append(f"--nodelist={','.join(nodes)}")
        self.job.undisturbed, self.job.switches = self.undisturbed, self.switches or None
        self.job.needs_s = self.launch_limit_s + HALTING_S
        launcher = getlauncher(extras["launcher"])()
        launcher.limit_s = self.launch_limit_s
        launcher.extra_options = tuple(extras["launcher_options"])
        launcher.mpirun = extras["mpirun"] or ""
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
        if not self.is_dry_run() and leaves_processes():
            self.env_vars["ASSAY_SWEEP"] = "yes"
        before = ["libassay_evidence.so"] if self.foreign else []
        before += ["libassay_profile.so"] if self.profiled else []
        for helper in ("stepkeeper", preload, *before):
            if helper:
                (Path(self.stagedir) / helper).symlink_to(built.resolve() / helper)
        self.env_vars.update(self.definition.variables)
        self.env_vars.update(self.thread_variables())
        self.env_vars.update(self.secrets.variables())
        command = self.command()
        if before or self.input_file:
            rank = ["./rank.sh", ",".join(before) or "-", self.input_file or "/dev/null"]
            command = [*rank, *command]
        self.executable, *self.executable_opts = (shlex.quote(word) for word in command)
        self.write_inputs(Path(self.stagedir))

    def thread_variables(self) -> dict[str, str]:
        """As many threads as the launch asks for CPUs of each rank."""
        if not self.cpus_per_task:
            return {}
        counts = (name for name in self.definition.variables if name.endswith("_NUM_THREADS"))
        return dict.fromkeys(["OMP_NUM_THREADS", *counts], str(self.cpus_per_task))

    @property
    def built(self) -> Path:
        """The folder of our own programs."""
        return Path(self.programs.stagedir) / "out"

    @property
    def input_file(self) -> str | None:
        """Name of the file in the stage folder that every rank reads from its standard input."""
        return None

    @property
    def foreign(self) -> str | None:
        """Name of the site's own program to run (`programs` of the environment); None: ours."""
        return None

    def nodes_asked(self) -> Sequence[str] | None:
        """The nodes that the launch must have, so many hops apart or at `switches`; None: as Slurm
        places it. In an allocation they are drawn when they are free."""
        hops, topology = self.definition.hops_asked(self.params), self.declared_topology()
        if hops and topology is not None:
            return topology.pair_at(hops, self.current_partition.extras["shared_cores"])
        if not self.switches or topology is None or ALLOCATION in os.environ:
            return None
        up = up_nodes(self.current_partition.extras["slurm_partition"]) or set()
        dice = Random(f"{os.environ.get(RUN_ID)}.{self.launch_index}")  # noqa: S311  no secret
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

    @property
    def prints_metrics(self) -> bool:
        """Whether the program itself prints metrics as JSON lines."""
        return False

    @property
    def foreign_path(self) -> Path:
        """Where the site's own program is."""
        return Path(self.current_environ.extras["programs"][self.foreign])

    def came_to_its_end(self, output: json_lines.Output, text: str) -> bool:
        """Whether the program reached its end; our programs print a line."""
        return output.ended

    def command(self) -> list[str]:
        """The program and its arguments, word by word."""
        raise NotImplementedError

    def write_inputs(self, stage: Path) -> None:
        """Write the program's input files into `stage`."""

    def read(self, output: json_lines.Output, text: str) -> Reading:
        """The measurement in the launch's output; `text` is all of stdout."""
        raise NotImplementedError

    @sanity_function
    def verify(self) -> Any:
        """Judge the launch and send its outcome to the harness; passes if the outcome is ok."""
        printed = read_printed(self._file(self.stdout))
        outcome = self.judge(printed)
        if outcome.status in ("failed", "wrong"):
            stage = Path(self.stagedir)
            trouble = folder_trouble(stage if self.built.is_dir() else self.built)
            if trouble:
                outcome = Outcome("lost", f"{trouble}; {outcome.reason}", fault="work-folder")
        session = json_lines.session_lines(printed.text, self.secrets)
        emit(self, outcome, session.session_interval())
        return sn.assert_eq(outcome.status, "ok", msg=f"{outcome.status}: {outcome.reason}")

    def judge(self, printed: Printed) -> Outcome:
        """The launch's outcome from what it `printed` on stdout: every launch gets one.

        What readers expect of bad output they raise as OutputError; the last guard is for the rest.
        """
        try:
            outcome = self._judge(printed)
            check_encoding(outcome)
        except json_lines.OutputError as error:
            return Outcome("wrong", str(error))
        except Exception as error:
            getlogger().debug(traceback.format_exc())
            return Outcome("wrong", f"judging failed: {type(error).__name__}: {error}"[:500])
        return outcome

    def _judge(self, printed: Printed) -> Outcome:
        loss, text = job_loss(self.job) or self._unprepared(printed), printed.text
        if loss:
            return Outcome("lost" if loss.ran else None, loss.reason, fault=loss.fault)
        metrics = self.definition.metrics_by_name if self.prints_metrics else {}
        try:
            output = json_lines.parse(text, metrics, self.secrets)
        except json_lines.OutputError as error:  # a node's end may have cut a line
            ended = json_lines.session_lines(text, self.secrets).exit_status is not None
            dead = None if ended else dead_nodes(self.job.nodelist or [])
            if dead is None:
                raise
            return Outcome("lost", f"{dead}; {error}", fault="nodes")
        wrong = "; ".join(output.wrong[:3]) or self.wrong_answer(text)
        if wrong:
            return Outcome("wrong", wrong)
        failure = self._failure(output, text)
        if failure is None:
            daemons, nodes = self.job.launcher.daemons, self.job.nodelist or []
            wrong = printed.problem or output.other_session(daemons=daemons, nodes=nodes)
            wrong = wrong or self._other_times(output)
            return Outcome("wrong", wrong) if wrong else self._judge_answer(output, text)
        return self._did_not_end(output, printed, failure)

    def _did_not_end(self, output: json_lines.Output, printed: Printed, failure: str) -> Outcome:
        """Lost with a node, not run for want of its launcher, or failed."""
        dead = dead_nodes(self.job.nodelist or [])
        if dead:
            return Outcome("lost", f"{dead}; {failure}", fault="nodes")
        if output.exit_status in _NOT_RUN and _NO_LAUNCHER in failure:
            return Outcome(None, f"its launcher cannot be run: {failure}", fault="environment")
        kept = self.partial(printed.text)
        reason = f"{failure}; {printed.problem}" if printed.problem else failure
        return Outcome("failed", reason, metrics=kept, flags=[PARTIAL] if kept else [])

    def _unprepared(self, printed: Printed) -> Loss | None:
        """The loss of a job that ended before its session, for a module is missing."""
        if (
            self.job.exitcode != NO_MODULE
            or json_lines.session_lines(printed.text, self.secrets).stamps
        ):
            return None
        said = last_line(self._file(self.stderr)) or "its modules could not be loaded"
        return Loss(said[:300], "environment", ran=False)

    def _other_times(self, output: json_lines.Output) -> str | None:
        """What is wrong where the session's stamps do not fit into its job's time, or None.

        The two clocks may be of two hosts; the durations that they give are the same.
        """
        begin, end = output.session_interval() or (0.0, 0.0)
        submitted, ended = self.job.submit_time, self.job.completion_time or time.time()
        apart = json_lines.CLOCKS_APART_S
        if end - begin > 1.02 * (ended - submitted) + 1:
            return f"the session took {end - begin:.6g} s, its job {ended - submitted:.6g} s"
        if not (begin >= submitted - apart and end <= ended + apart):
            return f"the session's stamps, from {begin:.3f} on, are not of the time of its job"
        return None

    def wrong_answer(self, text: str) -> str | None:
        """A foreign program's own message that data were wrong, or None."""
        return None

    def partial(self, text: str) -> list[Metric]:
        """Metrics that a failed launch had printed: shown, but in no statistics."""
        return []

    def _judge_answer(self, output: json_lines.Output, text: str) -> Outcome:
        extras = self.current_environ.extras
        claim = Claim(
            nodes=list(self.job.nodelist or []),
            ranks=self.ranks,
            ranks_per_node=self.ranks_per_node,
            library_pattern=extras["library"],
            wire_is_counted=self.current_partition.extras["wire_is_counted"],
            hosts_take_turns=self.definition.hosts_take_turns(self.params),
            seen=extras["seen"],
            device=extras["device"],
        )
        marks = flags(output.evidence, claim)
        against = contradictions(output.evidence, claim)
        if against:
            return Outcome("wrong", "; ".join(against), flags=marks)
        reading, hops = self.read(output, text), self._hops(output)
        wrong = reading.wrong or self._other_hops(hops)
        return Outcome(
            "wrong" if wrong else "ok",
            wrong,
            metrics=[*reading.metrics, *hops],
            flags=[*marks, *reading.flags, *self._doubts(reading.metrics)],
            files={} if wrong or reading.table is None else {ARTIFACT: reading.table},
            profile=output.profile_by_rank(self.ranks) if self.profiled else None,
        )

    def _doubts(self, metrics: list[Metric]) -> list[str]:
        """Flags of values that cannot stand for the machine."""
        short = shortfall(self.definition.timed(self.params, metrics)) is not None
        return [*self._beyond_limit(metrics), *([TOO_SHORT] if short else [])]

    def _beyond_limit(self, metrics: list[Metric]) -> list[str]:
        """The flag, if a value is better than the site's nominal rates allow."""
        rates: Nominal = self.current_partition.extras["nominal"]
        for metric in metrics:
            definition = self.definition.metrics_by_name.get(metric.name)
            if definition is None:
                raise json_lines.OutputError(f"the check defines no metric {metric.name!r:.80}")
            layout, cpus = (self.ranks, self.ranks_per_node), self.cpus_per_task
            limit = bound(definition, metric.at or {}, *layout, rates, cpus_per_task=cpus)
            if limit is not None and is_beyond(definition, metric.value, limit):
                return [BEYOND_LIMIT]
        return []

    def _hops(self, output: json_lines.Output) -> list[Metric]:
        topology = self.declared_topology()
        if topology is None:
            return []
        joined = self.definition.joined(self.params, output.hosts())
        found = [(topology.hops(*pair), at) for pair, at in joined]
        return [json_lines.measured(HOPS, hops, at) for hops, at in found if hops]

    def _other_hops(self, found: list[Metric]) -> str | None:
        asked = self.definition.hops_asked(self.params)
        if not asked or [metric.value for metric in found] == [asked]:
            return None
        said = ", ".join(f"{metric.value:g}" for metric in found) or "unknown"
        return f"hops = {asked} were asked for; between the launch's nodes are {said}"

    def _failure(self, output: json_lines.Output, text: str) -> str | None:
        """Why the launch did not reach its end, or None."""
        state = str(self.job.state)
        if state in ("TIMEOUT", "CANCELLED", "DEADLINE", "OUT_OF_MEMORY", "PREEMPTED"):
            return f"Slurm ended the job: {state}"
        if output.exit_status in (124, 137):
            limit = f"time limit: the launch was ended after {self.launch_limit_s:g} s"
            return "; ".join([limit, *output.errors[:2]])
        if output.errors:
            return "; ".join(output.errors[:3])
        if output.exit_status is None:
            return "the session ended before the program did; it stated no exit status"
        if output.exit_status != 0:
            said = last_line(self._file(self.stderr)) or "nothing on stderr"
            return f"exit status {output.exit_status}: {said[:300]}"
        ended = self.came_to_its_end(output, text)
        return None if ended else "the program did not reach its end"

    def stderr_text(self) -> str:
        """All of the launch's stderr. Raises OutputError if that is too much to read."""
        printed = read_printed(self._file(self.stderr))
        if printed.problem:
            raise json_lines.OutputError(printed.problem)
        return printed.text

    def _file(self, stream: Any) -> Path:
        return Path(self.stagedir, stream.evaluate())


class OwnProgram(MpiCheck):
    """A program that prints JSON lines; checks without a `run.py` use it as it is."""

    @property
    def prints_metrics(self) -> bool:
        """Unless the site's own program runs in its place."""
        return self.foreign is None

    def command(self) -> list[str]:
        """The program with its parameters as options."""
        return self.definition.command(self.params, self.built)

    def read(self, output: json_lines.Output, text: str) -> Reading:
        """The values asked for, each once, or the launch is wrong."""
        return self.definition.read(self.params, output)
