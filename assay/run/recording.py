# SPDX-License-Identifier: Apache-2.0
"""Records made of what a session says, held against what the driver knows of the launch.

A check's code, a program or a clock may be wrong: a record is made of what a session says only if
readers of the run can read it, and if it agrees with the launch that was asked for and the time
that has passed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from math import inf
from operator import attrgetter

from msgspec import UNSET

from assay.run.launches import Launch
from assay.sites.site import Site
from checks.common.answer import impossible_value
from checks.common.brought import checks_with
from checks.common.json_lines import CLOCKS_APART_S
from checks.common.metrics import HOPS
from checks.common.reframe_tests import ReframeDefinition
from checks.common.session.outcome import Outcome
from records.errors import AssayError
from records.run.belonging import Belonging, checksum_of
from records.run.plan import Plan
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
#: Characters of a flag.
_FLAG_LENGTH = 200
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
    """Judges what is said of the launches of one run."""

    def __init__(self, run: RunDirectory) -> None:
        self._run, plan = run, run.plan()
        self._belonging, self._checks = Belonging(plan, run.run_id), checks_with(plan.brought)
        self._earliest = self._latest = time.time()

    def tick(self) -> None:
        """Look at the clock, which may be set back or forth during the run; call it often."""
        now = time.time()
        self._earliest, self._latest = min(self._earliest, now), max(self._latest, now)

    def fault(self, launch: Launch, record: Record) -> str | None:
        """What in the record of a launch cannot be; the reason names the record's member."""
        self.tick()
        try:
            if found := self._belonging.fault(as_read(record)):
                return found
        except AssayError as error:
            return str(error)
        return next(self._faults(launch, record), None)

    def _faults(self, launch: Launch, record: Record) -> Iterator[str]:
        """The answer is one to what was asked, and an `ok` one is whole and possible."""
        check = self._checks[launch.check]
        known = {**check.metrics_by_name, HOPS.name: HOPS}
        strange = next((one.name for one in record.metrics if one.name not in known), None)
        if strange is not None:
            yield f"`metrics` hold {strange:.80}, which check {launch.check} does not report"
        if not all(one.isprintable() and len(one) <= _FLAG_LENGTH for one in record.flags):
            yield f"`flags` are not words of up to {_FLAG_LENGTH} printable characters"
        if record.status != "ok":
            return
        needed = (name for name in _NEEDED if name not in check.may_lack)
        if missing := [name for name in needed if not getattr(record, name)]:
            yield f"`{missing[0]}` is missing or empty in an ok launch"
            return
        if len({*record.nodes}) != launch.nodes:
            yield f"`nodes` are {', '.join(record.nodes):.200}; the launch has {launch.nodes}"
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
        if launch.params.get("mpi_profile") and record.profile is UNSET:
            yield "`profile` is missing"
        yield from self._scan_faults(launch, record)
        yield from self._time_faults(record)

    def _scan_faults(self, launch: Launch, record: Record) -> Iterator[str]:
        """The file of a scan is there if the launch has one, and can be read."""
        check, path = self._checks[launch.check], record.artifacts.get(ARTIFACT)
        if check.in_file(check.parameters.model_validate(launch.params)) != (path is not None):
            yield f"`files` {'lack the' if path is None else 'hold'} values of a scan"
        elif path is not None:
            file = ScanFile(record.block, path, checksum_of(record.artifacts, ARTIFACT))
            scan = Scan(self._run.path, 0, (file,))
            try:
                strange = {*scan.metrics} - check.metrics_by_name.keys()
                if strange or not scan.metrics:
                    yield f"`points` hold {', '.join(sorted(strange)) or 'no metric':.80}"
                for metric in scan.metrics:
                    scan.columns(metric)
            except AssayError as error:
                yield f"`points`: {error}"

    def _time_faults(self, record: Record) -> Iterator[str]:
        """The times of an ok launch are within this run, up to what clocks of hosts may differ.
        Others may have been lost for a clock that is further off."""
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
