# SPDX-License-Identifier: Apache-2.0
"""User-facing error type, and the exit statuses of every command.

Anything else that is raised is a bug and keeps its traceback.
"""

from __future__ import annotations

from enum import IntEnum


class ExitStatus(IntEnum):
    """Exit status of `assay`; `meaning` is what people read of it."""

    meaning: str

    def __new__(cls, value: int, meaning: str) -> ExitStatus:
        """A status with its meaning."""
        one = int.__new__(cls, value)
        one._value_, one.meaning = value, meaning
        return one

    PASS = 0, "done, and PASS where something is judged"
    FAIL = 1, "judged FAIL, launches failed, or something differs"
    BAD_INPUT = 2, "bad input or usage"
    INCONCLUSIVE = 3, "not decided: INCONCLUSIVE, SUSPECT or LEARNING"
    INFRASTRUCTURE = 4, "the machine, Slurm or a cluster failed or is not there, or Ctrl-C"


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


class UnreachableError(InfrastructureError):
    """No Slurm answers: nothing can be asked of the site, and nothing is begun."""


class ClusterDownError(UnreachableError):
    """A virtual cluster is not up."""
