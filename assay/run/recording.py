# SPDX-License-Identifier: Apache-2.0
"""Records made of what a session says, held against what the driver knows of the launch.

The session runs as the jobs' user: what it says is a statement, not a fact. A record is made of it
only if readers of the run can read it, and if it agrees with the launch that was asked for, its
job in Slurm, and the time that has passed.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping
from math import inf
from operator import attrgetter

from msgspec import UNSET

from assay.run.infrastructure import asked, node_states
from assay.run.launches import Launch
from assay.sites.site import Site
from checks.common.answer import impossible_value
from checks.common.brought import checks_with
from checks.common.json_lines import CLOCKS_APART_S
from checks.common.metrics import HOPS
from checks.common.reframe_tests import ReframeDefinition
from checks.common.session.outcome import Outcome
from checks.common.slurm.allocation import Allocation
from checks.common.slurm.text import fields, job_line, setting
from records.errors import AssayError, InfrastructureError
from records.run.belonging import Belonging, checksum_of
from records.run.mpi_profile import profile_fault
from records.run.plan import Plan
from records.run.provenance import EnvironmentAsRun
from records.run.record import Neighbour, Record, as_read
from records.run.run_directory import RunDirectory
from records.site.limits import Launched
from records.site.node_lists import names_in
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
#: What a record takes over from its launch, and from its outcome.
_OF_LAUNCH = ("case_id", "check", "environment", "params", "ranks", "block", "attempt")
_OF_OUTCOME = ("status", "started_at", "ended_at", "job_id", "nodes", "flags")
#: What an ok launch has.
_NEEDED = ("metrics", "started_at", "ended_at", "job_id", "nodes", "programs")


class RecordMaker:
    """Makes the records of one run on one site."""

    def __init__(self, run_id: str, plan: Plan, site: Site) -> None:
        self._run_id, self._site = run_id, site.name
        self._metrics, self._checks = plan.register.metrics, checks_with(plan.brought)
        told = ("prepare", "variables", "launcher_options", "launcher_command")
        self._secrets = {
            name: EnvironmentAsRun(**{word: getattr(one, word) for word in told}).secrets()
            for name, one in site.description.environments.items()
        }
        topology = site.description.topology
        leaves = topology.topology().leaves if topology else {}
        self._switch_of = {node: switch for switch, nodes in leaves.items() for node in nodes}

    def record(
        self,
        launch: Launch,
        outcome: Outcome,
        artifacts: Mapping[str, str] = {},
        session: Mapping[int, Launch] = {},
        programs: Mapping[str, str | None] = {},
    ) -> Record:
        """The record of a launch of this `session`, which executed `programs`; of a case that is
        not launched with block 0."""
        assert outcome.status is not None
        reported = getattr(self._checks.get(launch.check), "metrics_by_name", {})
        neighbours = [
            Neighbour(
                *session[one.launch_index].key,
                one.nodes,
                sorted({at for node in one.nodes if (at := self._switch_of.get(node))}) or UNSET,
            )
            for one in outcome.beside
            if one.launch_index in session
        ]
        known, same = attrgetter(*_OF_LAUNCH)(launch), attrgetter(*_OF_OUTCOME)(outcome)
        return Record(
            run_id=self._run_id,
            site=self._site,
            **dict(zip((*_OF_LAUNCH, *_OF_OUTCOME), (*known, *same), strict=True)),
            reason=self.told(launch.environment, outcome.reason),
            # A run begun before a metric was defined goes on without it.
            metrics=[
                metric
                for metric in outcome.metrics
                if metric.name in self._metrics or metric.name not in reported
            ],
            artifacts=dict(artifacts),
            profile=UNSET if outcome.profile is None else outcome.profile,
            neighbours=neighbours or UNSET,
            drawn_alone=UNSET if launch.drawn_alone is None else launch.drawn_alone,
            programs=dict(programs) or UNSET,
            submitted_at=outcome.submitted_at or UNSET,
        )

    def told(self, environment: str, reason: str | None) -> str | None:
        """A reason that a session gave in one line, without secrets."""
        if not reason:
            return None
        return masked(one_line(reason), self._secrets.get(environment, ()))[:_REASON_LENGTH]


class Hearing:
    """Judges what is said of the launches of one run, whose jobs have the comment `comment`."""

    def __init__(self, site: Site, run: RunDirectory, comment: str) -> None:
        self._site, self._run, self._comment = site, run, comment
        plan = run.plan()
        self._belonging, self._checks = Belonging(plan, run.run_id), checks_with(plan.brought)
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
        `session` are the launches that were asked for together with this one."""
        self.tick()
        try:
            if found := self._belonging.fault(as_read(record)):
                return found
        except AssayError as error:
            return str(error)
        faults = [*self._content(launch, record), *self._places(launch, outcome, record)]
        if allocation is None:
            faults += self._own_job(launch, outcome, record)
        else:
            faults += _in_allocation(launch, outcome, record, allocation, session)
        if not faults and record.status == "ok" and record.job_id is not None:
            self._jobs.add(record.job_id)
        return next(iter(faults), None)

    def _content(self, launch: Launch, record: Record) -> Iterator[str]:
        """The answer is one to what was asked, and an `ok` one is whole."""
        check = self._checks[launch.check]
        params = check.parameters.model_validate(launch.params)
        known = {**check.metrics_by_name, HOPS.name: HOPS}
        strange = next((one.name for one in record.metrics if one.name not in known), None)
        if strange is not None:
            yield f"`metrics` hold {strange:.80}, which check {launch.check} does not report"
        odd = [one for one in record.flags if not one.isprintable() or len(one) > _FLAG_LENGTH]
        if odd or len({*record.flags}) < len(record.flags) or len(record.flags) > _FLAGS:
            yield "`flags` are not up to 20 different words in printable characters"
        if record.status == "skipped" and not check.may_lack:
            yield "`status` is skipped, which a launch of this check is not"
        if record.status == "ok":
            needed = (name for name in _NEEDED if name not in check.may_lack)
            missing = [name for name in needed if not getattr(record, name)]
            if missing:
                yield f"`{missing[0]}` is missing or empty in an ok launch"
                return
            begin, end = (utc_seconds(at or "") or 0 for at in (record.started_at, record.ended_at))
            # A suite's test may give the time of a compilation.
            launched = Launched(
                ranks=launch.ranks,
                cores=launch.ranks * _CORES_A_RANK,
                seconds=inf if isinstance(check, ReframeDefinition) else max(0.0, end - begin),
                devices=bool(launch.resources),
            )
            if fault := impossible_value(record.metrics, known, launched):
                yield f"`metrics`: {fault}"
            yield from self._scan_faults(launch, record, check.in_file(params))
        profiled = bool(launch.params.get("mpi_profile"))
        if record.profile is UNSET:
            if profiled and record.status == "ok":
                yield "`profile` is missing"
            return
        if not profiled:
            yield "`profile` is there, and none was asked for"
        whole = not check.one_sided(params)
        if fault := profile_fault(record.profile, launch.ranks, whole=whole):
            yield f"`profile`: {fault}"

    def _scan_faults(self, launch: Launch, record: Record, has_file: bool) -> Iterator[str]:
        """The file of a scan is there if the launch has one, and can be read."""
        known, path = self._checks[launch.check].metrics_by_name, record.artifacts.get(ARTIFACT)
        if has_file != (path is not None):
            yield f"`files` {'lack the' if path is None else 'hold'} values of a scan"
        elif path is not None:
            file = ScanFile(record.block, path, checksum_of(record.artifacts, ARTIFACT))
            scan = Scan(self._run.path, 0, (file,))
            try:
                strange = next((metric for metric in scan.metrics if metric not in known), None)
                if strange is not None or not scan.metrics:
                    yield f"`points` hold {strange or 'no metric'!s:.80}"
                for metric in scan.metrics:
                    scan.columns(metric)
            except AssayError as error:
                yield f"`points`: {error}"

    def _places(self, launch: Launch, outcome: Outcome, record: Record) -> Iterator[str]:
        """Files, nodes, job and times are those of the launch. The times of an ok one are within
        this run, up to what clocks of hosts may differ. Others may have been lost for a clock that
        is further off."""
        if not all(_folder(launch) in path for path in outcome.files.values()):
            yield "`files` lie in the folder of another launch"
        if len({*record.nodes}) != len(record.nodes):
            yield "`nodes` hold one twice"
        if record.status != "ok":
            return
        if len(record.nodes) != launch.nodes:
            yield f"`nodes` are {len(record.nodes)}; the launch has {launch.nodes}"
        if record.job_id in self._jobs:
            yield f"`job_id` {record.job_id} is that of another launch"
        times = {name: getattr(record, name) for name in ("submitted_at", "started_at", "ended_at")}
        told = {name: utc_seconds(at or "") or 0 for name, at in times.items() if at is not UNSET}
        for name, at in told.items():
            if not self._earliest - CLOCKS_APART_S <= at <= self._latest + CLOCKS_APART_S:
                yield f"`{name}` is {times[name]}, which is not within this run"
        begin = told["started_at"]
        if begin > told["ended_at"]:
            yield "`started_at` is later than `ended_at`"
        # The harness's clock tells it, those of the nodes the others.
        if told.get("submitted_at", begin) > begin + CLOCKS_APART_S:
            yield "`submitted_at` is later than `started_at`"

    def _own_job(self, launch: Launch, outcome: Outcome, record: Record) -> Iterator[str]:
        """What Slurm says of a launch's own job; where it does not answer, nothing is held against
        the launch, and of a job that it has forgotten the nodes are those of the partition."""
        job, nodes = record.job_id, {*record.nodes}
        if outcome.beside:
            yield _BESIDE
        if job is None:
            yield from ["`nodes` are named, and no job"] * bool(nodes)
            return
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
            there = {*(names_in(known["NodeList"]) if line else node_states(self._site))}
        except InfrastructureError:
            return
        # Its script and its output are in the launch's own folder.
        if line and not (known.get("Comment") == self._comment and _folder(launch) in line):
            yield f"`job_id` {job} is not the job of this launch"
        if nodes and not nodes <= there:
            yield _FOREIGN_NODES.format(job)


_BESIDE = "`beside` names launches that are none of this session, or one twice"
_FOREIGN_NODES = "`nodes` hold some that job {} does not have"


def _in_allocation(
    launch: Launch,
    outcome: Outcome,
    record: Record,
    allocation: Allocation,
    session: Collection[int],
) -> Iterator[str]:
    """Job and nodes of a step, and of those said to have run at the same time, are the shared
    allocation's."""
    nodes, job = {*record.nodes}, record.job_id
    beside = {node for one in outcome.beside for node in one.nodes}
    indexes = [one.launch_index for one in outcome.beside]
    if len({*indexes}) < len(indexes) or not {*indexes} <= {*session} - {launch.index}:
        yield _BESIDE
    if job is not None and job.split(".")[0] != allocation.job_id:
        yield f"`job_id` is {job}; the allocation is {allocation.job_id}"
    if not nodes | beside <= {*allocation.nodes}:
        yield _FOREIGN_NODES.format(job)
    if nodes & beside:
        yield "`nodes` hold some of a launch that ran at the same time"


def _folder(launch: Launch) -> str:
    """What the path of each file of a launch holds: ReFrame's folder of it."""
    return f"/L{launch.index:07d}_"
