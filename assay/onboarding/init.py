# SPDX-License-Identifier: Apache-2.0
"""`assay site init`: asks Slurm and the person, proves the answers by jobs, writes them down."""

from __future__ import annotations

import os
import pwd
import re
import shutil
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec

from assay.onboarding.modules import modules_system
from assay.onboarding.mpi_search import FoundMpi, MpiSearch, chosen
from assay.onboarding.node_types import NodeType, node_types
from assay.onboarding.proof import PROOF_FILE, Proof, Ways, keep_proof, prove
from assay.onboarding.proposal import (
    environment_data,
    find_access,
    partition_data,
    proven_data,
    site_text,
    ways_of,
)
from assay.onboarding.questions import Questions
from assay.onboarding.slurm_view import SlurmView, ask_slurm
from assay.probe.job import WorkFolderError
from assay.run.provenance import only_here
from assay.sites.login import loaded_modules, login_environment, modules_of_caller
from assay.sites.site_file import as_site_file, folder_of_new_sites
from assay.terminal import Say
from records.errors import AssayError, InfrastructureError
from records.files import write_whole
from records.forms import Form, key
from records.site.topology import TopologyDescription

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_MOST_ENVIRONMENTS = 6
#: Variables that name a folder for scratch data, as sites set them, and folders of users' folders.
_SCRATCH = (
    *("SCRATCH", "PSCRATCH", "CSCRATCH", "SCRATCHDIR"),
    *("WORK", "WORKDIR", "PROJECT", "VSC_SCRATCH"),
)
_ROOTS = ("/scratch", "/work", "/lustre", "/gpfs/scratch", "/beegfs")


@dataclass(frozen=True)
class Wishes:
    """Answers given on the command line."""

    name: str | None
    access: Sequence[str]
    partitions: Sequence[str]
    environments: Sequence[str]
    work_dir: str | None
    overwrite: bool


class SiteInitForm(Form, kw_only=True):
    """`assay site init`: a site's description, written and proven."""

    site: Annotated[str, key("Its name.")]
    file: Annotated[str, key("The file written.")]
    description: Annotated[dict[str, Any], key("Its content.")]
    left_out: Annotated[Any, key("Environments found and left out, with the reason.")]
    proof: Annotated[dict[str, Any], key("Proof of the site by jobs.")]


def init_site(wishes: Wishes, questions: Questions, say: Say) -> SiteInitForm:
    """Write site-config/NAME/site.yaml. Raises AssayError where nothing can be proven."""
    view = ask_slurm()
    description = f"cluster {view.cluster}, Slurm {view.version}"
    say(f"{description}, {len(view.nodes)} nodes")
    file = _file_to_write(view.cluster, wishes, questions)
    kinds = _kinds(view, wishes, questions)
    system, login = modules_system(), login_environment()
    search = MpiSearch(system, say)
    environments = _environments(search, wishes, questions, say)
    of_shell = not_taken(login, {name for mpi in environments.values() for name in mpi.modules})
    if of_shell:
        say(
            f"jobs begin with a login shell and get nothing of this shell's {', '.join(of_shell)};"
            " what they need of it goes into `modules`, `prepare` or `variables` of an environment"
        )
    at_login = loaded_modules(login)
    data = {
        "schema": 2,
        "name": file.parent.name,
        "description": description,
        **_partitions(view, kinds, wishes),
        "environments": {key: environment_data(mpi) for key, mpi in environments.items()},
        **({} if system == "nomod" else {"modules_system": system}),
        **({"login_modules": at_login} if at_login else {}),
    }
    proposed = as_site_file(data).environments
    ways = {key: ways_of(mpi, proposed[key], view.mpi_types) for key, mpi in environments.items()}
    proof = _proven(data, ways, _work_folders(wishes, questions), say)
    whole = proven_data({**data, "work_dir": proof.work_dir}, ways, proof)
    if not whole["environments"]:
        raise InfrastructureError(
            "no environment could be proven, so nothing was written; see the reasons above"
        )
    _ask_links(whole, questions)
    used = [mpi for name, mpi in environments.items() if name in whole["environments"]]
    others = [" ".join(mpi.modules) or mpi.wrapper for mpi in search.found if mpi not in used]
    notes = {
        "This shell had, and jobs have not: ": of_shell,
        "Further MPIs were found: ": others,
        **{f"{kind.key} nodes are also in ": kind.also for kind in kinds},
    }
    lines = [head + ", ".join(names) for head, names in notes.items() if names]
    _write(file, site_text(whole, view.cluster, lines), proof, view.topology)
    left_out = {name: "; ".join(text) for name in environments if (text := proof.faults_of(name))}
    return SiteInitForm(
        site=whole["name"],
        file=str(file),
        description=whole,
        left_out=left_out,
        proof=msgspec.to_builtins(proof),
    )


def not_taken(given: Mapping[str, str], modules: Collection[str] = ()) -> list[str]:
    """Modules, variables by name and an MPI in PATH that matter to measurements and that the
    caller's shell has alone. Jobs begin with the variables `given`, environments load `modules`."""
    loaded = modules_of_caller()
    of_shell = [f"module {name}" for name in loaded if name not in modules]
    wrapper = None if loaded else shutil.which("mpicc")
    if wrapper and shutil.which("mpicc", path=given["PATH"]) != wrapper:
        of_shell.append(wrapper)
    return [*of_shell, *only_here(given)]


