# SPDX-License-Identifier: Apache-2.0
"""Records, made of what a session says of a launch, and held against what the driver knows of it.

The session runs as the jobs' user: what it says is a statement, not a fact. A record is made of it
only if readers of the run can read it, and if it agrees with the launch that was asked for, its
job in Slurm, and the time that has passed.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping

from msgspec import UNSET

from assay.run.infrastructure import asked, node_states
from assay.run.launches import Launch
from assay.sites.site import Site
from checks.common.answer import impossible_value
from checks.common.evidence.ranks import names_in
from checks.common.json_lines import CLOCKS_APART_S
from checks.common.metrics import HOPS
from checks.common.registry import CHECKS
from checks.common.session.outcome import Outcome
from checks.common.slurm.allocation import Allocation
from checks.common.slurm.text import fields, job_line, setting
from records.errors import AssayError, InfrastructureError
from records.run.belonging import Belonging, checksum_of
from records.run.mpi_profile import profile_fault
from records.run.plan import Plan, PlannedCase
from records.run.provenance import EnvironmentAsRun
from records.run.record import Neighbour, Record, as_read
from records.run.run_directory import RunDirectory
from records.site.limits import Launched
from records.site.pair_scans import ARTIFACT
from records.text.plain_text import one_line
from records.text.withheld import masked
from records.values import utc_seconds
from reports.load.scans import Scan, ScanFile

#: Characters of a reason; programs are quoted with a few hundred.
_REASON_LENGTH = 4000
#: More flags than a launch has, and characters of one.
_FLAGS, _FLAG_LENGTH = 20, 200
#: More cores than a rank runs on; its evidence knows how many.
_CORES_A_RANK = 1024


class RecordMaker:
    """Makes the records of one run on one site."""

    def __init__(self, run_id: str, plan: Plan, site: Site) -> None:
        self._run_id, self._site = run_id, site.name
        self._metrics = plan.register.metrics
        self._secrets = {
            name: EnvironmentAsRun(
                prepare=one.prepare,
                variables=one.variables,
                launcher_options=one.launcher_options,
                launcher_command=one.launcher_command,
            ).secrets()
            for name, one in site.description.environments.items()
        }
        topology = site.description.topology
        self._switch_of = {
            node: switch
            for switch, nodes in (topology.topology().leaves if topology else {}).items()
            for node in nodes
        }

    def record(
        self,
        asked: PlannedCase | Launch,
        outcome: Outcome,
        artifacts: Mapping[str, str] = {},
        session: Mapping[int, Launch] = {},
        programs: Mapping[str, str | None] = {},
    ) -> Record:
        """The record of a launch of this `session`, which executed `programs`, or of a case not
        launched, with block 0."""
        assert outcome.status is not None
        reported = CHECKS[asked.check].metrics_by_name if asked.check in CHECKS else {}
        if isinstance(asked, Launch):
            case_id, block, attempt = asked.case_id, asked.block, asked.attempt
            drawn = asked.drawn_alone
        else:
            case_id, block, attempt, drawn = asked.id, 0, 1, None
        return Record(
            run_id=self._run_id,
            case_id=case_id,
            check=asked.check,
            environment=asked.environment,
            site=self._site,
            params=asked.params,
            ranks=asked.ranks,
            block=block,
            attempt=attempt,
            status=outcome.status,
            reason=self.told(asked.environment, outcome.reason),
            started_at=outcome.started_at,
            ended_at=outcome.ended_at,
            job_id=outcome.job_id,
            nodes=outcome.nodes,
            # A run begun before a metric was defined goes on without it.
            metrics=[
                metric
                for metric in outcome.metrics
                if metric.name in self._metrics or metric.name not in reported
            ],
            flags=outcome.flags,
            artifacts=dict(artifacts),
            profile=UNSET if outcome.profile is None else outcome.profile,
            neighbours=self._neighbours(outcome, session) or UNSET,
            drawn_alone=UNSET if drawn is None else drawn,
            programs=dict(programs) or UNSET,
        )

    def told(self, environment: str, reason: str | None) -> str | None:
        """A reason that a session gave in one line, without secrets."""
        if not reason:
            return None
        return masked(one_line(reason), self._secrets.get(environment, ()))[:_REASON_LENGTH]

    def _neighbours(self, outcome: Outcome, session: Mapping[int, Launch]) -> list[Neighbour]:
        """The launches of this session that ran meanwhile."""
        return [
            Neighbour(
                one.case_id,
                one.block,
                beside.nodes,
                sorted({at for node in beside.nodes if (at := self._switch_of.get(node))}) or UNSET,
            )
            for beside in outcome.beside
            if (one := session.get(beside.launch_index)) is not None
        ]


class Hearing:
    """Judges what is said of the launches of one run, whose jobs have the comment `comment`."""

    def __init__(self, site: Site, run: RunDirectory, comment: str) -> None:
        self._site, self._run, self._comment = site, run, comment
        self._belonging = Belonging(run.plan(), run.run_id)
        self._earliest = self._latest = time.time()
        #: The jobs of launches that were ok.
        self._jobs: set[str] = set()

    def tick(self) -> None:
        """Look at the clock, which may be set back or forth during the run; call it often."""
        now = time.time()
        self._earliest, self._latest = min(self._earliest, now), max(self._latest, now)

    def fault(
        self,
        launch: Launch,
        outcome: Outcome,
        record: Record,
        allocation: Allocation | None,
        session: Collection[int],
    ) -> str | None:
        """What in the record of an outcome cannot be; the reason names the record's member.

        `session` are the launches that were asked for together with this one.
        """
        self.tick()
        try:
            if found := self._belonging.fault(as_read(record)):
                return found
        except AssayError as error:
            return str(error)
        faults = [*self._content(launch, record), *self._times(record)]
        faults += self._places(launch, outcome, record, allocation, session)
        if not faults and record.status == "ok" and record.job_id is not None:
            self._jobs.add(record.job_id)
        return next(iter(faults), None)

    def _content(self, launch: Launch, record: Record) -> Iterator[str]:
        """The answer is one to what was asked, and an `ok` one is whole."""
        check = CHECKS[launch.check]
        known = {**check.metrics_by_name, HOPS.name: HOPS}
        strange = next((one.name for one in record.metrics if one.name not in known), None)
        if strange is not None:
            yield f"`metrics` hold {strange:.80}, which check {launch.check} does not report"
        odd = [one for one in record.flags if not one.isprintable() or len(one) > _FLAG_LENGTH]
        if odd or len({*record.flags}) < len(record.flags) or len(record.flags) > _FLAGS:
            yield "`flags` are not up to 20 different words in printable characters"
        if record.status == "ok":
            named = ("metrics", "started_at", "ended_at", "job_id", "nodes", "programs")
            missing = [name for name in named if not getattr(record, name)]
            if missing:
                yield f"`{missing[0]}` is missing or empty in an ok launch"
                return
            begin, end = (
                utc_seconds(at or "") or 0.0 for at in (record.started_at, record.ended_at)
            )
            launched = Launched(
                ranks=launch.ranks,
                cores=launch.ranks * _CORES_A_RANK,
                seconds=max(0.0, end - begin),
                devices=bool(launch.resources),
            )
            if fault := impossible_value(record.metrics, known, launched):
                yield f"`metrics`: {fault}"
            yield from self._points_faults(launch, record)
        profiled = bool(launch.params.get("mpi_profile"))
        if record.profile is UNSET:
            if profiled and record.status == "ok":
                yield "`profile` is missing"
            return
        if not profiled:
            yield "`profile` is there, and none was asked for"
        one_sided = check.one_sided(check.parameters.model_validate(launch.params))
        if fault := profile_fault(record.profile, launch.ranks, whole=not one_sided):
            yield f"`profile`: {fault}"

    def _points_faults(self, launch: Launch, record: Record) -> Iterator[str]:
        """The file of a scan is there if the launch has one, and can be read."""
        check, path = CHECKS[launch.check], record.artifacts.get(ARTIFACT)
        params = check.parameters.model_validate(launch.params)
        if check.in_file(params) != (path is not None):
            yield f"`files` {'lack the' if path is None else 'hold'} values of a scan"
        elif path is not None:
            file = ScanFile(record.block, path, checksum_of(record.artifacts, ARTIFACT))
            scan = Scan(self._run.path, 0, (file,))
            try:
                strange = next((m for m in scan.metrics if m not in check.metrics_by_name), None)
                if strange is not None or not scan.metrics:
                    yield f"`points` hold {strange or 'no metric'!s:.80}"
                for metric in scan.metrics:
                    scan.columns(metric)
            except AssayError as error:
                yield f"`points`: {error}"

    def _times(self, record: Record) -> Iterator[str]:
        """The times of an ok launch are within this run, up to what clocks of hosts may differ.

        Others may have been lost for a clock that is further off.
        """
        if record.status != "ok":
            return
        named = ("started_at", record.started_at), ("ended_at", record.ended_at)
        times = {name: utc_seconds(text) or 0.0 for name, text in named if text is not None}
        low, high = self._earliest - CLOCKS_APART_S, self._latest + CLOCKS_APART_S
        for name, at in times.items():
            if not low <= at <= high:
                yield f"`{name}` is {getattr(record, name)}, which is not within this run"
        if len(times) == 2 and times["started_at"] > times["ended_at"]:
            yield "`started_at` is later than `ended_at`"

    def _places(
        self,
        launch: Launch,
        outcome: Outcome,
        record: Record,
        allocation: Allocation | None,
        session: Collection[int],
    ) -> Iterator[str]:
        """Job and nodes are those of the launch, and of those said to have run at the same time."""
        nodes, job, folder = {*record.nodes}, record.job_id, _folder(launch)
        if not all(folder in path for path in outcome.files.values()):
            yield "`files` lie in the folder of another launch"
        if len(nodes) != len(record.nodes):
            yield "`nodes` hold one twice"
        if record.status == "ok" and len(nodes) != launch.nodes:
            yield f"`nodes` are {len(nodes)}; the launch has {launch.nodes}"
        if record.status == "ok" and job in self._jobs:
            yield f"`job_id` {job} is that of another launch"
        indexes = [one.launch_index for one in outcome.beside]
        apart = len({*indexes}) == len(indexes) and {*indexes} <= {*session} - {launch.index}
        if outcome.beside and (allocation is None or not apart):
            yield "`beside` names launches that are none of this session, or one twice"
        told = f"`nodes` hold some that job {job} does not have"
        if allocation is not None:
            there, beside = {*allocation.nodes}, {n for one in outcome.beside for n in one.nodes}
            if job is not None and job.split(".")[0] != allocation.job_id:
                yield f"`job_id` is {job}; the allocation is {allocation.job_id}"
            if not nodes | beside <= there:
                yield told
            if nodes & beside:
                yield "`nodes` hold some of a launch that ran at the same time"
        elif job is not None:
            yield from self._own_job(launch, job, nodes, told)
        elif nodes:
            yield "`nodes` are named, and no job"

    def _own_job(self, launch: Launch, job: str, nodes: set[str], told: str) -> Iterator[str]:
        """What Slurm says of a launch's own job; where it does not answer, nothing is held against
        the launch, and of a job that it has forgotten the nodes are those of the partition."""
        try:
            words = "scontrol", "show", "job", "-o", job
            line = job_line(asked(self._site, *words).stdout if job.isdecimal() else "", job)
            line = line if " NodeList=" in line else ""  # else it has had no nodes
            if not line:  # Slurm may have forgotten it: it has given ids up to the next one
                config = asked(self._site, "scontrol", "show", "config").stdout
                following = setting(config, "NEXT_JOB_ID") or ""
                if not job.isdecimal() or (following.isdecimal() and int(job) >= int(following)):
                    yield f"`job_id` {job} is no job of this Slurm"
            known = fields(line)
            there = names_in(known["NodeList"]) if line else {*node_states(self._site)}
        except InfrastructureError:
            return
        # Its script and its output lie in the launch's own folder.
        ours = known.get("Comment") == self._comment and _folder(launch) in line
        if line and not ours:
            yield f"`job_id` {job} is not the job of this launch"
        if nodes and not nodes <= there:
            yield told


def _folder(launch: Launch) -> str:
    """What the path of each file of a launch holds: ReFrame's folder of it."""
    return f"/L{launch.index:07d}_"
