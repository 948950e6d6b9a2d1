# SPDX-License-Identifier: Apache-2.0
"""`assay site check`: the proof of a site repeated, and what changed since the last one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from assay import ROOT
from assay.onboarding.asking import ask_slurm
from assay.onboarding.init import PROOF_FILE
from assay.onboarding.modules import Say
from assay.onboarding.proof import Proof, described_ways, prove, read_proof
from assay.onboarding.requirements import Change, against_slurm
from assay.probe.commands import Pause
from assay.sites.site_file import read_site_file, site_file
from records.errors import AssayError, InfrastructureError
from records.files import write_whole

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
    changes = [
        change
        for key, partition in file.partitions.items()
        for change in against_slurm(key, partition, view)
    ]
    faults, proof = [], None
    try:
        work_dir = file.work_dir or str(ROOT / "results")
        proof = prove(file, described_ways(file), work_dir, say, pause)
        faults = proof.faults
    except InfrastructureError:
        raise
    except AssayError as error:  # Slurm takes no job there any more, or the folder is not shared
        faults = [str(error)]
    if proof is not None and kept.exists():
        before = read_proof(kept.read_bytes(), str(kept))
        changes += differences(before, proof)
    elif proof is not None:
        say(f"{kept} is not there: nothing to compare the proof with; --accept keeps this one")
    if accept and proof is not None:
        _keep(kept, proof)
    return Checked(name, faults, changes, proof)


def differences(before: Proof, now: Proof) -> list[Change]:
    """What differs between two proofs: environments, and facts of nodes."""
    found = []
    unproven = {
        key: {name for name, one in partition.environments.items() if one.faults}
        for key, partition in {**before.partitions, **now.partitions}.items()
    }
    for key in sorted(before.partitions.keys() | now.partitions.keys()):
        old, new = (msgspec.to_builtins(one.partitions.get(key)) or {} for one in (before, now))
        # What is not proven now is told by its faults.
        was, is_now = (
            {
                name: e
                for name, e in one.get("environments", {}).items()
                if name not in unproven[key]
            }
            for one in (old, new)
        )
        pairs: list[tuple[str, Any, Any]] = [(f"{key}, ", was, is_now)]
        nodes = old.get("nodes", {}), new.get("nodes", {})
        # Nodes that only one of the proofs met stand for their kind.
        common = sorted(nodes[0].keys() & nodes[1].keys())
        if common:
            pairs += [(f"node {name}: ", nodes[0][name], nodes[1][name]) for name in common]
        elif nodes[0] and nodes[1]:
            first = [next(iter(one.items())) for one in nodes]
            pairs.append((f"node {first[0][0]} and {first[1][0]}: ", first[0][1], first[1][1]))
        for head, one, other in pairs:
            found += [Change(f"{head}{what}", a, b) for what, a, b in _differ(one, other)]
    return found


def _differ(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    a, b = dict(_flat(one)), dict(_flat(other))
    for name in sorted(a.keys() | b.keys()):
        if a.get(name) != b.get(name):
            yield name, a.get(name), b.get(name)


def _flat(value: Mapping[str, Any], head: str = "") -> Iterator[tuple[str, str]]:
    for key, inner in value.items():
        if key in _FLEETING:
            continue
        if isinstance(inner, Mapping):
            yield from _flat(inner, f"{head}{key}: ")
        elif inner not in (None, [], ""):
            text = ", ".join(map(str, inner)) if isinstance(inner, list) else str(inner)
            yield f"{head}{key}", text


def _keep(kept: Path, proof: Proof) -> None:
    try:
        write_whole(kept, msgspec.json.format(msgspec.json.encode(proof)))
    except OSError as error:
        raise InfrastructureError(f"{kept}: cannot be written ({error.strerror})") from error
