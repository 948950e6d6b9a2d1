# SPDX-License-Identifier: Apache-2.0
"""Listings of files of ReFrame suites, by child processes of a server that has loaded ReFrame.

Where the kernel gives it namespaces it has no network, sees its own processes, and can only read.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

import msgspec

from checks.common.foreign.listing import Listing, Surroundings
from records.errors import InfrastructureError
from records.forms import as_bytes
from records.text.plain_text import end_of_output, one_line, plain_data

_NAMESPACES = ("--user", "--map-root-user", "--mount", "--ipc", "--pid", "--fork", "--kill-child")
#: FOLDER OPTION... COMMAND...: a command in a user namespace with these options, which can write to
#: FOLDER alone. A child of it makes this view of the file systems meanwhile, and succeeds.
_VIEW = r"""
folder=$1; shift
mount -t proc proc /proc
mount --bind /proc/sys /proc/sys
{
    while read -r _ _ _ _ at flags rest; do
        case "$at $rest" in
        "/proc "* | *" - autofs "*) ;;
        *) mount -cni -o "remount,bind,ro${flags#r?}" none "$(printf %b "$at")" ;;
        esac
    done </proc/self/mountinfo
    mount -t tmpfs -o size=1g,nosuid,nodev tmpfs "$folder"
} </dev/null >&2 &
exec unshare --user "$@"
"""


def list_files(files: Sequence[Path], around: Surroundings) -> list[Listing]:
    """List each file, in their order; one that cannot be listed is refused, with a reason. Raises
    InfrastructureError where no process can be had."""
    order = as_bytes(([str(file.absolute()) for file in files], around))
    namespaces = ("unshare", *_NAMESPACES, *(() if around.network else ("--net",)))
    ids = (f"--map-user={os.geteuid()}", f"--map-group={os.getegid()}")  # as outside
    with (
        tempfile.TemporaryDirectory(prefix="assay-listing-", ignore_cleanup_errors=True) as folder,
        tempfile.TemporaryFile("w+", errors="replace") as log,
    ):
        server = (sys.executable, "-P", "-m", "checks.common.foreign.server", folder)
        apart = _served((*namespaces, "sh", "-c", _VIEW, "sh", folder, *ids, *server), order, log)
        answer = apart or _served(server, order, log)
        try:
            found = msgspec.convert(plain_data(msgspec.json.decode(answer)), list[Listing])
        except msgspec.MsgspecError as error:
            log.seek(0)
            said = end_of_output(log.readlines())
            raise InfrastructureError(f"files cannot be listed: {said}") from error
    for one in found:
        one.isolation = "namespaces" if apart else "none"
        one.refused = one_line(one.refused)
    return found


def _served(command: Sequence[str], order: bytes, log: IO[str]) -> bytes:
    """Have a server do an order; the answer is empty where it does not begin."""
    own = os.environ.keys() & {"LD_LIBRARY_PATH", "PATH", "PYTHONPATH"}
    with suppress(OSError):
        return subprocess.run(
            command,
            input=order,
            stdout=subprocess.PIPE,
            stderr=log,
            cwd="/",
            env={name: os.environ[name] for name in own},
            start_new_session=True,
            check=False,
        ).stdout
    return b""
