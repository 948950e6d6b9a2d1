# SPDX-License-Identifier: Apache-2.0
"""Faults of the infrastructure, kept apart from what a launch itself did wrong.

A launch that never ran because of one gets no record and stays to be run; one that was ended by it
is lost. After the same fault at several launches in a row the harness pauses the run.
"""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

#: `refused`: Slurm will not take the job as it is; `slurm`: it does not answer; `nodes`: too few
#: are up; `work-folder`: it is full, gone or not writable; `environment`: a module or its launcher
#: is missing; `allocation`: that of many launches is over, or too short for one more; `clock`: one
#: was set during the launch, or two are far apart.
Fault = Literal["refused", "slurm", "nodes", "work-folder", "environment", "allocation", "clock"]

#: What a launch writes at least; less than this left of a disk counts as full.
_PROBE_BYTES = 1 << 16
_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.ESTALE}


@dataclass(frozen=True)
class Loss:
    """Why a job gave no result of its own; `ran`: whether it had begun."""

    reason: str
    fault: Fault
    ran: bool


class WorkFolderError(Exception):
    """Something that the session put into the work folder is no longer there."""


def folder_trouble(folder: Path) -> str | None:
    """Why a launch cannot write into `folder`; None when it can."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(_PROBE_BYTES))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return f"work folder {folder}: {error.strerror}"
    return None


def fault_of(error: BaseException, folder: Path) -> Fault | None:
    """The fault behind an exception that kept a launch from being submitted, or None.

    `folder`: where the session writes; files missing elsewhere are the check's own fault.
    """
    for one in _chain(error):
        if isinstance(one, WorkFolderError):
            return "work-folder"
        if isinstance(one, OSError) and (one.errno in _DISK or folder_trouble(folder)):
            return "work-folder"
    return None


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
