# SPDX-License-Identifier: Apache-2.0
"""What every check shares: how a launch is verified and turned into an outcome.

A leaf says what is started and how its answer is read. A launch is judged in one place and
in this order: lost (Slurm or a node failed), wrong (a line of ours is damaged, or data were),
failed (the program did not reach its end), wrong (evidence or answer contradict the request), ok.
Only an ok launch gives measurements.
"""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

import reframe.utility.sanity as sn
from reframe.core.builtins import sanity_function
from reframe.core.logging import getlogger

from checks.common import json_lines
from checks.common.answer import Reading, beyond_window, longer_than_launch
from checks.common.durations import shortfall
from checks.common.evidence.printed import Printed, last_line, read_printed
from checks.common.evidence.ranks import Claim, contradictions, flags
from checks.common.guard import message_of
from checks.common.metrics import HOPS
from checks.common.session.faults import Loss, folder_trouble
from checks.common.session.launch_setup import LaunchSetup
from checks.common.session.outcome import Outcome, check_encoding, emit
from checks.common.session.preparation import NO_MODULE
from checks.common.slurm.commands import HERE
from checks.common.slurm.scheduler import job_loss
from records.flags import BEYOND_LIMIT, PARTIAL, TOO_SHORT, UNPROVEN
from records.metric import Metric
from records.run.mpi_profile import RankProfile
from records.site.limits import Nominal, bound, is_beyond
from records.site.pair_scans import ARTIFACT

#: How the reason of a launch begins at whose output a check's own code failed.
NOT_JUDGED = "judging failed:"
#: How session.sh ends where the launcher itself is not there: statuses of `timeout`, and its words.
_NOT_RUN, _NO_LAUNCHER = (126, 127), "timeout: failed to run command"


