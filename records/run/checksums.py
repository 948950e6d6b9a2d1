# SPDX-License-Identifier: Apache-2.0
"""Checksums of everything that a document rests on, and their signature.

A list has the form of sha256sum, so that it can be checked without Assay.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from records.errors import AssayError
from records.input_files import opened, read_whole

#: Files and folders of a run directory that are derived or temporary.
NOT_EVIDENCE = frozenset({"acceptance", "against", "report", "work", ".lock"})
#: What a signature is for (`-n` of ssh-keygen), and the end of the name of its file.
NAMESPACE, SIGNATURE = "assay-acceptance", ".sig"


def digest(path: Path) -> str:
    """SHA-256 of a regular file in hexadecimal. Raises AssayError if it cannot be read."""
    with opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def manifest(run: Path, reruns: Sequence[Path]) -> dict[str, str]:
    """Name relative to `run` -> SHA-256, of every file of the run and its re-runs, sorted. Raises
    AssayError for a link or a FIFO in one of them."""
    names = []
    for folder in (run, *reruns):
        for place, folders, files in os.walk(folder):
            left_out = NOT_EVIDENCE if Path(place) == folder else frozenset[str]()
            folders[:] = [name for name in folders if name not in left_out]
            for path in (Path(place, name) for name in folders):
                if path.is_symlink():
                    raise AssayError(f"{path}: is a symbolic link; a run holds none")
            here = (Path(place, name) for name in files if name not in left_out)
            names += [os.path.relpath(path, run) for path in here]
    return {name: digest(run / name) for name in sorted(names)}


def sums_text(sums: Mapping[str, str]) -> str:
    """The text of a sha256sum file; names with a line break are refused."""
    bad = [name for name in sums if "\n" in name or "\\" in name]
    if bad:
        raise AssayError(f"{bad[0]!r}: such a name cannot stand in a list of checksums; rename it")
    return "".join(f"{value}  {name}\n" for name, value in sums.items())


def read_sums(path: Path) -> dict[str, str]:
    """The checksums of a sha256sum file. Raises AssayError naming the line that is none."""
    sums: dict[str, str] = {}
    text = read_whole(path).decode("utf-8", "replace")
    for number, line in enumerate(text.splitlines(), start=1):
        found = re.fullmatch(r"([0-9a-f]{64})  (.+)", line)
        if found is None:
            raise AssayError(f"{path}:{number}: is no line of a sha256sum file")
        sums[found[2]] = found[1]
    return sums


def sign(sums: Path, private_key: Path) -> Path:
    """Sign a list of checksums by `ssh-keygen -Y sign`; gives the file of the signature. A
    passphrase is asked for on the terminal. Raises AssayError with ssh-keygen's message."""
    _ssh_keygen("sign", "-f", str(private_key), "-n", NAMESPACE, str(sums))
    return sums.with_name(sums.name + SIGNATURE)


def signer(sums: Path, allowed_signers: Path | None) -> str:
    """Who signed a list of checksums, as ssh-keygen names them, offline. With `allowed_signers` (a
    file as ssh-keygen(1) describes it) the principal, else the key alone. Raises AssayError for a
    signature of something else, or of nobody in that file."""
    signature, content = str(sums.with_name(sums.name + SIGNATURE)), read_whole(sums)
    about = ("-n", NAMESPACE, "-s", signature)
    if allowed_signers is None:
        return _ssh_keygen("check-novalidate", *about, given=content)
    listed = ("-f", str(allowed_signers))
    found = _ssh_keygen("find-principals", "-s", signature, *listed).splitlines()
    return _ssh_keygen("verify", *listed, "-I", found[0], *about, given=content)


def _ssh_keygen(task: str, *arguments: str, given: bytes | None = None) -> str:
    command = ["ssh-keygen", "-Y", task, *arguments]
    given = b"" if given is None and task != "sign" else given  # it asks for the passphrase
    try:
        done = subprocess.run(command, input=given, capture_output=True, check=False)
    except OSError as error:
        raise AssayError(
            f"ssh-keygen: {error.strerror}; signatures need OpenSSH 8.1 or later (Debian:"
            " openssh-client)"
        ) from error
    said = (done.stdout + done.stderr).decode("utf-8", "replace").strip()
    if done.returncode != 0:
        raise AssayError(f"ssh-keygen -Y {task}: {said.splitlines()[-1] if said else 'failed'}")
    return said
