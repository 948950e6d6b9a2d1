# SPDX-License-Identifier: Apache-2.0
"""`assay site init`: asks Slurm, or looks at this machine, proves the answers, writes them down."""

import os
import pwd
import re
import shutil
import socket
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from assay import BASE
from assay.onboarding import proposal
from assay.onboarding.local import local_site
from assay.onboarding.mpi import FoundMpi, find_mpis, modules_system
from assay.onboarding.slurm_view import NodeType, SlurmView, ask_slurm, node_types
from assay.probe.probe import WorkFolderError
from assay.sites.site_file import as_site_file, folder_of_new_sites
from assay.terminal import Say
from records.errors import AssayError, InfrastructureError
from records.files import write_whole

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
#: Variables that name a folder for scratch data, as sites set them, and folders of users' folders.
_SCRATCH = (
    *("SCRATCH", "PSCRATCH", "CSCRATCH", "SCRATCHDIR"),
    *("WORK", "WORKDIR", "PROJECT", "VSC_SCRATCH"),
)
_ROOTS = ("/scratch", "/work", "/lustre", "/gpfs/scratch", "/beegfs")


def init_site(
    say: Say,
    *,
    name: str | None,
    access: Sequence[str],
    partitions: Sequence[str],
    environments: Sequence[str],
    work_dir: str | None,
    overwrite: bool,
) -> tuple[Path, dict[str, Any]]:
    """Write site-config/NAME/site.yaml; gives the file and its content: of this machine alone
    where it has no Slurm, or is called local. Raises AssayError where nothing can be proven."""
    if name == "local" or not (access or partitions or work_dir or shutil.which("scontrol")):
        return _init_local(say, name or "local", environments, overwrite=overwrite)
    view = ask_slurm()
    say(f"{_description(view)}, {len(view.nodes)} nodes")
    guess = re.sub(r"[^a-z0-9]+", "-", view.cluster.lower()).strip("-")[:64]
    file = _file_to_write(name or guess or "cluster", overwrite)
    kinds = _kinds(view, partitions)
    for partition in {kind.partition.name: None for kind in kinds}:
        proposal.must_take_jobs(partition, access)
    system = modules_system()
    mpis = _mpis(system, environments, say)
    data = {
        "schema": 2,
        "name": file.parent.name,
        "description": _description(view),
        **({} if system == "nomod" else {"modules_system": system}),
        "partitions": {kind.key: proposal.partition_data(view, kind, access) for kind in kinds},
        "environments": {key: proposal.environment_data(mpi) for key, mpi in mpis.items()},
    }
    proposed = as_site_file(data).environments
    ways = {key: proposal.ways_of(mpi, proposed[key], view.mpi_types) for key, mpi in mpis.items()}
    folders = [work_dir] if work_dir else _work_folders()
    folder, proof = _proven(data, ways, folders, say)
    whole = proposal.proven_data({**data, "work_dir": folder}, proof)
    _write(file, proposal.site_text(whole, view.cluster), view.topology)
    return file, whole


def _init_local(
    say: Say, name: str, environments: Sequence[str], *, overwrite: bool
) -> tuple[Path, dict[str, Any]]:
    say("this machine alone is described (for a cluster: load Slurm's module, which has scontrol)")
    file = _file_to_write(name, overwrite)
    whole = local_site(name, environments, BASE / "build", say)
    _write(file, proposal.site_text(whole, socket.gethostname()), ())
    return file, whole


def _description(view: SlurmView) -> str:
    return f"cluster {view.cluster}, Slurm {view.version}"


def _file_to_write(name: str, overwrite: bool) -> Path:
    """The site.yaml. Raises AssayError for a wrong name, and for a file that is to be kept."""
    if not _NAME.fullmatch(name):
        raise AssayError(
            f"name of the site: found {name!r}; allowed are small letters, digits and hyphens"
        )
    file = folder_of_new_sites() / name / "site.yaml"
    if file.exists() and not overwrite:
        raise AssayError(
            f"{file} exists and is kept; say --overwrite, or another name: assay site init NAME"
        )
    return file


def _kinds(view: SlurmView, partitions: Sequence[str]) -> list[NodeType]:
    """The kinds of nodes to describe, the first is what `--site NAME` means."""
    if unknown := [name for name in partitions if name not in view.partitions]:
        raise AssayError(
            f"--partition {unknown[0]}: Slurm has {', '.join(view.partitions) or 'none'}"
        )
    asked = [view.partitions[name] for name in partitions or view.partitions]
    kinds = [kind for kind in node_types(view.nodes, asked) if kind.in_service]
    if not kinds:
        raise InfrastructureError(
            "no partition that you may use has a node in service; ask again when sinfo shows one"
        )
    return kinds


def _mpis(system: str, asked: Sequence[str], say: Say) -> dict[str, FoundMpi]:
    """The MPIs to prove, by the name of their environment."""
    proposed, failed = find_mpis(system, say)
    for module, why in failed.items():
        say(f"  not found: {module}: {why}")
    if not proposed:
        raise AssayError(
            "no MPI was found: no compiler wrapper (mpicc) in PATH, and no module brings one. Load"
            " the modules that bring it and run assay site init again, or write"
            " site-config/NAME/site.yaml by hand (docs/sites.md)"
        )
    for name, mpi in proposed.items():
        say(f"  {name}: {mpi.label}")
    if unknown := [name for name in asked if name not in proposed]:
        raise AssayError(f"--environments {unknown[0]}: found were {', '.join(proposed)}")
    return {name: proposed[name] for name in asked or proposed}


def _work_folders() -> list[str]:
    """Folders that nodes may share, as a site.yaml writes them, the likeliest first."""
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
    return folders


def _proven(
    data: dict[str, Any], ways: proposal.Ways, folders: Iterable[str], say: Say
) -> tuple[str, proposal.Proof]:
    """The first work folder that nodes share, and the proof with it."""
    for folder in folders:
        try:
            return folder, proposal.prove(
                as_site_file({**data, "work_dir": folder}), ways, folder, say
            )
        except WorkFolderError as error:
            say(f"{error}")
    raise AssayError("no work folder is shared with the nodes; name one with --work-dir")


def _write(file: Path, text: str, topology: Sequence[str]) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        if topology:
            write_whole(file.with_name("topology.conf"), "\n".join([*topology, ""]).encode())
        write_whole(file, text.encode())
    except OSError as error:
        raise InfrastructureError(f"{file}: cannot be written ({error.strerror})") from error
