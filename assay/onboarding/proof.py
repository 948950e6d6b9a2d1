# SPDX-License-Identifier: Apache-2.0
"""Proves a described site by jobs: nodes, work folder, each environment on one node and on two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from assay.probe.job import spoken
from assay.probe.probe import Probes
from assay.probe.reading import ProbeResult, fault_of, placement_faults
from assay.probe.trials import Trial, trial_of
from assay.sites.description import EnvironmentKeys, SiteFile, of_partition
from assay.sites.slurm import SlurmSite
from assay.sites.values import expanded
from assay.terminal import Say
from records.errors import AssayError, InfrastructureError
from records.files import write_whole
from records.site.node_facts import NodeFacts
from records.waiting import ATTEMPT_S, scaled

#: Next to the site.yaml: what jobs proved, for `assay site check`.
PROOF_FILE = "proof.json"
#: Seconds of a job besides its attempts: a build, slow file systems.
_JOB_S = 240

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
    """Proof of a kind of nodes: facts of those that a job met, and its environments."""

    nodes: dict[str, NodeFacts] = {}
    environments: dict[str, EnvironmentProof] = {}
    waited_s: float = 0.0

    def proven(self) -> dict[str, EnvironmentProof]:
        """The environments without a fault."""
        return {name: proof for name, proof in self.environments.items() if not proof.faults}

    def faults_of(self, name: str) -> list[str]:
        """Why an environment is not proven here."""
        return self.environments[name].faults if name in self.environments else []


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    """Facts and environments of a site that jobs proved, by partition."""

    work_dir: str
    partitions: dict[str, PartitionProof]

    @property
    def faults(self) -> list[str]:
        """Reasons why environments are not proven, each with its partition and environment."""
        return [
            f"{key}, {name}: {fault}"
            for key, partition in self.partitions.items()
            for name, environment in partition.environments.items()
            for fault in environment.faults
        ]

    def faults_of(self, name: str) -> list[str]:
        """Why an environment is not proven, in any partition."""
        return [fault for one in self.partitions.values() for fault in one.faults_of(name)]


def prove(file: SiteFile, ways: Ways, work_dir: str, say: Say) -> Proof:
    """Prove every partition of a site.

    Raises AssayError where the work folder is not shared or Slurm refuses the jobs for good.
    """
    proofs = {}
    for key in file.partitions:
        site = SlurmSite(of_partition(file, key))
        with Probes(site, expanded(work_dir), spoken(say)) as probes:
            proofs[key] = _Proving(site, probes, ways, say).partition(key)
    return Proof(work_dir=work_dir, partitions=proofs)


class _Proving:
    """A partition being proven."""

    def __init__(self, site: SlurmSite, probes: Probes, ways: Ways, say: Say) -> None:
        self._site, self._probes, self._ways, self._say = site, probes, ways, say
        self._per_node = min(2, site.description.cores_per_node)

    def partition(self, key: str) -> PartitionProof:
        """Facts of one or two nodes first: the folder is shared, jobs are taken."""
        described, probes, say = self._site.description, self._probes, self._say
        sizes = [size for size in (1, 2) if size <= described.nodes]
        say(f"{key}: a probe job on {sizes[-1]} node{'s' * (sizes[-1] > 1)}")
        facts = probes.result(probes.submit(f"assay-{key}", sizes[-1], 1, [], limit_s=_JOB_S))
        names = [name for name in described.environments if name in self._ways]
        on_login = probes.build_on_login([self._trial(name, 1) for name in names], say)
        for name in (name for name in names if on_login[name] is not None):
            say(f"{name} does not compile on this machine; its job tries it on a node")
        if names:
            say(f"{key}: {len(names) * len(sizes)} probe jobs of {', '.join(names)}")
        jobs = {
            (name, size): probes.submit(
                f"assay-{key}-{name}-{size}",
                size,
                self._per_node,
                [self._trial(name, size)],
                limit_s=int(_JOB_S + len(self._ways[name]) * (scaled(ATTEMPT_S) + 5)),
            )
            for name in names
            for size in sizes
        }
        results = {place: probes.result(job) for place, job in jobs.items()}
        proofs = {}
        for name in names:
            proof = self._judged(name, [results[name, size] for size in sizes], on_login[name])
            library = (proof.library or "").partition(";")[0]
            proven = f"is proven, started by `{proof.start}`: {library}"
            say(f"{key}: {name} {'is not proven' if proof.faults else proven}")
            proofs[name] = proof
        every = [facts, *results.values()]
        return PartitionProof(
            nodes={name: node for result in every for name, node in result.nodes.items()},
            environments=proofs,
            waited_s=round(max(result.waited_s for result in every), 1),
        )

    def _trial(self, name: str, nodes: int) -> Trial:
        # Whichever way is right on two nodes, one node has tried it too.
        every = nodes == 1 < self._site.description.nodes
        ranks, ways = nodes * self._per_node, self._ways[name]
        return trial_of(self._site, name, ranks, self._per_node, ways, every=every)

    def _judged(
        self, name: str, results: Sequence[ProbeResult], on_login: str | None
    ) -> EnvironmentProof:
        trials = [result.trials[name] for result in results]
        rights = [{i for i, one in enumerate(trial.attempts) if one.right} for trial in trials]
        failed = {one.label: one.reason for t in trials for one in t.attempts if not one.right}
        # The first way that started ranks right on one node and on two.
        way = min(set.intersection(*rights), default=None)
        if way is None:
            faults = self._faults(name, results, on_login)
            return EnvironmentProof(faults=faults, modules=trials[0].modules, failed_starts=failed)
        last, widest = trials[-1], trials[-1].attempts[way]
        assert widest.evidence is not None
        counted, links = None, widest.evidence.links
        if len(results[-1].allocated) > 1:  # whether receivers' interfaces saw what was sent
            counted = bool(links) and all(x.arrived_bytes >= x.sent_bytes for x in links)
        if counted is False and self._site.description.network.counted:
            self._say(f"{name}: no interface counter saw its messages between nodes")
        against: list[str] = []
        for trial, result in zip(trials, results, strict=True):
            placed = (self._site, name, trial.attempts[way], result, self._per_node)
            against += placement_faults(*placed, counted=bool(counted))
        return EnvironmentProof(
            faults=list(dict.fromkeys(against)),
            way=way,
            start=widest.label,
            library=widest.evidence.library,
            library_file=widest.evidence.library_file,
            standard=widest.evidence.standard,
            modules=last.modules,
            compiler=last.compiler,
            compiler_version=last.compiler_version,
            builds_on="login" if on_login is None else "job",
            counted=counted,
            nodes=sorted({node for result in results for node in result.allocated}),
            failed_starts=failed,
        )

    def _faults(self, name: str, results: Sequence[ProbeResult], on_login: str | None) -> list[str]:
        """Why no way is right; one and two nodes say the same but for their names."""
        reasons = [fault_of(self._site, name, result, self._per_node) for result in results]
        faults = list({reason.partition("\n")[0]: reason for reason in reasons if reason}.values())
        if on_login is not None and any(result.trials[name].build_status for result in results):
            faults.append(f"on this machine the build printed:\n{on_login.strip()}")
        return faults or ["starts differently on one node and on two: no way is right on both"]


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
