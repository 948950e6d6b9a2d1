# SPDX-License-Identifier: Apache-2.0
"""Proves the environments of a run by one short job before its first launch.

The job is in the run's own work folder and runs as launches do. What is broken is said before
anything is recorded, and is a matter of the set-up, not of a library.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from assay.probe.probe import Probes
from assay.probe.trials import ProbeResult, Trial, TrialResult, fault_of, trial_of
from assay.sites.site import Site
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


@dataclass
class Proof:
    """Faults of environments by name; an environment without one is right. What jobs found of nodes
    and environments, for the provenance."""

    faults: dict[str, str] = field(default_factory=dict)
    nodes: dict[str, NodeFacts] = field(default_factory=dict)
    trials: dict[str, TrialResult] = field(default_factory=dict)

    def take_in(self, result: ProbeResult) -> ProbeResult:
        """Take in what a job found."""
        self.nodes |= result.nodes
        self.trials |= result.trials
        return result


def prove(probes: Probes, site: Site, names: Sequence[str], nodes: int, *, run: str) -> Proof:
    """The proof of environments. Tried are two nodes; of as many as launches have the facts are
    kept. `run` names the run's work folder.

    Raises AssayError where nodes do not see the work folder, InfrastructureError where a job did
    not come to its end.
    """
    widest = max(1, min(nodes, site.description.nodes or nodes))
    tried, proof = min(2, widest), Proof()
    left = [
        trial_of(site, name, ranks=tried, ranks_per_node=1)
        for name in names
        if "mpi" in site.description.environments[name].features
    ]
    options = [f"--comment=assay-{run}", "--no-requeue"]
    if site.description.build_on == "login":
        probes.build_on_login(left)
    for _ in range(_TRIES):
        if left:
            limit_s = int(_JOB_S + scaled(_ENVIRONMENT_S) * len(left))
            job = probes.submit("preflight", tried, 1, left, limit_s=limit_s, options=options)
            proof.faults = _faults(site, left, proof.take_in(probes.result(job)))
            left = [trial for trial in left if trial.name in proof.faults]
    if widest > tried and not proof.faults:
        job = probes.submit("facts", widest, 1, [], limit_s=_JOB_S, options=options)
        proof.take_in(probes.result(job))
    return proof


def _faults(site: Site, trials: Sequence[Trial], result: ProbeResult) -> dict[str, str]:
    """Faults that one job found in these environments."""
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
        if (fault := fault_of(site, name, result, ranks_per_node=1)) is not None:
            faults[name] = fault
    return faults


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
