# SPDX-License-Identifier: Apache-2.0
"""Reasons why launches ended badly: lines of launchers that say no more than that a rank ended, of
srun, Open MPI 4 and 5 and hydra, are set apart; reasons that say the same are grouped."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from records.text.plain_text import one_line

NO_REASON = "no reason recorded"
#: What differs between launches that ended for one reason: quoted text, paths, ids, names of nodes
#: and hosts, numbers.
_VARIES = re.compile(r"'[^']*'|\"[^\"]*\"|\S*/\S*|\S*\d\S*")


@dataclass(frozen=True, slots=True)
class ReasonGroup:
    """Launches with one status whose reasons differ in names and numbers only. `reason` is the most
    frequent text, `places` those of the launches among all that were given."""

    status: str
    reason: str
    places: tuple[int, ...]


def _text(reason: str | None) -> str:
    return one_line(reason or "").strip() or NO_REASON


def alike(reason: str | None) -> str:
    """Text that reasons which say the same have in common."""
    return _VARIES.sub("#", _text(reason))


def grouped(reasons: Iterable[tuple[str, str | None]]) -> list[ReasonGroup]:
    """(status, reason) of launches as groups, the greatest first."""
    found: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for place, (status, reason) in enumerate(reasons):
        found.setdefault((status, alike(reason)), []).append((place, _text(reason)))
    groups = []
    for (status, _), mine in found.items():
        places, texts = zip(*mine, strict=True)
        groups.append(ReasonGroup(status, Counter(texts).most_common(1)[0][0], places))
    return sorted(groups, key=lambda group: -len(group.places))


_SRUN = (
    r"srun: error: \S+: tasks? [\d,-]+: (?!Out Of Memory)|srun: (Job step aborted|Terminating )",
    r"srun: (error: )?(First task exited|forcing job termination|Timed out waiting for job step)",
    r"srun: (step:\S+ tasks|launch/slurm: _(task_finish|step_signal):|mpi/\w+: )",
    r"slurmstepd: error: \*\*\* (STEP|JOB) (?!.*DUE TO)|In: PMI_Abort\(",
)
_OPEN_MPI = (
    r"Primary job +terminated normally|a non-zero exit code\. Per user-direction",
    r"\S*(mpirun|mpiexec|prte|prun)\S* (detected that one or more|noticed that|has exited due to)",
    r"(thus causing )?the job to be terminated\. The first process|Process name: \[|Exit code: +\d",
    r"node \S+ (exiting improperly|calling \"abort\")|MPI_ABORT was invoked|with errorcode \d",
    r"\"abort\"\. This may have caused other proc|terminated by signals sent by \S+ \(as reported",
    r"Proc: \[|Errorcode: |NOTE: invoking MPI_ABORT|You may or may not see output from other",
    r"exactly when Open MPI kills|\[\S+:\d+\] (\d+ more process|Set MCA parameter \"orte)",
    r"\[\S+:\d+\] (PMIX ERROR|\*{3} |Signal code:|Failing at|\[ *\d+\] )",
)
_HYDRA = (
    r"= +(BAD TERMINATION|(RANK \d+ )?PID \d+ RUNNING|EXIT CODE|KILLED BY|CLEANING|YOU CAN IGNORE)",
    r"YOUR APPLICATION TERMINATED WITH|This typically refers to a problem with your app",
    r"Please see the FAQ page|\[(proxy:[\d:]+|mpiexec)@\S+\] |(Abort\(.*)?application called",
    r"=+ backtrace|\d+ +\S+\(\S*\) *\[0x",
)
_EPITAPH = re.compile(rf"\s*(?:{'|'.join((*_SRUN, *_OPEN_MPI, *_HYDRA))})")
_HOW = re.compile(r"signal|exit (code|status|string)|tasks? \d", re.IGNORECASE)


def speaking(lines: Iterable[str]) -> list[str]:
    """The lines that may say why a launch failed: those that are no epitaph; without any, the
    epitaphs that tell how it ended. Rulers and blank lines say nothing."""
    worded = [line.strip() for line in lines if any(map(str.isalnum, line))]
    said = [line for line in worded if not _EPITAPH.match(line)]
    return said or [line for line in worded if _HOW.search(line)] or worded
