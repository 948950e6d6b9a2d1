# SPDX-License-Identifier: Apache-2.0
"""Records made of what was asked, where it ran, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import UNSET

from assay.run.coming import Launch
from assay.sites.site import Site
from checks.common.registry import CHECKS
from checks.common.session.outcome import Outcome
from records.plain_text import one_line
from records.plan import Plan, PlannedCase
from records.provenance import EnvironmentAsRun
from records.record import Neighbour, Record
from records.withheld import masked

#: Characters of a reason; programs are quoted with a few hundred.
_REASON_LENGTH = 4000


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
