# SPDX-License-Identifier: Apache-2.0
"""Records made of what a session says, held against what the driver knows of the launch.

The session has judged values and clocks. A check's code may be wrong: a record is made of what it
says only if readers of the run can read it, and if it agrees with the launch that was asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter

from msgspec import UNSET

from assay.run.launches import Launch
from assay.sites.site import Site
from checks.common.brought import checks_with
from checks.common.session.outcome import Outcome
from records.errors import AssayError
from records.run.record import Belonging, Neighbour, Record, as_read
from records.run.run_directory import RunDirectory
from records.text.plain_text import masked, one_line

#: Characters of a reason; programs are quoted with a few hundred.
_REASON_LENGTH = 4000
#: What a record takes over from its launch, and from its outcome.
_OF_LAUNCH = ("case_id", "check", "environment", "params", "ranks", "block", "attempt")
_OF_OUTCOME = ("status", "started_at", "ended_at", "job_id", "nodes", "flags")


class RecordMaker:
    """Makes the records of one run on one site."""

    def __init__(self, run: RunDirectory, site: Site) -> None:
        self._run_id, self._site, plan = run.run_id, site.name, run.plan()
        self._metrics, self._checks = plan.register.metrics, checks_with(plan.brought)
        self._belonging = Belonging(plan, run.run_id)
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
            reason=reason_of(outcome.reason),
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

    def fault(self, launch: Launch, record: Record) -> str | None:
        """Fault of a launch's record, which names the record's member; None: there is none."""
        try:
            if found := self._belonging.fault(as_read(record)):
                return found
        except AssayError as error:
            return str(error)
        if record.status == "ok" and len({*record.nodes}) != launch.nodes:
            return f"`nodes` are {', '.join(record.nodes):.200}; the launch has {launch.nodes}"
        return None


def reason_of(reason: str | None) -> str | None:
    """A reason that a session gave in one line, without secrets."""
    return masked(one_line(reason))[:_REASON_LENGTH] if reason else None
