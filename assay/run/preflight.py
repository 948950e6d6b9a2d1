# SPDX-License-Identifier: Apache-2.0
"""Proves the environments of a run by one short job before its first launch.

The job is in the run's own work folder and runs as launches do. What is broken is said before
anything is recorded, and is a matter of the set-up, not of a library.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from assay.probe.probe import Probes, WorkFolderError
from assay.probe.trials import ProbeResult, Trial, TrialResult, faults_of, trial_of
from assay.run.infrastructure import trouble
from assay.run.progress import Waiting
from assay.run.work_folder import WorkFolder
from assay.sites.site import Site
from checks.common.slurm.allocation import Allocation
from records.errors import InfrastructureError
from records.run.plan import Plan
from records.run.record_lines import Entry
from records.site.node_facts import NodeFacts
from records.waiting import scaled

#: Seconds of the job: for itself, and for each environment.
_JOB_S, _ENVIRONMENT_S = 60, 60
#: Seconds that a good launch of a run proves its environment to a driver that resumes it.
_PROVED_S = 3600.0
#: How often an environment is tried before it counts as broken: a start may fail by chance.
_TRIES = 2
#: States in which Slurm, not the environment, has ended the job.
_LOST = {"BOOT_FAIL", "CANCELLED", "NODE_FAIL", "PREEMPTED", "DEADLINE"}


class Preflight:
    """The proof of a run's environments; `pause` sleeps, but not longer than the run may. In an
    `allocation` it is a step, as launches are."""

    def __init__(
        self,
        site: Site,
        work: WorkFolder,
        waiting: Waiting,
        pause: Callable[[float], None],
        allocation: Allocation | None = None,
    ) -> None:
        self._site, self._work, self._waiting, self._pause = site, work, waiting, pause
        self._allocation = allocation
        #: What jobs found of nodes and environments, for the provenance.
        self.nodes: dict[str, NodeFacts] = {}
        self.trials: dict[str, TrialResult] = {}

    def broken(self, names: Sequence[str], nodes: int) -> dict[str, str]:
        """Faults of environments by name; an environment without one is right. Tried are two nodes;
        of so many as launches have the facts are kept.

        Raises AssayError where nodes do not see the work folder, InfrastructureError where the
        job did not come to its end, and where Slurm or the work folder are at fault.
        """
        widest = max(1, min(nodes, self._site.description.nodes or nodes))
        tried = min(2, widest)
        environments = self._site.description.environments
        left = [
            trial_of(self._site, name, ranks=tried, ranks_per_node=1)
            for name in names
            if "mpi" in environments[name].features
        ]
        faults: dict[str, str] = {}
        watch = partial(self._waiting.heed, what="the proof of the environments")
        try:
            with Probes(
                *(self._site, str(self._work.session), watch),
                pause=self._pause,
                allocation=self._allocation,
                run=self._work.name,
            ) as probes:
                if self._site.description.build_on == "login":
                    probes.build_on_login(left)
                for _ in range(_TRIES):
                    if left:
                        faults = self._faults(probes, left, tried)
                        left = [trial for trial in left if trial.name in faults]
                if widest > tried and not faults:
                    self._result(probes, "facts", widest, [])
        except WorkFolderError as error:
            self._refuse_trouble(tried, error)
            raise
        if faults:
            self._refuse_trouble(tried)
        return faults

    def _refuse_trouble(self, nodes: int, cause: Exception | None = None) -> None:
        """Raise InfrastructureError where Slurm, work folder or nodes are at fault."""
        if fault := trouble(self._site, self._work.session, nodes):
            raise InfrastructureError(fault) from cause

    def _faults(self, probes: Probes, trials: Sequence[Trial], nodes: int) -> dict[str, str]:
        """Faults that one job finds in these environments."""
        result = self._result(probes, "preflight", nodes, trials)
        if result.state in _LOST:
            raise InfrastructureError(
                f"the job that proves the environments ended {result.state} on"
                f" {', '.join(result.allocated) or 'no node'}"
            )
        faults = {}
        for name in (trial.name for trial in trials):
            trial = result.trials[name]
            if not trial.ready and not trial.prepared:
                raise InfrastructureError(
                    f"the job that proves the environments reported nothing of {name}: it ended, or"
                    " the work folder was full, before or in its `modules` and `prepare` lines"
                )
            if found := faults_of(self._site, name, result, ranks_per_node=1):
                faults[name] = "; ".join(found)
        return faults

    def _result(
        self, probes: Probes, name: str, nodes: int, trials: Sequence[Trial]
    ) -> ProbeResult:
        """Facts that a job found."""
        limit_s = int(_JOB_S + scaled(_ENVIRONMENT_S) * len(trials))
        options = [f"--comment=assay-{self._work.name}", "--no-requeue"]
        result = probes.submit(name, nodes, 1, trials, limit_s=limit_s, options=options)()
        self.nodes |= result.nodes
        self.trials |= result.trials
        return result


def lately_right(records: Iterable[Entry]) -> set[str]:
    """Environments with a good launch of which no hour has passed: they need no further proof."""
    since = (datetime.now(UTC) - timedelta(seconds=_PROVED_S)).isoformat()
    return {
        record.environment
        for record in records
        if record.status == "ok" and since < (record.ended_at or "")
    }


def broken_message(broken: Mapping[str, str], plan: Plan, run: Path) -> str:
    """The message for broken environments, and how to go on without them."""
    faults = "\n".join(f"environment {name}: {fault}" for name, fault in broken.items())
    rest = ",".join(name for name in plan.environments if name not in broken)
    anew = f" Or begin anew without: assay run {plan.campaign} --environments {rest}"
    return (
        f"{faults}\nNothing is recorded of {', '.join(broken)}. Correct the site's site.yaml or its"
        f" modules, then go on with: assay run --resume {run}.{anew if rest else ''}"
    )
