# SPDX-License-Identifier: Apache-2.0
"""Proves a described site by jobs: nodes, work folder, each environment; `assay site check`, which
repeats that, names what has changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec

from assay import BASE
from assay.onboarding.slurm_view import SlurmView, ask_slurm
from assay.probe.job import spoken
from assay.probe.probe import Probes
from assay.probe.trials import ProbeResult, fault_of, placement_faults, trial_of
from assay.sites.description import (
    EnvironmentKeys,
    PartitionDescription,
    SiteFile,
    of_partition,
)
from assay.sites.loading import SlurmSite
from assay.sites.site_file import read_site_file, site_file
from assay.sites.values import expanded
from assay.terminal import Say
from records.errors import AssayError, InfrastructureError
from records.files import write_whole
from records.forms import Form, Part, key
from records.site.node_facts import NodeFacts
from records.waiting import ATTEMPT_S, scaled

#: Next to the site.yaml: what jobs proved, for `assay site check`.
PROOF_FILE = "proof.json"
#: Seconds of a job besides its attempts: a build, slow file systems.
_JOB_S = 240
#: Facts of a proof that change from one to the next and mean nothing.
_FLEETING = ("nodes", "failed_starts", "way", "faults")

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
            f"{partition}, {name}: {fault}"
            for partition, proof in self.partitions.items()
            for name, environment in proof.environments.items()
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
    for partition in file.partitions:
        site = SlurmSite(of_partition(file, partition))
        with Probes(site, expanded(work_dir), spoken(say)) as probes:
            proofs[partition] = _partition_proof(site, probes, ways, say)
    return Proof(work_dir=work_dir, partitions=proofs)


def _partition_proof(site: SlurmSite, probes: Probes, ways: Ways, say: Say) -> PartitionProof:
    """A job for each environment, on two nodes where there are two."""
    described, partition = site.description, site.description.partition
    nodes, per_node = min(2, described.nodes), min(2, described.cores_per_node)
    names = [name for name in described.environments if name in ways]
    trials = {name: trial_of(site, name, nodes * per_node, per_node, ways[name]) for name in names}
    on_login = probes.build_on_login([*trials.values()], say)
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
    results = {name: probes.result(job) for name, job in jobs.items()}
    proofs = {}
    for name, result in results.items():
        proof = proofs[name] = _judged(site, name, result, per_node, on_login[name])
        library = (proof.library or "").partition(";")[0]
        proven = f"is proven, started by `{proof.start}`: {library}"
        say(f"{partition}: {name} {'is not proven' if proof.faults else proven}")
        if proof.counted is False and described.network.counted:
            say(f"{name}: no interface counter saw its messages between nodes")
    met = {name: node for result in results.values() for name, node in result.nodes.items()}
    return PartitionProof(nodes=met, environments=proofs)


def _judged(
    site: SlurmSite, name: str, result: ProbeResult, per_node: int, on_login: str | None
) -> EnvironmentProof:
    """Proof of an environment by its job; `on_login`: output of its build there if it failed."""
    trial, attempt = result.trials[name], result.trials[name].right
    failed = {one.label: one.reason for one in trial.attempts if not one.right}
    if attempt is None or attempt.evidence is None:
        faults = [fault_of(site, name, result, per_node) or "its ranks do not start right"]
        if on_login is not None and trial.build_status:
            faults.append(f"on this machine the build printed:\n{on_login.strip()}")
        return EnvironmentProof(faults=faults, modules=trial.modules, failed_starts=failed)
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
        library_file=evidence.library_file,
        standard=evidence.standard,
        modules=trial.modules,
        compiler=trial.compiler,
        compiler_version=trial.compiler_version,
        builds_on="login" if on_login is None else "job",
        counted=counted,
        nodes=sorted(result.allocated),
        failed_starts=failed,
    )


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


class SiteChangePart(Part):
    """A difference to the last proof of a site."""

    what: Annotated[str, key("Name of the fact that differs.")]
    before: Annotated[str | None, key("Former value; null: it was not there.")]
    now: Annotated[str | None, key("Present value; null: it is gone.")]

    @property
    def text(self) -> str:
        """ "batch, mpich: library: MPICH 4.0.2 → MPICH 4.1"."""
        return f"{self.what}: {self.before or 'none'} → {self.now or 'none'}"


class SiteCheckForm(Form, kw_only=True):
    """`assay site check`: a site proven again."""

    site: Annotated[str, key("The site.")]
    faults: Annotated[list[str], key("Reasons why something is not proven now.")]
    changes: Annotated[list[SiteChangePart], key("Changes since the last proof.")]
    proof: Annotated[
        dict[str, Any] | None,
        key("The proof, as in proof.json next to site.yaml; null: no job could run."),
    ]


def check_site(name: str, say: Say, *, accept: bool) -> SiteCheckForm:
    """Repeat the proof. Raises AssayError for a site that cannot be checked."""
    file = read_site_file(name)
    if file.virtual_cluster:
        raise AssayError(
            f"site {name} is a virtual cluster; check it with assay doctor --site {name}"
        )
    kept = site_file(name).with_name(PROOF_FILE)
    view = ask_slurm()
    changes = [
        change
        for partition, keys in file.partitions.items()
        for change in against_slurm(partition, keys, view)
    ]
    mpis = {mpi: way for mpi, way in file.environments.items() if "mpi" in way.features}
    try:
        ways = {mpi: [way] for mpi, way in mpis.items()}
        proof = prove(file, ways, file.work_dir or str(BASE / "results"), say)
    except InfrastructureError:
        raise
    except AssayError as error:  # Slurm takes no job there any more, or the folder is not shared
        return SiteCheckForm(site=name, faults=[str(error)], changes=changes, proof=None)
    if kept.exists():
        changes += differences(read_proof(kept.read_bytes(), str(kept)), proof)
    else:
        say(f"{kept} is not there: nothing to compare the proof with; --accept keeps this one")
    if accept:
        keep_proof(kept, proof)
    return SiteCheckForm(
        site=name, faults=proof.faults, changes=changes, proof=msgspec.to_builtins(proof)
    )


def against_slurm(
    partition: str, keys: PartitionDescription, view: SlurmView
) -> Iterator[SiteChangePart]:
    """Where Slurm says otherwise than the file of a partition."""
    name = keys.slurm_partition or partition
    there = view.partitions.get(name)
    if there is None or not there.usable:
        state = "is not there" if there is None else "is closed to you, or not up"
        yield SiteChangePart(f"{partition}: partition {name}", "used", state)
        return
    longest, stated = there.longest_job_s, keys.longest_job_s
    if longest is not None and (stated is None or stated > longest):
        yield SiteChangePart(f"{partition}: longest_job_s", str(stated), str(longest))
    nodes = [node for node in view.nodes if name in node.partitions]
    alike = [node for node in nodes if node.cores == keys.cores_per_node]
    if not alike:
        counts = ", ".join(sorted({str(node.cores) for node in nodes})) or None
        yield SiteChangePart(f"{partition}: cores_per_node", str(keys.cores_per_node), counts)
        return
    out = [node.name for node in alike if not node.in_service]
    if len(alike) - len(out) < keys.nodes:
        left = f"{len(alike) - len(out)} in service ({', '.join(out[:8]) or 'no more are known'})"
        yield SiteChangePart(f"{partition}: nodes", str(keys.nodes), left)
    memory, wanted = max(node.memory_bytes for node in alike), keys.memory_bytes_per_node
    if memory < wanted:
        yield SiteChangePart(f"{partition}: memory_bytes_per_node", str(wanted), str(memory))


def differences(before: Proof, now: Proof) -> list[SiteChangePart]:
    """Changes from one proof to the next: of environments, but those not proven now, which have
    faults, and of nodes that both met."""
    changes: list[SiteChangePart] = []
    for name in sorted(before.partitions.keys() | now.partitions.keys()):
        old, new = (proof.partitions.get(name, PartitionProof()) for proof in (before, now))
        for mpi in sorted(old.environments.keys() | new.environments.keys()):
            if not new.faults_of(mpi):
                sides = (proof.environments.get(mpi) for proof in (old, new))
                changes += _changes(f"{name}, {mpi}: ", *sides)
        for node in sorted(old.nodes.keys() & new.nodes.keys()):
            changes += _changes(f"node {node}: ", old.nodes[node], new.nodes[node])
    return changes


def _changes(head: str, before: Any, now: Any) -> Iterator[SiteChangePart]:
    old, new = (dict(_flat(msgspec.to_builtins(side) or {})) for side in (before, now))
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) != new.get(name):
            yield SiteChangePart(f"{head}{name}", old.get(name), new.get(name))


def _flat(value: Mapping[str, Any], head: str = "") -> Iterator[tuple[str, str]]:
    for name, inner in value.items():
        if name in _FLEETING:
            continue
        if isinstance(inner, Mapping):
            yield from _flat(inner, f"{head}{name}: ")
        elif inner not in (None, [], ""):
            text = ", ".join(map(str, inner)) if isinstance(inner, list) else str(inner)
            yield f"{head}{name}", text
