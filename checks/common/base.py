# SPDX-License-Identifier: Apache-2.0
"""What every check shares: how a launch is set up, run, verified and turned into an outcome.

A leaf names its program and its knobs and says how to read the metrics; everything else is here.
Sanity judges in one place and in this order: did Slurm and the nodes hold (lost), did the launch
come to its end (failed), was it where and what it claims, and is its answer right (wrong)? Only
then is a number read as a measurement.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.backends import getlauncher
from reframe.core.builtins import fixture, run_after, run_before, sanity_function, variable

from checks.common import json_lines
from checks.common.builds import Programs
from checks.common.evidence import Claim, contradictions, flags
from checks.common.outcome import Outcome, emit
from checks.common.scheduler import dead_nodes, job_loss
from records.metric import Metric
from records.mpi_profile import RankProfile
from records.topology import Pair, Topology, TopologyDescription

#: A launch's output beyond this is not read: no check prints as much.
GREATEST_OUTPUT_BYTES = 512 * 2**20
#: Environment variable with the run's id; it marks the run's jobs in Slurm.
RUN_ID = "ASSAY_RUN_ID"
#: Flag of a failed launch whose metrics are what it printed before it failed.
PARTIAL = "partial"


@dataclass(frozen=True)
class Reading:
    """What a check read: its metrics, what is wrong with the answer (or None), further flags."""

    metrics: list[Metric] = field(default_factory=list)
    wrong: str | None = None
    flags: list[str] = field(default_factory=list)


class MpiCheck(rfm.RunOnlyRegressionTest):
    """A program under MPI, one launch: base of all checks.

    A leaf sets `program`, may extend `arguments()`, and implements `read(output, text)`.
    """

    #: Name of the program below the build fixture's folder.
    program = variable(str, value="")
    #: MPI ranks of the launch.
    ranks = variable(int, value=2)
    #: MPI ranks on each node.
    ranks_per_node = variable(int, value=1)
    #: Seconds after which a launch is ended and counts as failed.
    launch_limit_s = variable(float, value=120.0)
    #: Place in the campaign's list of launches; -1 when run by hand.
    launch_index = variable(int, value=-1)

    programs = fixture(Programs, scope="environment")

    valid_systems = ["*"]
    valid_prog_environs = ["+mpi"]
    sourcesdir = "launch"
    build_locally = True

    @run_after("setup")
    def choose_launcher(self) -> None:
        """Set ranks, nodes, limits and the environment's own launcher."""
        extras = self.current_environ.extras
        self.num_tasks, self.num_tasks_per_node = self.ranks, self.ranks_per_node
        self.exclusive_access = True
        self.job.options = [f"--comment=assay-{os.environ.get(RUN_ID, 'by-hand')}"]
        nodes = self.nodes_asked()
        if nodes:
            self.job.options.append(f"--nodelist={','.join(nodes)}")
        self.time_limit = f"{int(self.launch_limit_s) + 120}s"
        launcher = getlauncher(extras["launcher"])()
        launcher.limit_s = self.launch_limit_s
        launcher.extra_options = tuple(extras["launcher_options"])
        launcher.mpirun = extras["mpirun"]
        self.job.launcher = launcher

    @run_before("run")
    def choose_program(self) -> None:
        """Bring program, helpers and input files to the stage folder."""
        built = self.built
        preload = self.current_environ.extras["preload"]
        if preload:
            self.env_vars["ASSAY_PRELOAD"] = preload
        before = self._laid_before()
        for helper in ("stepkeeper", preload, *before):
            if helper:
                (Path(self.stagedir) / helper).symlink_to(built.resolve() / helper)
        command = [str(self.executable_path(built)), *self.arguments()]
        if before or self.input_file:
            command = [
                "./rank.sh",
                ",".join(before) or "-",
                self.input_file or "/dev/null",
                *command,
            ]
        self.executable, *self.executable_opts = command
        self.write_inputs(Path(self.stagedir))

    @property
    def built(self) -> Path:
        """The folder of our own programs."""
        return Path(self.programs.stagedir) / "out"

    @property
    def input_file(self) -> str | None:
        """Name of the file in the stage folder that every rank reads from its standard input."""
        return None

    def _laid_before(self) -> list[str]:
        """Libraries of our own that each rank is started with."""
        evidence = ["libassay_evidence.so"] if self.foreign else []
        return [*evidence, *(["libassay_profile.so"] if self.profiled else [])]

    @property
    def foreign(self) -> str | None:
        """Name of the site's own program (`programs` of its environment) to be run, if one is."""
        return None

    @property
    def hosts_take_turns(self) -> bool:
        """Whether only one node's ranks are busy at a time; the others sleep."""
        return False

    def nodes_asked(self) -> Pair | None:
        """The nodes that the launch must have, by name; None: as Slurm places it."""
        return None

    def nodes_joined(
        self,
        output: json_lines.Output,  # noqa: ARG002
    ) -> list[tuple[Pair, dict[str, Any] | None]]:
        """Pairs of nodes whose hops belong to the record, each with the position they stand at."""
        return []

    def contradicts(self, joined: list[Metric]) -> str | None:  # noqa: ARG002
        """Why the hops between the launch's nodes are not those asked for, or None."""
        return None

    def declared_topology(self) -> Topology | None:
        """How the site's nodes are joined, where it says so."""
        described = self.current_partition.extras["topology"]
        if described is None:
            return None
        return TopologyDescription.model_validate(described).topology()

    @property
    def profiled(self) -> bool:
        """Whether the MPI profile is laid before the program."""
        return bool(getattr(self, "mpi_profile", False))

    def executable_path(self, built: Path) -> Path:
        """Where the program is; `built` is the folder of our own programs."""
        if self.foreign:
            return Path(self.current_environ.extras["programs"][self.foreign])
        return built / self.program

    def came_to_its_end(self, output: json_lines.Output, text: str) -> bool:  # noqa: ARG002
        """Whether the program reached its end; ours say so themselves."""
        return output.ended

    def arguments(self) -> list[str]:
        """The program's arguments, each a single shell word."""
        return []

    def write_inputs(self, stage: Path) -> None:
        """Write the program's input files into `stage`."""

    def read(self, output: json_lines.Output, text: str) -> Reading:
        """The measurement in the launch's output; `text` is all of stdout."""
        raise NotImplementedError

    @sanity_function
    def verify(self) -> Any:
        """Judge the launch, hand its outcome to the harness, pass when it is ok."""
        text = _read_text(Path(self.stagedir) / self.stdout.evaluate())
        outcome = self.judge(text)
        emit(self, outcome, json_lines.session_interval(text))
        return sn.assert_eq(outcome.status, "ok", msg=f"{outcome.status}: {outcome.reason}")

    def judge(self, text: str) -> Outcome:
        """The launch's outcome from its stdout `text`: lost, failed, wrong or ok, in this order."""
        loss = job_loss(self.job)
        if loss:
            return Outcome("lost", loss)
        try:
            output = json_lines.parse(text)
            wrong = "; ".join(output.wrong[:3]) or self.wrong_answer(text)
            if wrong:
                return Outcome("wrong", wrong)
            failure = self._failure(output, text)
            if failure:
                dead = dead_nodes(self.job)
                return (
                    Outcome("lost", f"{dead}; {failure}") if dead else self._failed(failure, text)
                )
            return self._judge_answer(output, text)
        except json_lines.OutputError as error:
            return Outcome("wrong", str(error))

    def _failed(self, failure: str, text: str) -> Outcome:
        kept = self.partial(text)
        return Outcome("failed", failure, metrics=kept, flags=[PARTIAL] if kept else [])

    def wrong_answer(self, text: str) -> str | None:  # noqa: ARG002
        """What a foreign program says of wrong data before it fails, or None."""
        return None

    def partial(self, text: str) -> list[Metric]:  # noqa: ARG002
        """What a failed launch had printed and may be kept for show; it enters no statistics."""
        return []

    def _judge_answer(self, output: json_lines.Output, text: str) -> Outcome:
        claim = self._claim()
        marks = flags(output.evidence, claim)
        against = contradictions(output.evidence, claim)
        if against:
            return Outcome("wrong", "; ".join(against), flags=marks)
        reading, hops = self.read(output, text), self._hops(output)
        wrong = reading.wrong or self.contradicts(hops)
        return Outcome(
            "wrong" if wrong else "ok",
            wrong,
            metrics=[*reading.metrics, *hops],
            flags=[*marks, *reading.flags],
            profile=self._profile(output) if self.profiled else None,
        )

    def _hops(self, output: json_lines.Output) -> list[Metric]:
        topology = self.declared_topology()
        if topology is None:
            return []
        found = [(topology.hops(*pair), at) for pair, at in self.nodes_joined(output)]
        return [json_lines.registered_metric("hops", hops, at) for hops, at in found if hops]

    def _profile(self, output: json_lines.Output) -> list[RankProfile]:
        profile = sorted(output.profile, key=lambda rank: rank.rank)
        if [rank.rank for rank in profile] != list(range(self.ranks)):
            raise json_lines.OutputError(
                f"MPI profiles came of ranks {[rank.rank for rank in profile]}; there are"
                f" {self.ranks} ranks"
            )
        return profile

    def _failure(self, output: json_lines.Output, text: str) -> str | None:
        """Why the launch did not come to its end, or None."""
        state = str(self.job.state)
        if state in ("TIMEOUT", "CANCELLED", "DEADLINE", "OUT_OF_MEMORY", "PREEMPTED"):
            return f"Slurm ended the job: {state}"
        if output.exit_status in (124, 137):
            return f"time limit: the launch was ended after {self.launch_limit_s:g} s"
        if output.errors:
            return "; ".join(output.errors[:3])
        if output.exit_status != 0:
            return f"exit status {output.exit_status}: {_last_line(self.stderr_text())}"
        ended = self.came_to_its_end(output, text)
        return None if ended else "the program did not reach its end"

    def _claim(self) -> Claim:
        extras = self.current_environ.extras
        partition = self.current_partition.extras
        return Claim(
            nodes=list(self.job.nodelist or []),
            ranks=self.ranks,
            ranks_per_node=self.ranks_per_node,
            library_pattern=extras["library"],
            wire_is_counted=partition["wire_is_counted"],
            hosts_take_turns=self.hosts_take_turns,
            seen=extras["seen"],
        )

    def stderr_text(self) -> str:
        """All of the launch's stderr."""
        return _read_text(Path(self.stagedir) / self.stderr.evaluate())


def _read_text(path: Path) -> str:
    """A launch's output, however it looks: capped, undecodable bytes replaced."""
    try:
        with path.open("rb") as file:
            return file.read(GREATEST_OUTPUT_BYTES).decode("utf-8", errors="replace")
    except FileNotFoundError:
        return ""


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "nothing on stderr"
