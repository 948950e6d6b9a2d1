# SPDX-License-Identifier: Apache-2.0
"""Proves a described site by jobs: nodes, work folder, each environment on one node and on two."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from assay.commands import Pause
from assay.onboarding.modules import Say
from assay.probe.environments import fault_of, placement_faults, trial_by
from assay.probe.job import Job, Step, spoken
from assay.probe.probe import Order, Probes
from assay.probe.reading import ProbeResult
from assay.probe.script import ATTEMPT_S, Trial
from assay.sites.description import EnvironmentKeys, SiteFile, of_partition
from assay.sites.slurm import SlurmSite
from assay.sites.values import expanded
from records.errors import AssayError, InfrastructureError
from records.files import write_whole
from records.site.node_facts import NodeFacts

#: Next to the site.yaml: what jobs proved, for `assay site check`.
PROOF_FILE = "proof.json"
#: Seconds of a job besides its attempts: a build, slow file systems.
_JOB_S = 240
_SIZES = (1, 2)

#: Ways to start the ranks of each environment, the first right one is kept.
Ways = Mapping[str, Sequence[EnvironmentKeys]]


class EnvironmentProof(msgspec.Struct, frozen=True, kw_only=True):
    """An environment on one kind of nodes. `faults`: why it is not proven; `way`: which of the ways
    started its ranks right, `counted`: whether interface counters saw its messages (None: not
    asked between nodes); `builds_on`: login or job.
    """

    faults: list[str] = []
    way: int | None = None
    start: str | None = None
    library: str | None = None
    library_file: str | None = None
    standard: str | None = None
    modules: list[str] = []
    compiler: str | None = None
    compiler_version: str | None = None
    builds_on: str = "login"
    counted: bool | None = None
    nodes: list[str] = []
    failed_starts: dict[str, str] = {}


class PartitionProof(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of nodes: facts of those that a job met, and its environments."""

    nodes: dict[str, NodeFacts] = {}
    environments: dict[str, EnvironmentProof] = {}
    waited_s: float = 0.0

    def faults_of(self, name: str) -> list[str]:
        """Why an environment is not proven here."""
        return self.environments[name].faults if name in self.environments else []


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    """What jobs proved of a site, by partition."""

    work_dir: str
    partitions: dict[str, PartitionProof]

    @property
    def faults(self) -> list[str]:
        """What is not proven."""
        return [
            f"{key}, {name}: {fault}"
            for key, partition in self.partitions.items()
            for name in partition.environments
            for fault in partition.faults_of(name)
        ]

    def faults_of(self, name: str) -> list[str]:
        """Why an environment is not proven, in any partition."""
        return [fault for one in self.partitions.values() for fault in one.faults_of(name)]


def prove(file: SiteFile, ways: Ways, work_dir: str, say: Say, pause: Pause = time.sleep) -> Proof:
    """Prove every partition of a site.

    Raises AssayError where the work folder is not shared or Slurm refuses the jobs for good.
    """
    proofs = {}
    for key in file.partitions:
        site = SlurmSite(of_partition(file, key))
        with Probes(site, expanded(work_dir), spoken(say), pause=pause) as probes:
            proofs[key] = _Proving(site, probes, ways, say).partition(key)
    return Proof(work_dir=work_dir, partitions=proofs)


