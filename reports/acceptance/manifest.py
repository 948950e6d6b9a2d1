# SPDX-License-Identifier: Apache-2.0
"""Checksums of everything a verdict rests on: records, raw output, plan and provenance of all runs.

The form is that of sha256sum, so that anybody can check it without Assay.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from records.errors import AssayError, InfrastructureError

#: Files and folders of a run directory that are made from it, or come and go.
NOT_EVIDENCE = frozenset({"acceptance", "report", "work", ".lock"})
_CHUNK_BYTES = 1 << 20


def digest(path: Path) -> str:
    """SHA-256 of a file in hexadecimal. Raises InfrastructureError if it cannot be read."""
    found = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK_BYTES):
                found.update(chunk)
    except OSError as error:
        raise InfrastructureError(f"{path}: cannot be read ({error.strerror})") from error
    return found.hexdigest()


def manifest(run: Path, reruns: Sequence[Path]) -> dict[str, str]:
    """Name relative to `run` -> SHA-256, of every file of the run and its re-runs, sorted."""
    names = list(_files(run, run))
    for rerun in reruns:
        names += _files(rerun, run)
    return {name: digest(run / name) for name in sorted(names)}


def _files(folder: Path, root: Path) -> Iterator[str]:
    for place, folders, files in os.walk(folder):
        here = Path(place)
        top = here == folder
        folders[:] = [name for name in folders if not (top and name in NOT_EVIDENCE)]
        for name in files:
            if not (top and name in NOT_EVIDENCE):
                yield os.path.relpath(here / name, root)


def sums_text(sums: Mapping[str, str]) -> str:
    """The text of a sha256sum file; names with a line break are refused."""
    bad = [name for name in sums if "\n" in name or "\\" in name]
    if bad:
        raise AssayError(f"{bad[0]!r}: such a name cannot stand in a list of checksums; rename it")
    return "".join(f"{value}  {name}\n" for name, value in sums.items())


def read_sums(path: Path) -> dict[str, str]:
    """The checksums of a sha256sum file. Raises AssayError naming the line that is none."""
    sums: dict[str, str] = {}
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise AssayError(f"{path}: cannot be read ({error.strerror})") from error
    for number, line in enumerate(lines, start=1):
        value, gap, name = line[:64], line[64:66], line[66:]
        if gap != "  " or not name or any(c not in "0123456789abcdef" for c in value):
            raise AssayError(f"{path}:{number}: is no line of a sha256sum file")
        sums[name] = value
    return sums
