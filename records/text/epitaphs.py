# SPDX-License-Identifier: Apache-2.0
"""Epitaphs: lines in which launchers tell that a rank ended badly, which the rank itself may have
said why. Those of srun, Open MPI 4 and 5, hydra, LAM and PVM's console."""

from __future__ import annotations

import re
from collections.abc import Iterable

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
_LAM = (
    r"One of the processes started|code\.  This typically|This typically indicates|The program did",
    r"(Hopefully, this|If your process did not|0\" or \"exit\(0|invoking MPI_FINALIZE)",
    r"PID \d+ failed on node|It seems that \[at least\]|mpirun (did not invoke|can \*only)",
    r"more than one process did not|notified of the first|invoke MPI_INIT and|to run non-MPI prog",
    r"MPI programs must invoke|such, |Rank \(\d+, MPI_COMM_WORLD\): |lamboot did NOT complete",
    r"\S+ encountered some error \(see above\)|and will now attempt to kill|boot \(if any\)",
    r"Please wait for LAM|have LAM daemons still|LAM \d\S+/MPI 2 C\+\+",
)
_PVM = (r"\[(\d+:)?t[0-9a-f]+\] (EOF|BEGIN|EXIT)\b|pvmd already",)
_EPITAPH = re.compile(rf"\s*(?:{'|'.join((*_SRUN, *_OPEN_MPI, *_HYDRA, *_LAM, *_PVM))})")
_HOW = re.compile(r"signal|exit (code|status|string)|tasks? \d", re.IGNORECASE)


def speaking(lines: Iterable[str]) -> list[str]:
    """The lines that may say why a launch failed: those that are no epitaph; without any, the
    epitaphs that tell how it ended. Rulers and blank lines say nothing."""
    worded = [line.strip() for line in lines if any(map(str.isalnum, line))]
    said = [line for line in worded if not _EPITAPH.match(line)]
    return said or [line for line in worded if _HOW.search(line)] or worded
