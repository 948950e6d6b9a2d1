# SPDX-License-Identifier: Apache-2.0
"""The ordinary user who owns the jobs: the account, and commands run as that user."""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from records.errors import AssayError
from virtual_cluster.host import run


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


def accounts_of(name: str, home: Path) -> list[pwd.struct_passwd]:
    """A cluster's users: `home` is or holds theirs. AssayError if user `name` has another home."""
    with suppress(KeyError):
        if (found := pwd.getpwnam(name).pw_dir) != str(home):
            raise AssayError(
                f"user {name} exists with home {found}, so it was not made by "
                "`assay cluster up`; choose another --name"
            )
    return [
        user for user in pwd.getpwall() if home in (Path(user.pw_dir), Path(user.pw_dir).parent)
    ]


def remove_account(name: str) -> None:
    """Remove the user and its group; its processes must have ended."""
    run(["userdel", "--force", name], check=False)
    run(["groupdel", name], check=False)


def user_environment(name: str, home: Path, path: str) -> dict[str, str]:
    """The environment of a command of the ordinary user, who finds programs in `path`.

    Slurm tells times in the caller's time zone.
    """
    zone = {"TZ": os.environ["TZ"]} if "TZ" in os.environ else {}
    return zone | {
        **{"HOME": str(home), "LANG": "C.UTF-8", "LOGNAME": name},
        **{"PATH": path, "SHELL": "/bin/bash", "USER": name},
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