class MpiCheck(LaunchSetup):
    """One launch of a program under MPI or PVM: base of all checks.

    A leaf implements `command()` and `read(output, text)`.
    """

    @property
    def prints_metrics(self) -> bool:
        """Whether the program itself prints metrics as JSON lines."""
        return False

    def came_to_its_end(self, output: json_lines.Output, text: str) -> bool:
        """Whether the program reached its end; our programs print a line."""
        return output.ended

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
        session = json_lines.session_lines(printed.text, self.token)
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
            getlogger().verbose(traceback.format_exc())
            said = message_of([self.definition.folder], error)
            return Outcome("wrong", f"{NOT_JUDGED} {said}"[:500])
        return outcome

    def _judge(self, printed: Printed) -> Outcome:
        loss, text = job_loss(self.job) or self._unprepared(printed), printed.text
        loss = loss or self._clock_set(text)
        if loss:
            return Outcome("lost" if loss.ran else None, loss.reason, fault=loss.fault)
        metrics = self.definition.metrics_by_name if self.prints_metrics else {}
        try:
            output = json_lines.parse(text, metrics, self.token)
        except json_lines.OutputError as error:  # a node's end may have cut a line
            ended = json_lines.session_lines(text, self.token).exit_status is not None
            dead = None if ended else HERE.dead_nodes(self.job.nodelist or [])
            if dead is None:
                raise
            return Outcome("lost", f"{dead}; {error}", fault="nodes")
        wrong = "; ".join(output.wrong[:3]) or self.wrong_answer(text)
        if wrong:
            return Outcome("wrong", wrong)
        failure = self._failure(output, text)
        if failure is None:
            if wrong := printed.problem or output.other_session(self.job.launcher.daemons):
                return Outcome("wrong", wrong)
            return self._out_of_its_job(output) or self._judge_answer(output, text)
        return self._did_not_end(output, printed, failure)

    def _did_not_end(self, output: json_lines.Output, printed: Printed, failure: str) -> Outcome:
        """Lost with a node, not run for want of its launcher, or failed."""
        if dead := HERE.dead_nodes(self.job.nodelist or []):
            return Outcome("lost", f"{dead}; {failure}", fault="nodes")
        if output.exit_status in _NOT_RUN and _NO_LAUNCHER in failure:
            return Outcome(None, f"its launcher cannot be run: {failure}", fault="environment")
        kept = self.partial(printed.text)
        reason = f"{failure}; {printed.problem}" if printed.problem else failure
        return Outcome("failed", reason, metrics=kept, flags=[PARTIAL] if kept else [])

    def _unprepared(self, printed: Printed) -> Loss | None:
        """The loss of a job that ended before its session, for a module is missing."""
        session = json_lines.session_lines(printed.text, self.token)
        if self.job.exitcode != NO_MODULE or session.stamps:
            return None
        said = last_line(self._file(self.stderr)) or "its modules could not be loaded"
        return Loss(said[:300], "environment", ran=False)

    def _clock_set(self, text: str) -> Loss | None:
        """The loss of a job during which a clock was set: what it timed, and when Slurm ends it,
        may follow that clock."""
        told = json_lines.session_lines(text, self.token).clock_told()
        by = self.job.ended.set_since(self.job.handed_in)
        if not told and self.job.state in ("TIMEOUT", "DEADLINE") and abs(by) > 1:
            told = f"this host's clock was set during the launch, by {by:+.6g} s"
            told += f"; Slurm ended the job: {self.job.state}"
        return Loss(told, "clock", ran=True) if told else None

    def _out_of_its_job(self, output: json_lines.Output) -> Outcome | None:
        """Wrong where the session's stamps span more than its job's time, lost where they are of
        another time.

        The two clocks may be of two hosts, and this one may have been set meanwhile: the job's time
        is given by it as it was at either end.
        """
        begin, end = output.session_interval() or (0.0, 0.0)
        first, last = self.job.handed_in, self.job.ended
        job_s, set_back_s = last.steady - first.steady, min(last.set_since(first), 0.0)
        if end - begin > 1.02 * job_s + 1:
            return Outcome("wrong", f"the session took {end - begin:.6g} s, its job {job_s:.6g} s")
        apart_s = max(first.wall - begin, end - last.wall) + set_back_s
        if apart_s <= json_lines.CLOCKS_APART_S:
            return None
        reason = (
            f"the session's stamps, from {begin:.3f} on, are {apart_s:.6g} s from the time of its"
            " job: are the clocks of this host and of the launch's first node right?"
        )
        return Outcome("lost", reason, fault="clock")

    def wrong_answer(self, text: str) -> str | None:
        """A foreign program's own message that data were wrong, or None."""
        return None

    def partial(self, text: str) -> list[Metric]:
        """Metrics that a failed launch had printed: shown, but in no statistics."""
        return []

    def claim(self, extras: dict[str, Any]) -> Claim:
        """What the evidence must show, in an environment with these extras."""
        return Claim(
            nodes=list(self.job.nodelist or []),
            ranks=self.ranks,
            ranks_per_node=self.ranks_per_node,
            library_pattern=extras["library"],
            wire_is_counted=self.current_partition.extras["wire_is_counted"],
            hosts_take_turns=self.definition.hosts_take_turns(self.params),
            seen=extras["seen"],
            device=extras["device"],
        )

    def may_be_unproven(self) -> bool:
        """Whether the program may be one that cannot give evidence; its launch is flagged then."""
        return False

    def _judge_answer(self, output: json_lines.Output, text: str) -> Outcome:
        claim = self.claim(self.current_environ.extras)
        unproven = output.evidence is None and self.may_be_unproven()
        marks = [UNPROVEN] if unproven else flags(output.evidence, claim)
        against = [] if unproven else contradictions(output.evidence, claim)
        if against:
            return Outcome("wrong", "; ".join(against), flags=marks)
        reading, hops = self.read(output, text), self._hops(output)
        known, devices = self.definition.metrics_by_name, bool(getattr(self, "resources", None))
        wrong = reading.wrong or self._other_hops(hops)
        wrong = wrong or beyond_window(reading.metrics, known, output, self.ranks, devices=devices)
        return Outcome(
            "wrong" if wrong else "ok",
            wrong,
            metrics=[*reading.metrics, *hops],
            flags=list(dict.fromkeys([*marks, *reading.flags, *self._doubts(reading.metrics)])),
            files={} if wrong or reading.table is None else {ARTIFACT: reading.table},
            profile=self._profile(output) if self.profiled else None,
        )

    def _profile(self, output: json_lines.Output) -> list[RankProfile]:
        whole = not self.definition.one_sided(self.params)
        own = self.prints_metrics and self.definition.is_shipped
        profile = output.profile_by_rank(self.ranks, whole=whole, own=own)
        if fault := longer_than_launch(max(rank.elapsed_s for rank in profile), output):
            raise json_lines.OutputError(f"an MPI profile: {fault}")
        return profile

    def _doubts(self, metrics: list[Metric]) -> list[str]:
        """Flags of values that do not represent the machine: better than the site's nominal rates
        allow, or measured for too short a time."""
        found, known = set(), self.definition.metrics_by_name
        rates: Nominal = self.current_partition.extras["nominal"]
        layout, cpus = (self.ranks, self.ranks_per_node), self.cpus_per_task
        for metric in metrics:
            if metric.name not in known:
                raise json_lines.OutputError(f"the check defines no metric {metric.name!r:.80}")
            definition = known[metric.name]
            limit = bound(definition, metric.at or {}, *layout, rates, cpus_per_task=cpus)
            if limit is not None and is_beyond(definition, metric.value, limit):
                found.add(BEYOND_LIMIT)
        durations_s = self.definition.durations_s(self.params, metrics)
        if shortfall(durations_s, self.definition.least_measured_s):
            found.add(TOO_SHORT)
        return sorted(found, key=[BEYOND_LIMIT, TOO_SHORT].index)

    def _hops(self, output: json_lines.Output) -> list[Metric]:
        topology = self.declared_topology()
        if topology is None or output.evidence is None:
            return []
        joined = self.definition.node_pairs(self.params, output.hosts())
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
            said = last_line(self._file(self.stderr), text) or "nothing was printed"
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