class _Proving:
    """One partition being proven."""

    def __init__(self, site: SlurmSite, probes: Probes, ways: Ways, say: Say) -> None:
        self._site, self._probes, self._ways, self._say = site, probes, ways, say
        self._per_node = min(2, site.description.cores_per_node)

    def partition(self, key: str) -> PartitionProof:
        """Facts of one or two nodes first: the folder is shared, jobs are taken."""
        described = self._site.description
        sizes = [size for size in _SIZES if size <= described.nodes]
        facts_order = Order(f"assay-{key}", sizes[-1], 1, described.access, [], self._limit(0))
        self._say(f"{key}: a probe job on {sizes[-1]} node{'s' * (sizes[-1] > 1)}")
        facts = self._probes.result(facts_order, self._probes.submit(facts_order))
        names = [name for name in described.environments if name in self._ways]
        on_login = self._probes.build_on_login([self._trial(name, 1) for name in names])
        for name in names:
            if on_login[name] is not None:
                self._say(f"{name} does not compile on this machine; its job tries it on a node")
        orders = {(name, size): self._order(key, name, size) for name in names for size in sizes}
        if orders:
            self._say(f"{key}: {len(orders)} probe jobs of {', '.join(names)}")
        jobs: dict[tuple[str, int], Job | Step] = {}
        results: dict[tuple[str, int], ProbeResult] = {}
        for place, order in orders.items():
            jobs[place] = self._probes.submit(order)
        for place, order in orders.items():
            results[place] = self._probes.result(order, jobs[place])
        nodes = dict(facts.nodes)
        for result in results.values():
            nodes |= result.nodes
        proofs = {
            name: self._judged(name, [results[name, size] for size in sizes], on_login[name])
            for name in names
        }
        for name, proof in proofs.items():
            library = (proof.library or "").split(";")[0]
            told = f"is proven, started by `{proof.start}`: {library}"
            self._say(f"{key}: {name} {'is not proven' if proof.faults else told}")
        waited = max([facts.waited_s, *(result.waited_s for result in results.values())])
        return PartitionProof(nodes=nodes, environments=proofs, waited_s=round(waited, 1))

    def _trial(self, name: str, nodes: int) -> Trial:
        ranks = nodes * self._per_node
        # Whichever way is right on two nodes, one node has tried it too.
        every = nodes == 1 < self._site.description.nodes
        ways = self._ways[name]
        return trial_by(self._site, name, ways, ranks, self._per_node, every=every)

    def _order(self, key: str, name: str, nodes: int) -> Order:
        described = self._site.description
        limit = self._limit(len(self._ways[name]))
        trial = self._trial(name, nodes)
        job = f"assay-{key}-{name}-{nodes}"
        return Order(job, nodes, self._per_node, described.access, [trial], limit)

    def _limit(self, attempts: int) -> int:
        """Seconds of a job, within the partition's longest."""
        wanted = _JOB_S + attempts * (ATTEMPT_S + 5)
        longest = self._site.description.longest_job_s
        return min(wanted, longest) if longest else wanted

    def _judged(
        self, name: str, results: Sequence[ProbeResult], on_login: str | None
    ) -> EnvironmentProof:
        trials = [result.trials[name] for result in results]
        rights = [{i for i, one in enumerate(trial.attempts) if one.right} for trial in trials]
        # The first way that started ranks right on one node and on two.
        way = min(set.intersection(*rights), default=None)
        failed = {one.label: one.reason for t in trials for one in t.attempts if not one.right}
        if way is None:
            faults = _faults(self._site, name, results, self._per_node, on_login)
            return EnvironmentProof(faults=faults, modules=trials[0].modules, failed_starts=failed)
        widest = trials[-1].attempts[way]
        assert widest.evidence is not None
        counted, links = None, widest.evidence.links
        if len(results[-1].allocated) > 1:  # whether receivers' interfaces saw what was sent
            counted = bool(links) and all(x.arrived_bytes >= x.sent_bytes for x in links)
        against: list[str] = []
        for trial, result in zip(trials, results, strict=True):
            placed = (self._site, name, trial.attempts[way], result, self._per_node)
            against += placement_faults(*placed, counted=bool(counted))
        if counted is False and self._site.description.network.counted:
            self._say(f"{name}: no interface counter saw its messages between nodes")
        return EnvironmentProof(
            faults=list(dict.fromkeys(against)),
            way=way,
            start=widest.label,
            library=widest.evidence.library,
            library_file=widest.evidence.library_file,
            standard=widest.evidence.standard,
            modules=trials[-1].modules,
            compiler=trials[-1].compiler,
            compiler_version=trials[-1].compiler_version,
            builds_on="login" if on_login is None else "job",
            counted=counted,
            nodes=sorted({node for result in results for node in result.allocated}),
            failed_starts=failed,
        )


def _faults(
    site: SlurmSite,
    name: str,
    results: Sequence[ProbeResult],
    ranks_per_node: int,
    on_login: str | None,
) -> list[str]:
    faults = [fault_of(site, name, result, ranks_per_node) for result in results]
    # One and two nodes tell the same but for their names.
    found = list({fault.partition("\n")[0]: fault for fault in faults if fault}.values())
    failed = [one for result in results if (one := result.trials[name]).build_status]
    if on_login is not None and failed:
        found.append(f"on this machine the build printed:\n{on_login.strip()}")
    return found or ["starts differently on one node and on two: no way is right on both"]


def keep_proof(path: Path, proof: Proof) -> None:
    """Write a proof. Raises InfrastructureError where that fails."""
    try:
        write_whole(path, msgspec.json.format(msgspec.json.encode(proof)))
    except OSError as error:
        raise InfrastructureError(f"{path}: cannot be written ({error.strerror})") from error


def read_proof(text: bytes, where: str) -> Proof:
    """A proof that was kept. Raises AssayError for a damaged one."""
    try:
        return msgspec.json.decode(text, type=Proof)
    except msgspec.MsgspecError as error:
        raise AssayError(
            f"{where}: {error}; make it anew with assay site check --accept"
        ) from error