def _file_to_write(cluster: str, wishes: Wishes, questions: Questions) -> Path:
    """The site.yaml. Raises AssayError for a wrong name, and for a file that is to be kept."""

    def fault(name: str) -> str | None:
        if _NAME.fullmatch(name):
            return None
        return f"found {name!r}; allowed are small letters, digits and hyphens"

    guess = re.sub(r"[^a-z0-9]+", "-", cluster.lower()).strip("-")[:64] or "cluster"
    name = wishes.name or questions.text("Name of the site", guess, fault)
    if wrong := fault(name):
        raise AssayError(f"name of the site: {wrong}")
    file = folder_of_new_sites() / name / "site.yaml"
    kept = file.exists() and not wishes.overwrite
    if kept and not questions.yes(f"{file} exists; overwrite it?", guess=False):
        raise AssayError(
            f"{file} exists and is kept; say --overwrite, or another name: assay site init NAME"
        )
    return file


def _kinds(view: SlurmView, wishes: Wishes, questions: Questions) -> list[NodeType]:
    """The kinds of nodes to describe, the first is what `--site NAME` means."""
    if unknown := [name for name in wishes.partitions if name not in view.partitions]:
        raise AssayError(
            f"--partition {unknown[0]}: Slurm has {', '.join(view.partitions) or 'none'}"
        )
    asked = [view.partitions[name] for name in wishes.partitions or view.partitions]
    kinds = {kind.key: kind for kind in node_types(view.nodes, asked) if kind.in_service}
    if not kinds:
        raise InfrastructureError(
            "no partition that you may use has a node in service; ask again when sinfo shows one"
        )
    if len(kinds) == 1:
        return [*kinds.values()]
    picked = questions.several("Partitions, by kind of nodes", kinds, kinds)
    return [kind for name, kind in kinds.items() if name in picked]


def _environments(
    search: MpiSearch, wishes: Wishes, questions: Questions, say: Say
) -> dict[str, FoundMpi]:
    proposed = chosen(search.found)
    if not proposed:
        tried = f". Tried were:\n{search.told()}" if search.tried else ""
        raise AssayError(
            "no MPI was found: no compiler wrapper (mpicc) in PATH, and no module brings one. Load"
            " the modules that bring it and run assay site init again, or write"
            f" site-config/NAME/site.yaml by hand (docs/sites.md){tried}"
        )
    for line in search.not_loaded():
        say(f"  not found: {line}")
    if unknown := [name for name in wishes.environments if name not in proposed]:
        raise AssayError(f"--environments {unknown[0]}: found were {', '.join(proposed)}")
    guess = list(wishes.environments) or list(proposed)[:_MOST_ENVIRONMENTS]
    if not wishes.environments and len(proposed) > 1:
        for name, mpi in proposed.items():
            say(f"  {name}: {mpi.label}")
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


def _work_folders(wishes: Wishes, questions: Questions) -> list[str]:
    """Folders that nodes may share, as a site.yaml writes them, the likeliest first."""
    if wishes.work_dir:
        return [wishes.work_dir]
    user = pwd.getpwuid(os.geteuid()).pw_name
    # As written, and the folder that must be there.
    candidates = {f"${name}/assay": os.environ.get(name, "") for name in _SCRATCH}
    candidates |= {f"{root}/{user}/assay": f"{root}/{user}" for root in _ROOTS}
    candidates["$HOME/assay-work"] = os.environ.get("HOME", "")
    folders = [
        written
        for written, folder in candidates.items()
        if folder.startswith("/") and Path(folder).is_dir() and os.access(folder, os.W_OK | os.X_OK)
    ]
    if not folders:
        raise AssayError("no folder was found that you may write; name one with --work-dir")
    asked = questions.text("Work folder, seen by all nodes", folders[0])
    return list(dict.fromkeys([asked, *folders]))


def _proven(data: dict[str, Any], ways: Ways, folders: Iterable[str], say: Say) -> Proof:
    """The proof, with the first work folder that nodes share."""
    for folder in folders:
        try:
            proof = prove(as_site_file({**data, "work_dir": folder}), ways, folder, say)
        except WorkFolderError as error:
            say(f"{error}")
            continue
        for fault in proof.faults:
            say(f"not proven: {fault}")
        return proof
    raise AssayError("no work folder is shared with the nodes; name one with --work-dir")


def _ask_links(data: Mapping[str, Any], questions: Questions) -> None:
    """The rate of the links where nodes do not tell it; unknown stays out."""

    def fault(answer: str) -> str | None:
        if answer == "unknown" or (re.fullmatch(r"\d+(\.\d+)?", answer) and float(answer) > 0):
            return None
        return f"found {answer}; allowed are a number above 0, as 25 or 2.5, and unknown"

    for name, partition in data["partitions"].items():
        if "bits_per_second" in partition.get("network", {}):
            continue
        asked = f"{name}: rate of a node's link in Gbit/s, if you know it"
        rate = questions.text(asked, "unknown", fault)
        if rate != "unknown":
            link = {"name": f"{rate} Gbit/s", "bits_per_second": float(rate) * 1e9}
            partition["network"] = partition.get("network", {}) | link


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
