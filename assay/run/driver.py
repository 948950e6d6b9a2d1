# SPDX-License-Identifier: Apache-2.0
"""From a plan to records: which launches are still to come, and a record for each that ends.

The driver is the only writer of a run directory. A launch counts as done when its record is on
disk; what ends before that is run again by `--resume`. What a fault of the infrastructure keeps
from being run gets no record: it stays to be run.
"""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial

from assay.commands import Pause
from assay.plan.times import clock_of
from assay.probe.probe import Probes, WorkFolderError
from assay.run.environments import KeptBuilds, broken_message, lately_right, prove
from assay.run.launches import (
    RawArchives,
    RecordMaker,
    in_sessions,
    launch_of,
    launches_to_come,
    reason_of,
)
from assay.run.progress import Interruption, Progress, Waiting
from assay.run.provenance import with_facts
from assay.run.session import Session, WorkFolder
from assay.sites.site import Site
from checks.common.session.outcome import BuildFailure, Launch, Outcome
from checks.common.slurm.commands import HALTING_S, limits_s
from checks.common.slurm.job import ENDING_S, Allocation
from records.errors import AssayError, ExitStatus, InfrastructureError
from records.files import write_whole
from records.run.chain import SEAL
from records.run.record import Record, RecordWriter
from records.run.record_lines import Ledger
from records.run.run_directory import RunDirectory, launch_stem
from records.waiting import CLEARING_S
from reports.notation.labels import case_names

#: Seconds without a message after which a session counts as hung. While a job waits or runs the
#: session says so again and again.
PATIENCE_S = 900.0
#: Seconds that are kept for the start of launches in the job that assay runs in.
START_S = 60.0
#: Seconds for which a run that has ended waits until Slurm has cleared its nodes.
LAST_CLEARING_S = 60.0
#: After the same fault of the infrastructure at so many launches in a row the run pauses.
FAULTS_IN_A_ROW = 3
#: Seconds of the pause: within them Slurm notices that a node of a small cluster is gone.
PAUSE_S = 20.0
#: The run stops after so many rounds with a fault and without a result.
ROUNDS_WITHOUT_RESULT = 2


class _PauseError(Exception):
    """Repeated fault at several launches in a row; the message is the last reason."""


