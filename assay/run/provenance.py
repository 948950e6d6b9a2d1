# SPDX-License-Identifier: Apache-2.0
"""Provenance: what ran where, with which software and settings, so that a number can be traced."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from assay.plan import Plan
from assay.sites.description import EnvironmentDescription
from assay.sites.site import Site

#: Variables of the caller's environment that MPI libraries or BLAS read.
_REACHES_MPI = re.compile(r"^(MPI|MPICH|OMPI|PMIX|PMI|UCX|LAM|FI|OPENBLAS|OMP|HYDRA|SLURM|PVM)_")
#: Slurm settings that matter for measurements.
_SLURM_SETTINGS = (
    "SelectType",
    "SelectTypeParameters",
    "TaskPlugin",
    "ProctrackType",
    "MpiDefault",
    "LaunchParameters",
    "SchedulerParameters",
)


def gather(site: Site, run_id: str, plan: Plan) -> dict[str, Any]:
    """The provenance of a run, as known when it begins."""
    described = site.description.environments
    return {
        "schema": 1,
        "run_id": run_id,
        "started_at": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        "order_seed": plan.seed,
        "harness": _harness(),
        "site": site.provenance(),
        "host": _host(),
        "slurm": _slurm(site),
        "environments": {
            name: {**_environment(described[name]), "spack": site.spack_facts(name)}
            for name in plan.environments
        },
        "variables": {k: v for k, v in sorted(os.environ.items()) if _REACHES_MPI.match(k)},
    }


def _output(argv: Sequence[str], cwd: Path | None = None) -> str:
    try:
        answer = subprocess.run(
            argv, capture_output=True, text=True, timeout=30, check=False, cwd=cwd
        )
    except OSError:
        return ""
    return answer.stdout.strip()


def _harness() -> dict[str, Any]:
    here = Path(__file__).resolve().parent
    return {
        "version": metadata.version("assay"),
        "reframe": metadata.version("ReFrame-HPC"),
        "git_commit": _output(["git", "rev-parse", "HEAD"], here) or None,
        "git_dirty": bool(_output(["git", "status", "--porcelain", "--untracked-files=no"], here)),
    }


def _host() -> dict[str, Any]:
    pages, page_bytes = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    cpus = Path("/proc/cpuinfo").read_text()
    model = re.search(r"^model name\s*:\s*(.+)$", cpus, re.MULTILINE)
    return {
        "cpu": model[1] if model else platform.processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": pages * page_bytes,
        "kernel": platform.release(),
        "nics": sorted(nic.name for nic in Path("/sys/class/net").glob("*") if nic.name != "lo"),
    }


def _slurm(site: Site) -> dict[str, Any]:
    command, environment = site.command(["scontrol", "show", "config"], {})
    answer = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    pairs = (line.split("=", 1) for line in answer.stdout.splitlines() if "=" in line)
    config = {key.strip(): value.strip() for key, value in pairs}
    settings = {name: config[name] for name in _SLURM_SETTINGS if name in config}
    return {"version": config.get("SLURM_VERSION"), "settings": settings}


def _environment(described: EnvironmentDescription) -> dict[str, Any]:
    return {
        "description": described.description,
        "source": described.source,
        "compiler": described.compiler,
        "compiles_with": _output([described.compiler, "-show"])
        or _output([described.compiler, "-showme"]),
        "compiler_version": _output(["cc", "--version"]).split("\n")[0],
        "launcher": described.launcher,
        "launcher_options": described.launcher_options,
        "variables": described.variables,
        "variant_of": described.variant_of,
        "settings": {
            **{name: setting.default for name, setting in described.settings.items()},
            **described.chosen,
        },
        "preload": described.preload or None,
        "packages": {
            name: _output(["dpkg-query", "-W", "-f=${Version}", name]) or None
            for name in described.packages
        },
    }
