# SPDX-License-Identifier: Apache-2.0
"""`assay site check`: the proof of a site repeated, and what changed since the last one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import msgspec

from assay import BASE
from assay.onboarding.proof import (
    PROOF_FILE,
    PartitionProof,
    Proof,
    keep_proof,
    prove,
    read_proof,
)
from assay.onboarding.slurm_view import SlurmView, ask_slurm
from assay.sites.description import PartitionDescription
from assay.sites.site_file import read_site_file, site_file
from assay.terminal import Say
from records.errors import AssayError, InfrastructureError
from records.forms import Form, Part, key

#: Facts of a proof that change from one to the next and mean nothing.
_FLEETING = ("waited_s", "nodes", "failed_starts", "way", "faults")


class SiteChangePart(Part):
    """One thing that differs from the last proof of a site."""

    what: Annotated[str, key("What it is.")]
    before: Annotated[str | None, key("What it was; null: it was not there.")]
    now: Annotated[str | None, key("What it is now; null: it is gone.")]

    @property
    def text(self) -> str:
        """ "batch, mpich: library: MPICH 4.0.2 → MPICH 4.1"."""
        return f"{self.what}: {self.before or 'none'} → {self.now or 'none'}"


class SiteCheckForm(Form, kw_only=True):
    """`assay site check`: a site proven again."""

    site: Annotated[str, key("The site.")]
    faults: Annotated[list[str], key("What is not proven now.")]
    changes: Annotated[list[SiteChangePart], key("What changed since the last proof.")]
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
    ways = {key: [one] for key, one in file.environments.items() if "mpi" in one.features}
    try:
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
    """What differs between two proofs: environments, and facts of nodes."""
    found = []
    for partition in sorted(before.partitions.keys() | now.partitions.keys()):
        proofs = [one.partitions.get(partition) or PartitionProof() for one in (before, now)]
        latest = now.partitions.get(partition) or proofs[0]
        # What is not proven now has faults.
        proven: list[Any] = [
            {n: e for n, e in one.environments.items() if not latest.faults_of(n)} for one in proofs
        ]
        pairs = [(f"{partition}, ", *proven)]
        old, new = (one.nodes for one in proofs)
        # Nodes that only one of the proofs met stand for their kind.
        if common := sorted(old.keys() & new.keys()):
            pairs += [(f"node {name}: ", old[name], new[name]) for name in common]
        elif old and new:
            (first, its), (second, others) = (next(iter(one.items())) for one in (old, new))
            pairs.append((f"node {first} and {second}: ", its, others))
        for head, *sides in pairs:
            a, b = (dict(_flat(msgspec.to_builtins(one))) for one in sides)
            found += [
                SiteChangePart(f"{head}{name}", a.get(name), b.get(name))
                for name in sorted(a.keys() | b.keys())
                if a.get(name) != b.get(name)
            ]
    return found


def _flat(value: Mapping[str, Any], head: str = "") -> Iterator[tuple[str, str]]:
    for name, inner in value.items():
        if name in _FLEETING:
            continue
        if isinstance(inner, Mapping):
            yield from _flat(inner, f"{head}{name}: ")
        elif inner not in (None, [], ""):
            text = ", ".join(map(str, inner)) if isinstance(inner, list) else str(inner)
            yield f"{head}{name}", text
