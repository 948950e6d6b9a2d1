# SPDX-License-Identifier: Apache-2.0
"""`assay site check`: the proof of a site repeated, and what changed since the last one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from assay import ROOT
from assay.commands import Pause
from assay.onboarding.asking import ask_slurm
from assay.onboarding.modules import Say
from assay.onboarding.proof import (
    PROOF_FILE,
    PartitionProof,
    Proof,
    keep_proof,
    prove,
    read_proof,
)
from assay.onboarding.requirements import Change, against_slurm
from assay.sites.site_file import read_site_file, site_file
from records.errors import AssayError, InfrastructureError

#: Facts of a proof that change from one to the next and mean nothing.
_FLEETING = ("waited_s", "nodes", "failed_starts", "way", "faults")


class Checked(msgspec.Struct, frozen=True):
    """What a check found: what is not proven now, what changed; `proof` None: no job could run."""

    site: str
    faults: list[str]
    changes: list[Change]
    proof: Proof | None


def check_site(name: str, say: Say, pause: Pause, *, accept: bool) -> Checked:
    """Repeat the proof. Raises AssayError for a site that cannot be checked."""
    file = read_site_file(name)
    if file.virtual_cluster:
        raise AssayError(
            f"site {name} is a virtual cluster; check it with assay doctor --site {name}"
        )
    kept = site_file(name).with_name(PROOF_FILE)
    view = ask_slurm()
    changes: list[Change] = []
    for key, partition in file.partitions.items():
        changes += against_slurm(key, partition, view)
    ways = {key: [one] for key, one in file.environments.items() if "mpi" in one.features}
    try:
        proof = prove(file, ways, file.work_dir or str(ROOT / "results"), say, pause)
    except InfrastructureError:
        raise
    except AssayError as error:  # Slurm takes no job there any more, or the folder is not shared
        return Checked(name, [str(error)], changes, None)
    if kept.exists():
        changes += differences(read_proof(kept.read_bytes(), str(kept)), proof)
    else:
        say(f"{kept} is not there: nothing to compare the proof with; --accept keeps this one")
    if accept:
        keep_proof(kept, proof)
    return Checked(name, proof.faults, changes, proof)


def differences(before: Proof, now: Proof) -> list[Change]:
    """What differs between two proofs: environments, and facts of nodes."""
    found = []
    for key in sorted(before.partitions.keys() | now.partitions.keys()):
        proofs = [one.partitions.get(key) or PartitionProof() for one in (before, now)]
        latest = now.partitions.get(key) or proofs[0]
        # What is not proven now has faults.
        proven: list[Any] = [
            {n: e for n, e in one.environments.items() if not latest.faults_of(n)} for one in proofs
        ]
        pairs = [(f"{key}, ", *proven)]
        old, new = (one.nodes for one in proofs)
        # Nodes that only one of the proofs met stand for their kind.
        if common := sorted(old.keys() & new.keys()):
            pairs += [(f"node {name}: ", old[name], new[name]) for name in common]
        elif old and new:
            first = [next(iter(one.items())) for one in (old, new)]
            pairs.append((f"node {first[0][0]} and {first[1][0]}: ", first[0][1], first[1][1]))
        for head, *sides in pairs:
            a, b = (dict(_flat(msgspec.to_builtins(one))) for one in sides)
            found += [
                Change(f"{head}{name}", a.get(name), b.get(name))
                for name in sorted(a.keys() | b.keys())
                if a.get(name) != b.get(name)
            ]
    return found


def _flat(value: Mapping[str, Any], head: str = "") -> Iterator[tuple[str, str]]:
    for key, inner in value.items():
        if key in _FLEETING:
            continue
        if isinstance(inner, Mapping):
            yield from _flat(inner, f"{head}{key}: ")
        elif inner not in (None, [], ""):
            text = ", ".join(map(str, inner)) if isinstance(inner, list) else str(inner)
            yield f"{head}{key}", text
