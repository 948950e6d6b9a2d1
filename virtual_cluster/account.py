# SPDX-License-Identifier: Apache-2.0
"""The ordinary user who owns the jobs: the account, and commands run as that user."""

from __future__ import annotations

import pwd
from collections.abc import Mapping, Sequence
from pathlib import Path

from records.errors import AssayError
from virtual_cluster.host import SYSTEM_PATH, run


def make_account(name: str, home: Path) -> tuple[int, int]:
    """Make the system user; return its uid and gid. Its home must exist already."""
    run(
        [
            *("useradd", "--system", "--user-group", "--no-create-home", "--no-log-init"),
            *("--home-dir", str(home), "--shell", "/bin/bash", "--comment", "Assay jobs", name),
        ]
    )
    entry = pwd.getpwnam(name)
    return entry.pw_uid, entry.pw_gid


def account_exists(name: str, home: Path) -> bool:
    """Whether our user exists. AssayError if a user of that name has another home."""
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        return False
    if Path(entry.pw_dir) != home:
        raise AssayError(
            f"user {name} exists with home {entry.pw_dir}, so it was not made by "
            "`assay cluster up`; choose another --name"
        )
    return True


def remove_account(name: str) -> None:
    """Remove the user and its group; its processes must have ended."""
    run(["userdel", "--force", name], check=False)
    run(["groupdel", name], check=False)


def user_environment(name: str, home: Path, slurm_conf: Path, programs: Path) -> dict[str, str]:
    """The complete environment of a command of the ordinary user.

    `programs` is a folder that comes first in PATH.
    """
    return {
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "LOGNAME": name,
        "PATH": f"{programs}:{SYSTEM_PATH}",
        "SHELL": "/bin/bash",
        "SLURM_CONF": str(slurm_conf),
        "USER": name,
    }


def as_user(
    argv: Sequence[str],
    uid: int,
    gid: int,
    environment: Mapping[str, str],
) -> list[str]:
    """Command list which, run by root, executes argv as the user with only this environment.

    It has no capability, and gets none by a program with the setuid bit. It is killed when the
    thread that started it ends.
    """
    return [
        *("setpriv", f"--reuid={uid}", f"--regid={gid}", "--init-groups", "--pdeathsig=KILL"),
        *("--inh-caps=-all", "--ambient-caps=-all", "--no-new-privs", "--"),
        *("env", "-i", *(f"{key}={value}" for key, value in environment.items())),
        *argv,
    ]
