# SPDX-License-Identifier: Apache-2.0
"""`assay site init`: asks Slurm and the person, proves by jobs what they say, writes it down."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.commands import Pause
from assay.onboarding.asking import SlurmView, ask_slurm, work_folders
from assay.onboarding.modules import FoundMpi, Say, chosen, find_mpi, modules_system
from assay.onboarding.node_types import NodeType, node_types
from assay.onboarding.proof import PROOF_FILE, Proof, Ways, keep_proof, prove
from assay.onboarding.proposal import (
    as_site_file,
    environment_data,
    find_access,
    partition_data,
    proven_data,
    ways_of,
)
from assay.onboarding.questions import Questions
from assay.onboarding.site_text import site_text
from assay.probe.job import WorkFolderError
from assay.sites.site_file import SITES
from records.errors import AssayError, InfrastructureError
from records.files import write_whole
from records.site.topology import TopologyDescription

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_MOST_ENVIRONMENTS = 6


@dataclass(frozen=True)
class Wishes:
    """What the command line says beforehand."""

    name: str | None = None
    access: Sequence[str] = ()
    partitions: Sequence[str] = ()
    environments: Sequence[str] = ()
    work_dir: str | None = None
    overwrite: bool = False


@dataclass
class Written:
    """What came of it: the file, its data and the proof."""

    file: Path
    data: dict[str, Any]
    proof: Proof
    left_out: dict[str, str] = field(default_factory=dict)


def init_site(wishes: Wishes, questions: Questions, say: Say, pause: Pause) -> Written:
    """Write site-config/NAME/site.yaml. Raises AssayError where nothing can be proven."""
    view = ask_slurm()
    say(f"cluster {view.cluster}, Slurm {view.version}, {len(view.nodes)} nodes")
    file = _file_to_write(view.cluster, wishes, questions)
    kinds = _kinds(view, wishes, questions)
    system = modules_system()
    found = find_mpi(system, say)
    environments = _environments(found, wishes, questions, say)
    data = {
        "schema": 2,
        "name": file.parent.name,
        "description": f"cluster {view.cluster}, Slurm {view.version}",
        **_partitions(view, kinds, wishes),
        "environments": {key: environment_data(one) for key, one in environments.items()},
    }
    if system != "nomod":
        data["modules_system"] = system
    proposed = as_site_file(data)
    ways = {
        key: ways_of(one, proposed.environments[key], view.mpi_types)
        for key, one in environments.items()
    }
    folders = [wishes.work_dir] if wishes.work_dir else work_folders()
    if not folders:
        raise AssayError("no folder was found that you may write; name one with --work-dir")
    if not wishes.work_dir:
        folders.insert(0, questions.text("Work folder, seen by all nodes", folders[0]))
    proof = _proven(data, ways, list(dict.fromkeys(folders)), say, pause)
    for fault in proof.faults:
        say(f"not proven: {fault}")
    whole = proven_data({**data, "work_dir": proof.work_dir}, ways, proof)
    if not whole["environments"]:
        raise InfrastructureError(
            "no environment could be proven, so nothing was written; see the reasons above"
        )
    _ask_links(whole, questions)
    text = site_text(whole, view.cluster, _notes(found, environments, whole, kinds))
    _write(file, text, proof, view.topology)
    left_out = {key: "; ".join(proof.faults_of(key)) for key in environments}
    return Written(file, whole, proof, {k: text for k, text in left_out.items() if text})


def _file_to_write(cluster: str, wishes: Wishes, questions: Questions) -> Path:
    """The site.yaml. Raises AssayError for a wrong name, and for a file that is to be kept."""
    guess = re.sub(r"[^a-z0-9]+", "-", cluster.lower()).strip("-")[:64] or "cluster"
    name = wishes.name or questions.text("Name of the site", guess, _name_fault)
    if fault := _name_fault(name):
        raise AssayError(f"name of the site: {fault}")
    file = SITES / name / "site.yaml"
    kept = file.exists() and not wishes.overwrite
    if kept and not questions.yes(f"{file} exists; overwrite it?", guess=False):
        raise AssayError(
            f"{file} exists and is kept; say --overwrite, or another name: assay site init NAME"
        )
    return file


def _name_fault(name: str) -> str | None:
    if _NAME.fullmatch(name):
        return None
    return f"found {name!r}; allowed are small letters, digits and hyphens"


def _kinds(view: SlurmView, wishes: Wishes, questions: Questions) -> list[NodeType]:
    """The kinds of nodes to describe, the first is what `--site NAME` means."""
    known = view.partitions.values()
    unknown = [name for name in wishes.partitions if name not in view.partitions]
    if unknown:
        raise AssayError(
            f"--partition {unknown[0]}: Slurm has {', '.join(view.partitions) or 'none'}"
        )
    asked = [one for one in known if not wishes.partitions or one.name in wishes.partitions]
    kinds = [kind for kind in node_types(view.nodes, asked) if kind.in_service]
    if not kinds:
        raise InfrastructureError(
            "no partition that you may use has a node in service; ask again when sinfo shows one"
        )
    keys = [kind.key for kind in kinds]
    picked = questions.several("Partitions, by kind of nodes", keys, keys) if kinds[1:] else keys
    return [kind for kind in kinds if kind.key in picked]


def _environments(
    found: Sequence[FoundMpi], wishes: Wishes, questions: Questions, say: Say
) -> dict[str, FoundMpi]:
    proposed = chosen(found)
    if not proposed:
        raise AssayError(
            "no MPI was found: no compiler wrapper (mpicc) in PATH, and no module brings one. Load"
            " what holds it, or write site-config/NAME/site.yaml by hand (docs/sites.md)"
        )
    unknown = [name for name in wishes.environments if name not in proposed]
    if unknown:
        raise AssayError(f"--environments {unknown[0]}: found were {', '.join(proposed)}")
    guess = list(wishes.environments) or list(proposed)[:_MOST_ENVIRONMENTS]
    if not wishes.environments and len(proposed) > 1:
        for name, one in proposed.items():
            say(f"  {name}: {one.label}")
        guess = questions.several("Environments", proposed, guess)
    return {name: proposed[name] for name in guess}


def _partitions(view: SlurmView, kinds: Sequence[NodeType], wishes: Wishes) -> dict[str, Any]:
    """The keys `access` and `partitions`; options that all partitions share are at the top."""
    accesses = {kind.key: find_access(view, kind.partition.name, wishes.access) for kind in kinds}
    shared = set(accesses.values())
    partitions = {}
    for kind in kinds:
        own = partition_data(view, kind, accesses[kind.key])
        if len(shared) > 1:
            own["access"] = [*accesses[kind.key], *own.get("access", [])]
        if view.topology is not None:
            own["topology"] = {"slurm": view.topology.slurm or "topology.conf"}
        partitions[kind.key] = own
    options = list(shared.pop()) if len(shared) == 1 else []
    return {**({"access": options} if options else {}), "partitions": partitions}


def _proven(
    data: dict[str, Any], ways: Ways, folders: Sequence[str], say: Say, pause: Pause
) -> Proof:
    """The proof, with the first work folder that nodes share."""
    for folder in folders:
        try:
            return prove(as_site_file({**data, "work_dir": folder}), ways, folder, say, pause)
        except WorkFolderError as error:
            say(f"{error}")
    raise AssayError("no work folder is shared with the nodes; name one with --work-dir")


def _ask_links(data: dict[str, Any], questions: Questions) -> None:
    """The rate of the links where nodes do not tell it; unknown stays out."""
    for key, partition in data["partitions"].items():
        network = partition.setdefault("network", {})
        if "bits_per_second" in network:
            continue
        asked = f"{key}: rate of a node's link in Gbit/s, if you know it"
        said = questions.text(asked, "unknown", _rate_fault)
        if said != "unknown":
            network |= {"name": f"{said} Gbit/s", "bits_per_second": float(said) * 1e9}
        if not network:
            del partition["network"]


def _rate_fault(said: str) -> str | None:
    if said == "unknown" or (re.fullmatch(r"\d+(\.\d+)?", said) and float(said) > 0):
        return None
    return f"found {said}; allowed are a number above 0, as 25 or 2.5, and unknown"


def _notes(
    found: Sequence[FoundMpi],
    environments: Mapping[str, FoundMpi],
    data: Mapping[str, Any],
    kinds: Sequence[NodeType],
) -> list[str]:
    """What was found and is not in the file."""
    used = [one for name, one in environments.items() if name in data["environments"]]
    others = [" ".join(one.modules) or one.wrapper for one in found if one not in used]
    also = [f"{kind.key} nodes are also in {', '.join(kind.also)}" for kind in kinds if kind.also]
    notes = [f"Further MPIs were found: {', '.join(others)}"] if others else []
    return [*notes, *also]


def _write(file: Path, text: str, proof: Proof, topology: TopologyDescription | None) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        if topology is not None and topology.switches:
            lines = [
                f"SwitchName={name} "
                + (f"Nodes={one.nodes}" if one.nodes else f"Switches={one.switches}")
                for name, one in topology.switches.items()
            ]
            write_whole(file.with_name("topology.conf"), "\n".join([*lines, ""]).encode())
        write_whole(file, text.encode())
    except OSError as error:
        raise InfrastructureError(f"{file}: cannot be written ({error.strerror})") from error
    keep_proof(file.with_name(PROOF_FILE), proof)
