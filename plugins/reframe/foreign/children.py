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
from pathlib import Path

import msgspec

from plugins.reframe.foreign.listing import Listing, Surroundings
from records.errors import InfrastructureError
from records.forms import as_bytes
from records.text.plain_text import end_of_output, one_line, plain_data

#: Words before a command that end it with this process and give it namespaces.
_UNSHARE = (
    *("setpriv", "--pdeathsig=KILL", "unshare", "--kill-child", "--fork", "--pid"),
    *("--user", "--map-root-user", "--mount", "--ipc"),
)
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
    words = (*_UNSHARE, *(() if around.network else ("--net",)), "sh", "-c", _VIEW, "sh")
    ids = (f"--map-user={os.geteuid()}", f"--map-group={os.getegid()}")  # as outside
    with tempfile.TemporaryDirectory(None, "assay-listing-", ignore_cleanup_errors=True) as folder:
        server = (sys.executable, "-P", "-m", "plugins.reframe.foreign.server", folder)
        apart = _served((*words, folder, *ids, *server), order)
        served = apart if apart.stdout else _served(server, order)
    try:
        found = msgspec.convert(plain_data(msgspec.json.decode(served.stdout)), list[Listing])
    except msgspec.MsgspecError as error:
        said = end_of_output(served.stderr.decode(errors="replace").splitlines())
        raise InfrastructureError(f"files cannot be listed: {said}") from error
    for one in found:
        one.isolation = "namespaces" if served is apart else "none"
        one.refused = one_line(one.refused)
    return found


def _served(command: Sequence[str], order: bytes) -> subprocess.CompletedProcess[bytes]:
    """Have a server do an order; it prints nothing where it does not begin."""
    own = os.environ.keys() & {"LD_LIBRARY_PATH", "PATH", "PYTHONPATH"}
    try:
        return subprocess.run(
            command,
            input=order,
            capture_output=True,
            env={name: os.environ[name] for name in own},
            start_new_session=True,
            check=False,
        )
    except OSError as error:
        return subprocess.CompletedProcess(command, 127, b"", str(error).encode())