class Driver:
    """Runs what is left of one run on one site. Its errors say what is wrong, not how to go on."""

    def __init__(
        self,
        run: RunDirectory,
        ledger: Ledger,
        site: Site,
        progress: Progress,
        interruption: Interruption,
        *,
        own_job: Allocation | None = None,
    ) -> None:
        self.run_directory, self.site, self.progress = run, site, progress
        self.ledger, self.interruption = ledger, interruption
        self.plan = run.plan()
        self.work = WorkFolder(site, run.path.resolve())
        self._begun, self._resume = time.monotonic(), f"assay run --resume {run.path}"
        self.waiting = Waiting(run, progress, self.plan.limits.get("queue_s"))
        self.own_job = own_job
        if own_job is not None and (longest_s := site.description.longest_job_s) is not None:
            # What a launch may take; begin and end of the job are kept free of them.
            self.site = site.changed(longest_job_s=int(longest_s - ENDING_S - START_S))
        self._raw = RawArchives(run, ledger, progress.say)
        self._records = RecordMaker(run, site)
        #: Times that this driver made each launch, of 1 + `retries` times at most.
        self._made = Counter[tuple[str, int]]()
        self._most = 1 + int(self.plan.limits.get("retries") or 0)
        #: Builds that failed, by environment, whose launches are not run.
        self._unbuilt: dict[str, list[BuildFailure]] = {}
        progress.names, progress.register = case_names(self.plan.cases), self.plan.register
        #: How many records of this driver are of launches that were not lost.
        self._results = 0

    def run(self) -> list[str]:
        """Run every launch without a final record; lost ones once more as limits.retries allows.
        Gives a sentence for each environment whose launches were not run, for a build failed.
        Raises InfrastructureError when Slurm, the work folder or the nodes fail."""
        # A job of an earlier driver writes into the folder that is put away.
        self._end_jobs(pause=self.interruption.sleep)
        try:
            # Before the first record: the chain begins with what is proven now.
            self._prove(self._to_come())
            chain = self.ledger.chain if self.ledger.entries else None
            with self._raw, RecordWriter(self.run_directory.records_file, chain) as writer:
                recorded = {entry.case_id for entry in self.ledger.entries}
                for case in self.plan.cases:
                    if case.skipped is not None and case.id not in recorded:
                        skipped = Outcome("skipped", reason=case.skipped)
                        launch = launch_of(case, index=-1, block=0, attempt=1, limit_s=0.0)
                        self._append(self._records.record(launch, skipped), writer)
                self._run_asked(writer)
                if self.plan.sequential is not None:
                    from assay.run.sequential import judge  # slow: SciPy

                    # As many blocks as it takes, with a judgement between.
                    while interim := judge(self.run_directory, self.ledger.entries):
                        for sentence in interim.told(self.plan):
                            self.progress.say(sentence)
                        self._run_asked(writer)
        finally:
            self.waiting.over()
            # Where Slurm does not answer, the next driver ends them before it begins.
            with suppress(InfrastructureError):
                self._end_jobs(clear_s=LAST_CLEARING_S)
        self.work.remove()
        left = Counter(launch.environment for launch in self._to_come(built=False))
        return [
            f"{left[name]} launches of {name} were not run, for its build of"
            f" {', '.join(failure.program for failure in failures)} failed; what it printed is in"
            f" {self.run_directory.build_log(name)}"
            for name, failures in sorted(self._unbuilt.items())
            if left[name]
        ]

    @cached_property
    def _kept_builds(self) -> KeptBuilds:
        return KeptBuilds(self.site, self.run_directory, self.work, self.plan.environments)

    def _prove(self, coming: list[Launch]) -> None:
        """Raise AssayError unless the environments of these launches do what is said of them."""
        proved = lately_right(self.ledger.entries)
        asked = dict.fromkeys(launch.environment for launch in coming)
        names = [name for name in asked if name not in proved]
        if not names:
            return
        begun, run = time.monotonic(), self.run_directory
        self.work.fresh_session()
        shared = self._allocation(coming)
        most, name = max(launch.nodes for launch in coming), self.work.name
        watch = partial(self.waiting.heed, what="the proof of the environments")
        try:
            with Probes(
                *(self.site, str(self.work.session), watch),
                pause=self.interruption.sleep,
                allocation=shared,
                run=name,
            ) as probes:
                proof = prove(probes, self.site, names, most, run=name)
            if proof.faults:
                self._refuse_trouble(min(2, most))
        except AssayError as error:
            if isinstance(error, WorkFolderError):
                self._refuse_trouble(min(2, most))
            if error.status is not ExitStatus.BAD_INPUT:
                raise
            raise AssayError(
                f"{error}. Nothing was run. Fix it, then continue with: {self._resume}"
            ) from error
        self.waiting.over()
        if not (run.records_file.exists() or (run.path / SEAL).exists()):
            facts = with_facts(run.provenance(), proof.nodes, proof.trials)
            write_whole(run.provenance_file, facts.to_json())
        if proof.faults:
            raise AssayError(broken_message(proof.faults, self.plan, run.path))
        took_s = time.monotonic() - begun
        self.progress.say(f"each environment was proved ({', '.join(names)}; {took_s:.0f} s)")

    def _refuse_trouble(self, nodes: int) -> None:
        """Raise InfrastructureError where Slurm, the work folder or nodes are at fault, so that
        launches of so many nodes cannot be run."""
        fault = self.site.scheduler().lacking(nodes) or self.work.trouble(self.site)
        if fault is not None:
            raise InfrastructureError(fault)

    def _allocation(self, coming: Sequence[Launch]) -> Allocation | None:
        """The allocation in which these launches are run; None: each has a job of its own. Raises
        AssayError where it ends before the next launch may."""
        if (job := self.own_job) is not None:
            limit_s, _ = limits_s(coming[0].limit_s, self.site.description.longest_job_s)
            if job.ends_at - ENDING_S - time.monotonic() < (next_s := limit_s + HALTING_S):
                left = f"less than the {next_s:.0f} s are left that the next launch may take"
                raise _over(job, left)
        return job

    def _end_jobs(self, pause: Pause = time.sleep, clear_s: float = CLEARING_S) -> None:
        """End the jobs of this run, and what its launches have left in that in which assay runs."""
        self.site.scheduler().end(self.work.name, self.own_job, pause, clear_s)

    def _to_come(self, *, built: bool = True) -> list[Launch]:
        """Launches still to be run; not `built`: also those whose environment has no programs."""
        interims = self.run_directory.interims()
        coming = launches_to_come(self.plan, self.ledger.entries, interims)
        left = (launch for launch in coming if self._made[launch.key] < self._most)
        return [one for one in left if not (built and one.environment in self._unbuilt)]

    def _run_asked(self, writer: RecordWriter) -> None:
        """Round by round; what a fault kept from being run comes again in the next one."""
        rounds_without_result = 0
        while coming := self._to_come():
            self._end_jobs(pause=self.interruption.sleep)
            entries = self.ledger.entries
            self.progress.begin(coming, len(entries), clock_of(self.run_directory, entries))
            before, fault = self._results, None
            try:
                for batch in in_sessions(coming, self.plan.mix_blocks):
                    fault = self._run_batch(batch, writer) or fault
            except _PauseError as pause:
                fault = str(pause)
            self.progress.end()
            rounds_without_result = 0 if self._results > before else rounds_without_result + 1
            if fault is not None and self._to_come():
                # What may pass by itself is waited for.
                self.progress.say(f"paused for {PAUSE_S:.0f} s: {fault}")
                self.interruption.sleep(PAUSE_S)
                self._refuse_trouble(max(launch.nodes for launch in coming))
                self.progress.say("Slurm, work folder and nodes serve; the run goes on")
            if rounds_without_result == ROUNDS_WITHOUT_RESULT and self._to_come():
                raise InfrastructureError(f"launches are not run: {fault}")

    def _run_batch(self, batch: list[Launch], writer: RecordWriter) -> str | None:
        """Run the launches of one session; gives the last fault that kept one from being run."""
        waiting, fault = {launch.index: launch for launch in batch}, None
        faults: list[Outcome] = []
        self.progress.next(batch[0])
        shared = self._allocation(batch)
        self.work.fresh_session()
        self._kept_builds.lay_out()
        at_once = int(self.plan.limits.get("jobs_at_once") or 0)
        checks = {launch.check for launch in batch}
        brought = {name: check for name, check in self.plan.brought.items() if name in checks}
        with Session(self.site, self.work, batch, shared, at_once, brought=brought) as session:
            for message in session.messages(PATIENCE_S):
                if message is None:
                    self.progress.tick()
                elif message.launch_index < 0:
                    self._heed_notice(message, waiting)
                elif launch := waiting.pop(message.launch_index, None):
                    fault = self._take_in(launch, message, writer) or fault
                    self.progress.next(next(iter(waiting.values()), None))
                    faults = [*faults, message] if message.fault else []
                    self._heed(faults)
                self.interruption.check()
                self._refuse_overtime()
            status = session.wait()
            if any(launch.environment not in self._unbuilt for launch in waiting.values()):
                end = f"status {status}, {session.last_line() or 'nothing said'}"
                fault = f"ReFrame ended before its last launch ({end[:300]})"
        return fault

    def _refuse_overtime(self) -> None:
        """Raise AssayError once the campaign's wall time is used up."""
        limit_s = self.plan.limits.get("wall_time_s")
        if limit_s and time.monotonic() - self._begun - self.waiting.seconds > limit_s:
            used = f"limits.wall_time_s = {limit_s:g} is used up; what is done is kept"
            raise AssayError(f"{used}. Continue with: {self._resume}", ExitStatus.INCONCLUSIVE)

    def _take_in(self, launch: Launch, message: Outcome, writer: RecordWriter) -> str | None:
        """Record a launch that has ended; gives the fault that kept it from being run, if any."""
        self.waiting.over()
        message.reason = reason_of(message.reason)
        if message.status is not None:
            self._record(launch, message, writer)
            return None
        self.progress.say(f"{self.progress.what(launch)}: {message.reason}")
        return f"{message.reason}"

    def _heed_notice(self, message: Outcome, waiting: Mapping[int, Launch]) -> None:
        """Take in what a session says that is no outcome of a launch."""
        if message.build is not None:
            self.progress.doing(None)
            self._keep_failure(message.build)
        elif message.built is not None:
            self.progress.doing(None)
            self._kept_builds.take_in(message.built)
        elif message.queue is not None:
            launch = waiting.get(message.queue.launch)
            self.waiting.heed(message.queue, self.progress.what(launch) if launch else "a build")
        elif message.progress is not None:
            self.progress.say(message.progress)
            self.progress.doing(message.progress)

    def _keep_failure(self, failure: BuildFailure) -> None:
        """Keep what a build printed that failed, unless no launch needs it."""
        if (name := failure.environment) in self.plan.environments:
            failures = self._unbuilt.setdefault(name, [])
            failures.append(failure)
            log = "\n".join(f"# {each.program}\n{each.output}" for each in failures)
            file = self.run_directory.keep_build_log(name, log)
            self.progress.say(f"the build of {failure.program} for {name} failed; see {file}")

    def _heed(self, faults: list[Outcome]) -> None:
        """Raise for what Slurm refuses for good, for the end of the allocation in which launches
        run, and for the same fault several times in a row."""
        if not faults:
            return
        last = faults[-1]
        if last.fault == "allocation" and self.own_job is not None:
            raise _over(self.own_job, last.reason or "it has ended")
        if last.fault == "refused":
            unrecorded = f"{last.reason}. Nothing is recorded of it. Fix it, then continue with:"
            raise AssayError(f"{unrecorded} {self._resume}")
        same = [outcome for outcome in faults[-FAULTS_IN_A_ROW:] if outcome.fault == last.fault]
        if len(same) == FAULTS_IN_A_ROW:
            raise _PauseError(f"{FAULTS_IN_A_ROW} launches in a row: {last.reason}")

    def _append(self, record: Record, writer: RecordWriter) -> None:
        writer.append(record)
        self.ledger.add(record)

    def _record(self, launch: Launch, message: Outcome, writer: RecordWriter) -> None:
        stem = launch_stem(launch.case_id, launch.block, launch.attempt)
        artifacts = self._raw.keep(self.work.open, stem, launch.block, message)
        programs, wrong = self._kept_builds.executed(message.programs)
        if wrong and message.status == "ok":
            message.status, message.reason = "wrong", wrong
        record = self._records.record(launch, message, artifacts, programs)
        fault = self._records.fault(launch, record)
        if fault is not None:
            refused = f"what the session said of this launch was refused: {fault}"
            message = Outcome("wrong", refused, launch_index=launch.index)
            record = self._records.record(launch, message, artifacts)
        self._append(record, writer)
        self._made[launch.key] += 1
        self._results += record.status != "lost"
        self.progress.record(record)


def _over(own_job: Allocation, why: str) -> AssayError:
    """Error where the job that assay runs in has ended, or has no time left."""
    return AssayError(
        f"job {own_job.job_id}, in which assay runs, serves no more launches: {why}; what is done"
        " is kept. Go on in another job, or outside of one",
        ExitStatus.INCONCLUSIVE,
    )
