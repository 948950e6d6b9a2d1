# SPDX-License-Identifier: Apache-2.0
"""`assay site check`: the proof of a site repeated, and the changes since the last one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import msgspec

from assay import BASE
from assay.onboarding import proof as proofs
from assay.onboarding.proof import PartitionProof, Proof
from assay.onboarding.slurm_view import SlurmView, ask_slurm
from assay.sites.description import PartitionDescription
from assay.sites.site_file import read_site_file, site_file
from assay.terminal import Say
from records.errors import AssayError, InfrastructureError
from records.forms import Form, Part, key

#: Facts of a proof that change from one to the next and mean nothing.
_FLEETING = ("waited_s", "nodes", "failed_starts", "way", "faults")


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
    kept = site_file(name).with_name(proofs.PROOF_FILE)
    view = ask_slurm()
    changes = [
        change
        for partition, keys in file.partitions.items()
        for change in against_slurm(partition, keys, view)
    ]
    ways = {key: [way] for key, way in file.environments.items() if "mpi" in way.features}
    try:
        proof = proofs.prove(file, ways, file.work_dir or str(BASE / "results"), say)
    except InfrastructureError:
        raise
    except AssayError as error:  # Slurm takes no job there any more, or the folder is not shared
        return SiteCheckForm(site=name, faults=[str(error)], changes=changes, proof=None)
    if kept.exists():
        changes += differences(proofs.read_proof(kept.read_bytes(), str(kept)), proof)
    else:
        say(f"{kept} is not there: nothing to compare the proof with; --accept keeps this one")
    if accept:
        proofs.keep_proof(kept, proof)
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
    faults, and of nodes."""
    changes: list[SiteChangePart] = []
    for name in sorted(before.partitions.keys() | now.partitions.keys()):
        old, new = (proof.partitions.get(name, PartitionProof()) for proof in (before, now))
        for mpi in sorted(old.environments.keys() | new.environments.keys()):
            if not new.faults_of(mpi):
                sides = (proof.environments.get(mpi) for proof in (old, new))
                changes += _changes(f"{name}, {mpi}: ", *sides)
        common = sorted(old.nodes.keys() & new.nodes.keys())
        for node in common:
            changes += _changes(f"node {node}: ", old.nodes[node], new.nodes[node])
        if old.nodes and new.nodes and not common:
            # Nodes that only one of the proofs met stand for their kind.
            was, met = next(iter(old.nodes)), next(iter(new.nodes))
            changes += _changes(f"node {was} and {met}: ", old.nodes[was], new.nodes[met])
    return changes


def _changes(head: str, before: Any, now: Any) -> Iterator[SiteChangePart]:
    old, new = (dict(_flat(msgspec.to_builtins(one) or {})) for one in (before, now))
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
