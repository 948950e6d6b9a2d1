# SPDX-License-Identifier: Apache-2.0
"""Proves a described site by jobs: nodes, work folder, each environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from assay.probe.job import spoken
from assay.probe.probe import Probes
from assay.probe.trials import ProbeResult, fault_of, placement_faults, trial_of
from assay.sites.description import EnvironmentKeys, SiteFile, of_partition
from assay.sites.loading import SlurmSite
from assay.sites.values import expanded
from assay.terminal import Say
from records.site.node_facts import NodeFacts
from records.waiting import ATTEMPT_S, scaled

#: Seconds of a job besides its attempts: a build, slow file systems.
_JOB_S = 240

#: Ways to start the ranks of each environment, the first right one is kept.
Ways = Mapping[str, Sequence[EnvironmentKeys]]


class EnvironmentProof(msgspec.Struct, frozen=True, kw_only=True):
    """An environment on one kind of nodes. `faults`: why it is not proven; `way`: which of the ways
    started its ranks right; `counted`: whether interface counters saw its messages (None: not
    asked between nodes); `builds_on`: login or job; `nodes`: facts of those that its job met.
    """

    faults: list[str] = []
    way: int | None = None
    start: str | None = None
    library: str | None = None
    standard: str | None = None
    builds_on: str = "login"
    counted: bool | None = None
    nodes: dict[str, NodeFacts] = {}


#: Proofs by partition and environment.
Proof = dict[str, dict[str, EnvironmentProof]]


def prove(file: SiteFile, ways: Ways, work_dir: str, say: Say) -> Proof:
    """Prove every partition of a site.

    Raises AssayError where the work folder is not shared or Slurm refuses the jobs for good.
    """
    proof = {}
    for partition in file.partitions:
        site = SlurmSite(of_partition(file, partition))
        with Probes(site, expanded(work_dir), spoken(say)) as probes:
            proof[partition] = _environments(site, probes, ways, say)
    return proof


def _environments(
    site: SlurmSite, probes: Probes, ways: Ways, say: Say
) -> dict[str, EnvironmentProof]:
    """Proofs by a job for each environment, on two nodes where there are two."""
    described, partition = site.description, site.description.partition
    nodes, per_node = min(2, described.nodes), min(2, described.cores_per_node)
    names = [name for name in described.environments if name in ways]
    trials = {name: trial_of(site, name, nodes * per_node, per_node, ways[name]) for name in names}
    on_login = probes.build_on_login([*trials.values()])
    for name in (name for name in names if on_login[name] is not None):
        say(f"{name} does not compile on this machine; its job tries it on a node")
    say(f"{partition}: probe jobs of {', '.join(names)} on {nodes} node{'s' * (nodes > 1)}")
    jobs = {
        name: probes.submit(
            f"assay-{partition}-{name}",
            nodes,
            per_node,
            [trial],
            limit_s=int(_JOB_S + len(ways[name]) * (scaled(ATTEMPT_S) + 5)),
        )
        for name, trial in trials.items()
    }
    proofs = {}
    for name, job in jobs.items():
        proof = _judged(site, name, probes.result(job), per_node, on_login[name])
        library = (proof.library or "").partition(";")[0]
        proven = f"is proven, started by `{proof.start}`: {library}"
        faults = f"is not proven: {'; '.join(proof.faults)}"
        say(f"{partition}: {name} {faults if proof.faults else proven}")
        if proof.counted is False:
            say(f"{name}: no interface counter saw its messages between nodes")
        proofs[name] = proof
    return proofs


def _judged(
    site: SlurmSite, name: str, result: ProbeResult, per_node: int, on_login: str | None
) -> EnvironmentProof:
    """Proof of an environment by its job; `on_login`: output of its build there if it failed."""
    trial, attempt = result.trials[name], result.trials[name].right
    if attempt is None or attempt.evidence is None:
        faults = [fault_of(site, name, result, per_node) or "its ranks do not start right"]
        if on_login is not None and trial.build_status:
            faults.append(f"on this machine the build printed:\n{on_login.strip()}")
        return EnvironmentProof(faults=faults, nodes=result.nodes)
    evidence, counted = attempt.evidence, None
    if len(result.allocated) > 1:  # receivers' interfaces are to have seen what was sent
        counted = all(link.arrived_bytes >= link.sent_bytes for link in evidence.links)
        counted = counted and bool(evidence.links)
    placed = (site, name, attempt, result, per_node)
    return EnvironmentProof(
        faults=placement_faults(*placed, counted=bool(counted)),
        way=trial.attempts.index(attempt),
        start=attempt.label,
        library=evidence.library,
        standard=evidence.standard,
        builds_on="login" if on_login is None else "job",
        counted=counted,
        nodes=result.nodes,
    )
