# SPDX-License-Identifier: Apache-2.0
"""What a nightly run needs that a login shell has and a schedule has not.

Cron, systemd and scrontab start with few variables and without the function `module`; a job of
scrontab needs account, partition and time besides.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

from assay.sites.description import SiteDescription
from assay.sites.slurm import CALLERS_OPTIONS, callers_access
from assay.sites.values import expanded, unset_fault

#: Options of sbatch that say on whose account and where a job runs.
_OF_THE_JOB = re.compile(r"--(account|partition|qos|clusters)=(.+)|-([ApqM])\s*(.+)")
_LONG = {"A": "account", "p": "partition", "q": "qos", "M": "clusters"}
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)\})")
#: Where every schedule looks for programs.
_PATH = ("/usr/local/bin", "/usr/bin", "/bin")
#: Variables of Slurm's own commands, and the caller's options of sbatch.
_SLURMS = ("SLURM_CONF", *CALLERS_OPTIONS)
#: Time of scrontab's job where the partition has no longest one.
_DAY_S = 86400


@dataclass(frozen=True)
class Surroundings:
    """Options of scrontab's own job, and shell text that comes before the command."""

    job_options: tuple[str, ...] = ()
    prologue: str = ""


def surroundings_of(site: SiteDescription) -> Surroundings:
    """What the site's description and the shell of the caller say of them."""
    options = {}
    for word in [*callers_access(), *site.access]:
        if found := _OF_THE_JOB.fullmatch(word):
            options[found[1] or _LONG[found[3]]] = found[2] or found[4]
    seconds = site.longest_job_s or _DAY_S
    options |= {"nodes": "1", "ntasks": "1", "time": str(seconds // 60)}
    variables = [f"export {name}={shlex.quote(value)}" for name, value in _variables(site)]
    return Surroundings(
        tuple(f"--{name}={value}" for name, value in options.items()),
        "; ".join([*variables, *_modules(site)]),
    )


def _variables(site: SiteDescription) -> list[tuple[str, str]]:
    """Those that the description names and that are set here, and the way to Slurm's commands."""
    named = {a or b for a, b in _VARIABLE.findall(_text_of(site))} - {"HOME", "USER", "PATH"}
    names = sorted({*named, *_SLURMS} & os.environ.keys())
    found = [(name, os.environ[name]) for name in names]
    sbatch = shutil.which("sbatch")
    folder = str(Path(sbatch).parent) if sbatch else _PATH[0]
    return found if folder in _PATH else [*found, ("PATH", ":".join([folder, *_PATH]))]


def _text_of(site: SiteDescription) -> str:
    """What of the description is expanded where `assay` is called; jobs expand the rest."""
    environments = site.environments.values()
    programs = [path for one in environments for path in one.programs.values()]
    return json.dumps([site.work_dir, site.module_init, site.hpl_source, *site.checks, *programs])


def _modules(site: SiteDescription) -> list[str]:
    """What defines `module`, for the interpreter itself may come from one."""
    init = site.module_init
    if site.modules_system == "nomod" or not init or unset_fault(init):
        return []
    return [f". {shlex.quote(expanded(init))}"]
