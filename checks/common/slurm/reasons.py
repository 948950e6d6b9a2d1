# SPDX-License-Identifier: Apache-2.0
"""Meaning of Slurm's words about a job that does not run: wait, stop, or ask for more.

`squeue` and `scontrol` give a pending job's reason, `sbatch` the error of one that was not taken.
The reasons are those of Slurm 20.11 to 24.11 (job_reason_string), the errors those of its
slurm_errno.c. What is not known here is waited for: reasons come with new versions.
"""

from __future__ import annotations

import re
from typing import Literal

#: `waits`: it may pass by itself. `never`: this job as it is will not run. `mine`, `shared`: a
#: limit on what the user's, or an account's or a QOS's, running jobs have together.
Pending = Literal["waits", "never", "mine", "shared"]

#: `waits`: the same job may be taken later. `never`: it will not be taken as it is. `unreached`:
#: Slurm could not be asked. `unclear`: a limit of accounting, Slurm does not say which. `nodes`: no
#: nodes fit now, and those that are out of service do not count.
Refusal = Literal["waits", "never", "unreached", "unclear", "nodes"]

#: The order matters: what an earlier line matches is no business of a later one.
_PENDING: tuple[tuple[Pending, str], ...] = (
    # The job alone is above a limit; or what it names is not there.
    ("never", r"Partition(Node|Time)Limit|PartitionConfig|MaxMemPerLimit|(Bad)?Constraints$"),
    ("never", r"Invalid(Account|QOS)|(QOS|Account)NotAllowed|Reservation(Deleted|Invalid)"),
    ("never", r"DependencyNeverSatisfied|DeadLine|(Association|QOS)TimeLimit"),
    ("never", r"\w*PerJob(Limit)?$|\w*PerNode$|QOSMin"),
    # A budget of processor time that is used up.
    ("never", r"(Assoc|QOS)Grp\w*(?<!Run)Minutes(Limit)?$|(Assoc|QOS)GrpWall"),
    ("mine", r"\w*PerUser(Limit)?$|AssocMaxJobsLimit|(Association|QOS)JobLimit"),
    ("shared", r"(Assoc|QOS)Grp|Max\w+PerAccount$|(Association|QOS)ResourceLimit|AccountingPolicy"),
)

_REFUSED: tuple[tuple[Refusal, str], ...] = (
    ("waits", r"Submit\w*(Limit|PerAccount|PerUser)"),
    ("waits", r"(Slurm )?(job queue full|temporarily unable)|temporarily disabled|try again"),
    ("waits", r"Resource temporarily unavailable|submissions disabled|presently disabled"),
    ("waits", r"partition not available|Partition in down state"),
    (
        "waits",
        r"nodes are busy|node not available|reservation not usable now|reservation is in use",
    ),
    ("waits", r"maintenance reservation|Switch resources|PrologSlurmctld is still|burst buffer$"),
    ("waits", r"QOS usage threshold|can not start immediately|ports are in use"),
    ("unreached", r"unable to contact|connect|communicat|timed? ?out|munge|authentic|credential"),
    ("unreached", r"zero bytes|system call|controller|no space|writing script|did not answer"),
    ("unreached", r"socket|(sending|receiving) message|message length"),
    ("nodes", r"Requested (node|partition) configuration"),
    ("unclear", r"violates accounting/QOS policy"),
)
#: The word that sbatch prints in a line of its own, before the error, where a limit is met.
_LIMIT = re.compile(r"^sbatch: error: (\w*(?:Limit|Per[A-Z]\w+|Minutes|Assoc\w+|QOS\w+))\s*$", re.M)

#: What the commonest reasons mean, for readers.
_MEANING = {
    "Priority": "other jobs come first",
    "Resources": "its nodes are in use",
    "JobHeldUser": "held by a user; scontrol release lets it go",
    "JobHeldAdmin": "held by an administrator",
    "BeginTime": "its begin time has not come",
    "Reservation": "its reservation has not begun",
    "ReqNodeNotAvail": "nodes that it needs are reserved, drained or down",
    "PartitionDown": "the partition takes no jobs now",
    "PartitionInactive": "the partition takes no jobs now",
    "PartitionTimeLimit": "its time limit is above the partition's MaxTime",
    "PartitionNodeLimit": "it asks for more nodes than the partition allows or has",
}


def pending_verdict(reason: str) -> Pending:
    """Verdict on waiting for a job that is pending for this reason."""
    word = _word(reason)
    return next((verdict for verdict, form in _PENDING if re.match(form, word)), "waits")


def _word(reason: str) -> str:
    """The reason without what follows it: "ReqNodeNotAvail, UnavailableNodes:n4"."""
    return reason.partition(",")[0].strip(" ()")


def refusal_verdict(said: str) -> Refusal:
    """Meaning of these words of `sbatch` on its standard error."""
    limit = _LIMIT.search(said)
    if limit and not re.search(_REFUSED[0][1], limit[1]):
        return "never" if pending_verdict(limit[1]) == "never" else "waits"
    return next(
        (verdict for verdict, form in _REFUSED if re.search(form, said, re.IGNORECASE)), "never"
    )


def with_meaning(reason: str) -> str:
    """The reason as Slurm has it, and where it is a common one, what it means."""
    meaning = _MEANING.get(_word(reason))
    return f"{reason}: {meaning}" if meaning else reason


def last_words(said: str) -> str:
    """Words of sbatch on its failure in one line: a limit's name, and the error."""
    lines = [line.strip() for line in said.strip().splitlines() if line.strip()]
    limit = _LIMIT.search(said)
    last = lines[-1] if lines else "no reason given"
    return f"{last} [{limit[1]}]" if limit and limit[1] not in last else last
