# SPDX-License-Identifier: Apache-2.0
"""Lock of a Spack home: one build at a time, and none while a run uses what is there.

The lock ends with the process that holds it, however that ends.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.sites.builds import HOME
from records.errors import InfrastructureError

_LOCK = ".lock"


@contextmanager
def building(home: Path) -> Iterator[None]:
    """Change a Spack home alone. Raises InfrastructureError while another build changes it or a run
    uses it, and where it cannot be written."""
    try:
        home.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(home / _LOCK, os.O_CREAT | os.O_RDWR, 0o644)
    except OSError as error:
        raise InfrastructureError(
            f"{error.filename}: {error.strerror}; correct the rights, or name another place with"
            f" {HOME}"
        ) from error
    with _held(descriptor, fcntl.LOCK_EX, home, "another build, or a run on its libraries,"):
        yield


@contextmanager
def in_use(home: Path) -> Iterator[None]:
    """Use what a Spack home holds, together with other runs; raises InfrastructureError while a
    build changes it."""
    try:
        descriptor = os.open(home / _LOCK, os.O_RDONLY)
    except FileNotFoundError:  # nothing has been built there since homes have locks
        yield
        return
    with _held(descriptor, fcntl.LOCK_SH, home, "a build"):
        yield


@contextmanager
def _held(descriptor: int, kind: int, home: Path, other: str) -> Iterator[None]:
    try:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InfrastructureError(
                f"{home}: {other} is under way in this Spack home; wait for its end, or name"
                f" another place with {HOME}"
            ) from error
        yield
    finally:
        os.close(descriptor)
