# SPDX-License-Identifier: Apache-2.0
"""The one user-facing error type, and the exit statuses of every command.

Anything else that is raised is a bug and keeps its traceback.
"""

from __future__ import annotations

from enum import IntEnum


class ExitStatus(IntEnum):
    """What `assay` says to the shell."""

    PASS = 0
    FAIL = 1
    BAD_INPUT = 2
    INCONCLUSIVE = 3
    INFRASTRUCTURE = 4


class AssayError(Exception):
    """A problem the user can fix: what, where, what is allowed, what to do. `status` is the exit
    status of the command that meets it."""

    def __init__(self, message: str, status: ExitStatus = ExitStatus.BAD_INPUT) -> None:
        super().__init__(message)
        self.status = status


class InfrastructureError(AssayError):
    """The machine, Slurm, the disk or a service let us down; the input was fine."""

    def __init__(self, message: str) -> None:
        super().__init__(message, ExitStatus.INFRASTRUCTURE)
