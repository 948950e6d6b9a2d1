# SPDX-License-Identifier: Apache-2.0
"""Slurm as the scheduler of a site: what the partition allows, in which job assay itself runs, the
jobs of a run ended.

Each question has a time limit, for what is asked may hang. Launches are steps of the job that assay
runs in where it holds enough nodes.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Sequence
from itertools import chain, repeat
from typing import Any

from assay.commands import Pause
from assay.schedulers.seam import Scheduler, Submitted
from assay.terminal import Say
from checks.common.slurm import commands
from checks.common.slurm.job import OPEN, Allocation, SlurmJob, Watch
from records.errors import AssayError, InfrastructureError, UnreachableError
from records.run.plan import PlannedCase
from records.run.provenance import SlurmAsRun
from records.waiting import JOBS_END_S, SILENCE_S, SLURM_COMMAND_S, scaled

#: Settings that matter for measurements.
_SETTINGS = (
    *("SelectType", "SelectTypeParameters", "TaskPlugin", "ProctrackType", "MpiDefault"),
    *("LaunchParameters", "SchedulerParameters"),
)
#: Seconds between two times that the jobs of a run are cancelled.
_AGAIN_S = 5.0
#: Polls of a job follow each other after these seconds; the last repeats.
_POLLS_S = (0.1, 0.1, 0.2, 0.2, 0.5, 0.5, 1.0, 1.0, 2.0, 2.0, 5.0)
#: Nothing is said of a job that starts within these seconds.
_QUIET_S = 2.0


def asked(site: Any, *argv: str) -> commands.Answer:
    """Run a command where launches are submitted. Raises InfrastructureError when
    it cannot be run or takes too long."""
    answer: commands.Answer = site.ask(argv, limit_s=scaled(SLURM_COMMAND_S))
    if answer.status == 127:
        raise InfrastructureError(f"{argv[0]} cannot be run: {answer.said}")
    return answer


def answer_of(site: Any, *argv: str) -> str:
    """Output of such a command; also raises, with its last words, when it fails."""
    answer = asked(site, *argv)
    if answer.status != 0:
        raise InfrastructureError(f"{argv[0]} failed: {answer.said}")
    return answer.stdout


def _silent(words: str) -> InfrastructureError:
    return InfrastructureError(f"Slurm does not answer for {SILENCE_S:.0f} s: {words}")


class SlurmScheduler(Scheduler):
    """The Slurm of a site."""

    jobs, steps, alone = "assay-slurm", "assay-allocation", "assay-alone"
    told = "launches are steps of job {job}, in which assay runs"

    def require(self) -> None:
        """Raise UnreachableError unless Slurm answers."""
        try:
            answer_of(self.site, "squeue", "--noheader", "--me", "--format=%i")
        except InfrastructureError as error:
            raise UnreachableError(f"Slurm does not answer: {error}") from error

    def identity(self) -> str:
        """The cluster's name."""
        settings = self.site.slurm_output("scontrol", "show", "config")
        return commands.setting(settings, "ClusterName") or ""

    def facts(self) -> SlurmAsRun:
        """Its version and settings, as far as it tells them."""
        lines = self.site.slurm_output("scontrol", "show", "config").splitlines()
        pairs = (line.split("=", 1) for line in lines if "=" in line)
        found = {key.strip(): value.strip() for key, value in pairs}
        kept = {name: found[name] for name in _SETTINGS if name in found}
        return SlurmAsRun(version=found.get("SLURM_VERSION"), settings=kept)

    def limits(self) -> tuple[int | None, int | None]:
        """By Slurm, the seconds also by the site's file. Raises AssayError for a partition that
        Slurm does not know."""
        site, name = self.site, self.site.description.slurm_partition
        answer = asked(site, "scontrol", "show", "partition", "-o", name)
        if answer.status and "not found" in answer.stderr:
            listed = answer_of(site, "sinfo", "--noheader", "--format=%R").split()
            raise AssayError(
                f"site {site.name}: Slurm has no partition {name}; it has"
                f" {', '.join(dict.fromkeys(listed)) or 'none'}. Correct `partitions` in"
                f" site-config/{site.name}/site.yaml"
            )
        if answer.status:
            raise InfrastructureError(f"Slurm does not answer: {answer.said}")
        shown = commands.fields(answer.stdout)
        limits = (site.description.longest_job_s, commands.seconds_of(shown.get("MaxTime", "")))
        counts = (shown.get(name, "") for name in ("MaxNodes", "TotalNodes"))
        return (
            min((int(count) for count in counts if count.isdigit()), default=None),
            min((limit_s for limit_s in limits if limit_s is not None), default=None),
        )

    def nodes(self) -> list[str]:
        """Nodes of the site's kind; none where its constraint is more than features joined by `&`,
        so that Slurm alone knows the kind."""
        access = self.site.description.access
        partition = f"--partition={self.site.description.slurm_partition}"
        listed = answer_of(self.site, "sinfo", "-hN", partition, "--format=%N %f")
        constraint = "".join(commands.option_values(access, "constraint", "C")[-1:])
        if set(constraint) & set("|[]()*!"):
            return []
        wanted, features = {*filter(None, constraint.split("&"))}, commands.pairs(listed)
        kind = [node for node, has in features.items() if wanted <= {*has.split(",")}]
        named = self._named(*commands.option_values(access, "nodelist", "w"))
        return sorted({*kind} & {*named} if named else kind)

    def _named(self, *lists: str) -> list[str]:
        """The nodes of lists in Slurm's notation."""
        words = "scontrol", "show", "hostnames"
        return [node for nodes in lists for node in answer_of(self.site, *words, nodes).split()]

    def lacking(self, nodes: int) -> str | None:
        """Of nodes that are drained or reserved: they come back, and are waited for in Slurm's
        queue."""
        if not self.site.down_nodes_return:
            words = ["sinfo", "-hN", "--format=%N %T", "-p", self.site.description.slurm_partition]
            states = commands.pairs(answer_of(self.site, *words))
            out = sorted(f"{n} {state}" for n, state in states.items() if commands.is_down(state))
            if (there := len(states) - len(out)) < nodes:
                return (
                    f"launches need {nodes} nodes, and {there} of {len(states)} take jobs"
                    f" ({', '.join(out) or 'no others are known'})"
                )
        self.require()
        return None

    def own_job(self) -> dict[str, str] | None:
        """Slurm's description of the job of the site's partition that this process runs in. None
        outside of its jobs, and in a heterogeneous job, whose components are jobs of their own."""
        job, cluster = os.environ.get("SLURM_JOB_ID"), os.environ.get("SLURM_CLUSTER_NAME")
        if job is None or cluster is None:
            return None
        config = answer_of(self.site, "scontrol", "show", "config")
        if cluster != commands.setting(config, "ClusterName"):
            return None
        shown = asked(self.site, "scontrol", "show", "job", "-o", job).stdout
        described = commands.fields(commands.job_line(shown, job))
        serves = (
            described.get("JobState") == "RUNNING"
            and described.get("NodeList", "(null)") != "(null)"
            and "HetJobId" not in described
            and described.get("Partition") == self.site.description.slurm_partition
        )
        return described if serves else None

    def allocation(self, cases: Sequence[PlannedCase], seed: int, say: Say) -> Allocation | None:
        """The job that this process runs in, where launches of these cases have room in it.

        None outside a job of the site's partition, in one of fewer nodes or of another kind, and in
        one that is not exclusive: others' ranks could run on them meanwhile. The node that this
        process runs on is left out where the others suffice. A case that asks for resources gets
        them by a job of its own.
        """
        job, unfit = None if any(case.resources for case in cases) else self.own_job(), ""
        if job is None:
            return None
        named = f"job {job['JobId']}, in which assay runs,"
        access, every = self.site.description.access, self._named(job["NodeList"])
        if not {*every} <= {*self.nodes()}:
            unfit = "some may be none that the site's `access` selects"
        elif job.get("OverSubscribe") != "NO" or job.get("Exclusive", "NODE") != "NODE":
            # Slurm 26.05 tells of each in a key of its own.
            unfit = "it does not have them alone (--exclusive)"
        if unfit:
            say(f"the nodes of {named} are not used: {unfit}")
            return None
        out = self._named(*commands.option_values(access, "exclude", "x"))
        here = socket.gethostname().partition(".")[0]
        widest = max((case.nodes for case in cases), default=1)
        nodes = [node for node in every if node not in out]
        others = [node for node in nodes if node.partition(".")[0] != here]
        if len(nodes) < widest:
            return None
        if len(others) < widest:
            say(f"{named} has no node to spare: assay itself takes time of {here}")
        rest_s = commands.left_s(job)
        return Allocation(
            job_id=job["JobId"],
            nodes=others if len(others) >= widest else nodes,
            ends_at=sys.float_info.max if rest_s is None else time.monotonic() + rest_s,
            seed=seed,
            at_once=self.site.description.concurrency,
            cores=self.site.description.shared_cores,
        )

    def end(self, run: str, own: Allocation | None, pause: Pause, clear_s: float) -> None:
        """Also raises InfrastructureError where a job or a step does not end."""
        if own is not None:
            self._end_steps(run, own.job_id)
        self.require()
        begun, cancelled = time.monotonic(), -_AGAIN_S
        words = "squeue", "--noheader", "--me", "--format=%i %T %k"
        while True:
            listed = answer_of(self.site, *words).splitlines()
            jobs = [row.split() for row in listed if row.endswith(f" assay-{run}")]
            if not jobs:
                return
            running = [job for job, state, *_ in jobs if state != "COMPLETING"]
            now = time.monotonic()
            if now - begun > (scaled(JOBS_END_S) if running else clear_s):
                after = f": Slurm clears its nodes for {clear_s:.0f} s (COMPLETING)"
                job = min(running) if running else jobs[0][0]
                told = f"job {job} of this run does not end{'' if running else after}"
                raise InfrastructureError(told)
            if running and now - cancelled >= _AGAIN_S:
                answer_of(self.site, "scancel", *running)
                cancelled = now
            pause(0.5)

    def _end_steps(self, run: str, job: str) -> None:
        slurm = commands.Slurm(lambda argv: asked(self.site, *argv))
        since = time.monotonic()
        while True:
            left = [step for step, name in slurm.steps(job) if name.startswith(f"assay-{run}.")]
            if not left:
                return
            if time.monotonic() - since > scaled(JOBS_END_S):
                raise InfrastructureError(
                    f"step {left[0]} of this run does not end, though it was cancelled (Slurm ends"
                    " none whose srun was killed before its ranks began). Go on in another job, or"
                    " outside of one"
                )
            slurm.cancel(*left)
            time.sleep(0.5)

    def refusal(self) -> tuple[str, str]:
        """Asked by `sbatch --test-only`, with the site's options and longest time."""
        described = self.site.description
        minutes = max(1, (described.longest_job_s or 0) // 60)
        words = [*described.access, f"--nodes={min(2, described.nodes)}", f"--time={minutes}"]
        test = self.site.ask(["sbatch", "--test-only", *words, "--wrap=true"])
        return f"jobs with {' '.join(words)}", test.said if test.status else ""

    def submit(self, argv: Sequence[str], script: bytes, watch: Watch, pause: Pause) -> Submitted:
        """By sbatch; a job that Slurm may take later is tried again, patiently."""
        job = SlurmJob(self.site.slurm(), watch=watch)
        described = self.site.description
        words = ["sbatch", "--parsable", *described.access, *argv]

        def sbatch() -> commands.Answer:
            answer: commands.Answer = self.site.ask(words, script)
            if answer.status == 127:
                raise InfrastructureError("sbatch is not there: is this a login node of Slurm?")
            return answer

        refused = job.submit(sbatch, ("waits", "unreached"), pause)
        if refused is not None and refused.verdict == "unreached":
            raise _silent(refused.words)
        if refused is not None:
            options = " ".join([*described.access, *argv])
            raise AssayError(f"Slurm does not take the job ({options}): {refused.words}")
        return Submitted(lambda pause: _end(job, pause), lambda: _cancel(job))


def _end(job: SlurmJob, pause: Pause) -> tuple[str, str]:
    """Waited for by no clock of ours, saying why it waits."""
    begun = time.monotonic()
    for pause_s in chain(_POLLS_S, repeat(_POLLS_S[-1])):
        if job.look():
            if job.state not in OPEN:
                break
            if job.state == "PENDING":
                if never := job.never_runs():
                    raise AssayError(f"job {job.job_id} can never start: Slurm says {never}")
                if job.asked_at - begun > _QUIET_S:
                    job.tell("pending", job.reason)
        elif job.silent_s > SILENCE_S:
            raise _silent(job.silence)
        pause(pause_s)
    return job.job_id, job.state


def _cancel(job: SlurmJob) -> None:
    if job.state in OPEN:
        job.cancel()
