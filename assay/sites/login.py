# SPDX-License-Identifier: Apache-2.0
"""The environment in which commands and jobs of a site begin: what its system gives a login shell.

Nothing of the caller's own shell is in it: no modules, no paths, no settings of MPI libraries. So
what works in one shell works in every other one, and from cron.
"""

from __future__ import annotations

import os
import pwd
import shutil
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

from assay.commands import run_command

#: What login shells read: sites set default modules, Slurm's and scratch folders there.
PROFILE = "/etc/profile"
#: Where programs are looked for before PROFILE says so.
PATH = "/usr/local/bin:/usr/bin:/bin"
#: Variables of the caller that say where its files are, which Slurm and what time it uses.
_OF_CALLER = ("HOME", "SLURM_CONF", "TZ")
#: What a shell says of itself.
_OF_SHELL = {"_", "OLDPWD", "PWD", "SHLVL"}


def login_environment() -> dict[str, str]:
    """Variables, and functions such as `module`, of a login shell of the system.

    Where its PATH lacks Slurm's commands, the folder in which the caller's shell has them follows.
    Raises InfrastructureError where PROFILE does not end.
    """
    own = {"PATH": PATH}
    with suppress(KeyError):
        user = pwd.getpwuid(os.getuid())
        own |= {"LOGNAME": user.pw_name, "USER": user.pw_name}
        own |= {"HOME": user.pw_dir, "SHELL": user.pw_shell}
    own |= {name: os.environ[name] for name in _OF_CALLER if os.environ.get(name)}
    found = dict(_given(PROFILE, tuple(own.items())))
    slurm = shutil.which("sbatch")
    if slurm and not shutil.which("sbatch", path=found["PATH"]):
        found["PATH"] += f":{os.path.dirname(slurm)}"  # noqa: PTH120  as PATH has it
    return found


def loaded_modules(variables: Mapping[str, str]) -> list[str]:
    """Modules that are loaded in a shell with these variables, in the order of loading."""
    return [name for name in variables.get("LOADEDMODULES", "").split(":") if name]


def modules_of_caller() -> list[str]:
    """Modules that are loaded in the caller's shell and not in a login shell."""
    at_login = loaded_modules(login_environment())
    return [name for name in loaded_modules(os.environ) if name not in at_login]


@cache
def libraries_of_python() -> dict[str, str]:
    """The caller's LD_LIBRARY_PATH where this interpreter, of a module, does not start without."""
    name = "LD_LIBRARY_PATH"
    if name not in os.environ or run_command([sys.executable, "-c", ""], {}).status == 0:
        return {}
    return {name: os.environ[name]}


def python_folders() -> list[Path]:
    """Where the interpreter and its packages are, and every link on the way to it."""
    found, link = [Path(sys.prefix), Path(sys.base_prefix)], Path(sys.executable)
    while link.is_symlink():
        link = Path(os.path.normpath(link.parent / link.readlink()))
        found.append(link.parent)
    return [folder for folder in found if not folder.is_relative_to("/usr")]


@cache
def _given(profile: str, own: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    script = 'exec 3>&1; trap "env -0 >&3" EXIT; . "$1" >/dev/null 2>&1'
    shell = ["bash", "--noprofile", "--norc", "-c", script, "bash", profile]
    answer = run_command(shell, dict(own), called=profile)
    pairs = (entry.partition("=") for entry in answer.stdout.split("\0") if "=" in entry)
    return dict(own) | {name: value for name, _, value in pairs if name not in _OF_SHELL}
