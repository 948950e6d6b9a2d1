# SPDX-License-Identifier: Apache-2.0
"""From a plan to records: which launches are still to come, and a record for each that ends.

The driver is the only writer of a run directory. A launch counts as done when its record is on
disk; what ends before that is run again by `--resume`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from msgspec import UNSET

from assay.plan import block_order, launch_limit_s
from assay.run.progress import Progress
from assay.run.raw_output import keep_raw
from assay.run.session import Launch, Session, cancel_jobs
from assay.run.work_folder import WorkFolder
from assay.sites.site import Site
from checks.common.outcome import Outcome
from records.errors import AssayError, ExitStatus, InfrastructureError
from records.plan import Plan, PlannedCase
from records.record import CASE_ID, Attempt, Record, RecordWriter, latest_attempts
from records.run_directory import RunDirectory

#: Launches of one ReFrame session, which keeps each test in memory until its end.
LAUNCHES_PER_SESSION = 2000
#: Seconds without a message, beyond a launch's own limit, after which a session counts as hung.
PATIENCE_S = 900.0


def launches_to_come(plan: Plan, records: Iterable[Record]) -> Iterator[Launch]:
    """The launches still to be run, in the order of the seed; lost ones get a further attempt."""
    cases = {case.id: case for case in plan.cases if case.skipped is None}
    done = latest_attempts(records, CASE_ID)
    index = 0
    for block in range(1, plan.blocks + 1):
        for case_id in block_order(cases, plan.seed, block):
            before = done.get((case_id, block))
            if before is None or before.status == "lost":
                case = cases[case_id]
                yield Launch(
                    index=index,
                    case_id=case.id,
                    check=case.check,
                    environment=case.environment,
                    params=case.params,
                    ranks=case.ranks,
                    ranks_per_node=case.ranks_per_node,
                    nodes=case.nodes,
                    block=block,
                    attempt=before.attempt + 1 if before else 1,
                    limit_s=launch_limit_s(plan, case),
                )
                index += 1


class Driver:
    """Runs what is left of one run on one site."""

    def __init__(self, run: RunDirectory, site: Site, progress: Progress) -> None:
        self.run_directory, self.site, self.progress = run, site, progress
        self.plan = run.plan()
        self.work = WorkFolder(site, run.path.resolve())
        self.begun = time.monotonic()

    def run(self) -> None:
        """Run every launch without a final record; lost ones once more as limits.retries allows."""
        cancel_jobs(self.site, self.work.name)
        with self.work, RecordWriter(self.run_directory.records_file) as writer:
            recorded = {record.case_id for record in self.run_directory.records()}
            for case in self.plan.cases:
                if case.skipped is not None and case.id not in recorded:
                    skipped = Outcome("skipped", reason=case.skipped)
                    writer.append(self._as_record(case, skipped, {}, case.id))
            for _ in range(1 + int(self.plan.limits.get("retries") or 0)):
                records = self.run_directory.records()
                coming = list(launches_to_come(self.plan, records))
                if not coming:
                    break
                self.progress.begin(len(coming), already=len(records))
                for first in range(0, len(coming), LAUNCHES_PER_SESSION):
                    self._run_batch(coming[first : first + LAUNCHES_PER_SESSION], writer)
            self.work.remove()

    def _run_batch(self, batch: list[Launch], writer: RecordWriter) -> None:
        waiting = {launch.index: launch for launch in batch}
        patience_s = PATIENCE_S + max(launch.limit_s for launch in batch)
        limit_s = self.plan.limits.get("wall_time_s")
        with Session(self.site, self.work, batch) as session:
            for message in session.messages(patience_s):
                if limit_s and time.monotonic() - self.begun > limit_s:
                    raise AssayError(
                        f"limits.wall_time_s = {limit_s:g} is used up; what is done is kept."
                        f" Continue with: assay run --resume {self.run_directory.path}",
                        ExitStatus.INCONCLUSIVE,
                    )
                if message is None:
                    self.progress.tick()
                elif message.status is None:
                    self.progress.say(message.progress or "")
                else:
                    self._record(waiting.pop(message.launch_index), message, writer)
            status = session.wait()
            if waiting:
                self._explain(waiting, session, status, writer)

    def _record(self, launch: Launch, message: Outcome, writer: RecordWriter) -> None:
        stem = f"{launch.case_id}.b{launch.block}.a{launch.attempt}"
        kept = keep_raw(self.work, self.run_directory, stem, message.files)
        kept.tell(message)
        record = self._as_record(launch, message, kept.artifacts, launch.case_id, launch)
        writer.append(record)
        self.progress.record(record)

    def _as_record(
        self,
        asked: PlannedCase | Launch,
        outcome: Outcome,
        artifacts: dict[str, str],
        case_id: str,
        place: Attempt | None = None,
    ) -> Record:
        """What was asked, where, and what came of it; without a place it was not launched."""
        assert outcome.status is not None
        return Record(
            run_id=self.run_directory.run_id,
            case_id=case_id,
            check=asked.check,
            environment=asked.environment,
            site=self.site.name,
            params=asked.params,
            ranks=asked.ranks,
            block=place.block if place else 0,
            attempt=place.attempt if place else 1,
            status=outcome.status,
            reason=outcome.reason,
            started_at=outcome.started_at,
            ended_at=outcome.ended_at,
            job_id=outcome.job_id,
            nodes=outcome.nodes,
            metrics=outcome.metrics,
            flags=outcome.flags,
            artifacts=artifacts,
            profile=UNSET if outcome.profile is None else outcome.profile,
        )

    def _explain(
        self, waiting: dict[int, Launch], session: Session, status: int, writer: RecordWriter
    ) -> None:
        """Record launches without an outcome as failed: before their job, or never reached."""
        failures = session.failures()
        if not failures:
            raise InfrastructureError(
                f"ReFrame ended with status {status} and left {len(waiting)} launches undone. What"
                f" it said last:\n{session.output_tail()}\nContinue with: assay run --resume"
                f" {self.run_directory.path}"
            )
        builds: dict[str, str] = {}
        own: dict[str, str] = {}
        for name, reason in failures.items():
            test, environment = name.rsplit(" ", 1)
            if test.startswith("L"):
                own.setdefault(test.partition("_")[0], reason[:400])
            else:
                builds[environment] = f"the build of {test} failed: {reason[:400]}"
        for launch in waiting.values():
            unreached = "ReFrame ended before this launch"
            reason = builds.get(launch.environment) or own.get(f"L{launch.index:07d}", unreached)
            now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            message = Outcome("failed", reason=reason, started_at=now, ended_at=now)
            self._record(launch, message, writer)
