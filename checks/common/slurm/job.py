# SPDX-License-Identifier: Apache-2.0
"""Job of Slurm: handed in, looked at while it waits and runs, and what became of it; allocation
granted once for many launches.

Launches, allocations and probes share it; how long each bears a controller that does not answer,
and how often it looks, is theirs to say.
"""

import os
import random
import re
import socket
import sys
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from checks.common.session.outcome import Moment, iso_time
from checks.common.slurm import commands
from checks.common.sources import LAUNCH_SCRIPTS
from records.run.queue_state import QueueState, State
from records.waiting import CONTROLLER_S, JOB_CLEARING_S, SILENCE_S, scaled

#: Environment variables with the run's id, and with the path of the allocation as JSON.
RUN_ID, ALLOCATION = "ASSAY_RUN_ID", "ASSAY_ALLOCATION"
#: Seconds that Slurm needs at the end of an allocation; no launch is started within them.
ENDING_S = 30.0
#: Sets of nodes of which the one that shares the fewest cores is taken.
_DRAWS = 20


class Allocation(BaseModel):
    """Nodes granted to one job of Slurm, until `ends_at` by time.monotonic() of the host that asked
    for it.

    Each launch runs in a step of its own on some of the nodes. The step's first process runs on the
    first of them, as the script of a job of sbatch would, and may use all its cores.
    """

    model_config = ConfigDict(strict=True, frozen=True)

    job_id: Annotated[str, Field(pattern=r"^[0-9]+$")]
    nodes: list[str] = Field(min_length=1)
    ends_at: float
    #: From it and a launch's case, block and attempt its nodes are drawn.
    seed: int = 0
    #: Launches that may run at a time.
    at_once: int = Field(1, ge=1)
    #: The cores of nodes that share one machine, by node.
    cores: dict[str, list[int]] = {}
    #: Words that start a step where Slurm does not: launch/keeper.py.
    starter: list[str] = []

    def step(
        self,
        launch: str,
        nodes: Sequence[str],
        ranks: int,
        ranks_per_node: int,
        *,
        files: tuple[str, str] = ("-", "-"),
        options: Sequence[str] = (),
    ) -> list[str]:
        """Words that precede a command to run it in a step; `launch` is the folder launch/ there.

        `files` get the command's stdout and stderr; without them they are the step's own.
        `options` are srun's.
        """
        step = ["srun", *options, f"--jobid={self.job_id}", "--overlap", "--mpi=none"]
        step += ["--cpu-bind=none", "--nodes=1", "--ntasks=1", f"--nodelist={nodes[0]}"]
        starter = self.starter or [*step, f"{launch}/allocated.sh"]
        return [*starter, ",".join(nodes), str(ranks), str(ranks_per_node), *files]

    def drawn(self, count: int, free: Collection[str], launch: str) -> list[str] | None:
        """`count` of the `free` nodes, at random by the seed and what names the launch, in the
        order of the allocation, as Slurm gives nodes to jobs. None: the free ones do not suffice.

        Nodes that share cores are drawn together only where it cannot be helped.
        """
        if count > len(free):
            return None
        dice = random.Random(f"{self.seed}.{launch}")  # noqa: S311  not for secrets
        draws = [dice.sample(sorted(free), count) for _ in range(_DRAWS if self.cores else 1)]
        cores = [[core for node in draw for core in self.cores.get(node, ())] for draw in draws]
        #: How often a core is that of a further node, by draw.
        shared = [len(each) - len(set(each)) for each in cores]
        chosen = {*draws[shared.index(min(shared))]}
        return [node for node in self.nodes if node in chosen]


def this_machine() -> Allocation:
    """This machine as an allocation that does not end."""
    return Allocation(
        job_id=str(os.getpid()),
        nodes=[socket.gethostname()],
        ends_at=sys.float_info.max,
        at_once=1,
        starter=[sys.executable, "-I", "-S", str(LAUNCH_SCRIPTS / "keeper.py")],
    )


def told_allocation() -> Allocation | None:
    """The allocation in the file that the environment names; None without one."""
    file = os.environ.get(ALLOCATION)
    return None if file is None else Allocation.model_validate_json(Path(file).read_bytes())


#: Seconds between two looks at a job that waits or runs.
QUIET_POLL_S = 2.0
#: Seconds until a job that Slurm did not take is handed in again: at first, and at most.
FIRST_RETRY_S, MOST_RETRY_S = 5.0, 60.0
#: Seconds between two looks at a job whose nodes Slurm still clears.
_CLEARING_LOOK_S = 0.5

#: States before the job's script has begun, and all of a job that goes on.
BEFORE = frozenset({"PENDING", "CONFIGURING", "REQUEUED"})
OPEN = BEFORE | {"RUNNING", "SUSPENDED", "STAGE_OUT", "RESIZING", "STOPPED", "SIGNALING"}
#: The state of a job that Slurm knows no more: it ended more than MinJobAge seconds ago.
FORGOTTEN = "FORGOTTEN"
#: What became of a job, by Slurm's state of it.
_ENDS = {
    "CANCELLED": "was cancelled",
    "COMPLETED": "was given back before its launches had ended",
    "COMPLETING": "ended; Slurm has not said why, as its nodes are not clear yet",
    "DEADLINE": "reached its deadline",
    FORGOTTEN: "ended; Slurm has forgotten it",
    "NODE_FAIL": "lost a node",
    "OUT_OF_MEMORY": "ran out of memory",
    "PREEMPTED": "was preempted by another job",
    "TIMEOUT": "reached its time limit",
}

#: `waits`: the same job may be taken later. `never`: it will not be taken as it is. `unreached`:
#: Slurm could not be asked. `unclear`: a limit of accounting, Slurm does not say which. `nodes`: no
#: nodes fit now, and those that are out of service do not count.
Refusal = Literal["waits", "never", "unreached", "unclear", "nodes"]

#: Reasons of a job that never runs as it is, in the words of Slurm 20.11 to 26.05: it is above
#: a limit, or what it names is not there, or a budget of processor time is used up. What is not
#: known here is waited for: reasons come with new versions.
_NEVER = re.compile(
    r"Partition(Node|Time)Limit|PartitionConfig|MaxMemPerLimit|(Bad)?Constraints$"
    r"|Invalid(Account|QOS)|(QOS|Account)NotAllowed|Reservation(Deleted|Invalid)"
    r"|DependencyNeverSatisfied|DeadLine|(Association|QOS)TimeLimit"
    r"|\w*PerJob(Limit)?$|\w*PerNode$|QOSMin"
    r"|(Assoc|QOS)Grp\w*(?<!Run)Minutes(Limit)?$|(Assoc|QOS)GrpWall"
)

#: Errors of sbatch (slurm_errno.c); the order matters.
_REFUSED: tuple[tuple[Refusal, str], ...] = (
    ("waits", r"Submit\w*(Limit|PerAccount|PerUser)"),
    (
        "waits",
        r"(Slurm )?(job queue full|temporarily unable)|temporarily disabled|try again|MaxJobCount",
    ),
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

#: Is given where a job is, whenever that was found out.
Watch = Callable[[QueueState], None]


class ControllerSilentError(Exception):
    """Slurm's controller does not answer; the message says for how long."""


@dataclass(frozen=True)
class RefusedJob:
    """Why Slurm did not take a job: what that means, and its words."""

    verdict: Refusal
    words: str


class SlurmJob:
    """A job of `slurm`; `launch` is the launch's place in the list of launches, for messages."""

    def __init__(
        self,
        slurm: commands.Slurm = commands.HERE,
        job_id: str = "",
        *,
        launch: int = -1,
        watch: Watch = lambda _: None,
    ) -> None:
        self._slurm, self.job_id = slurm, job_id
        self._launch, self._watch = launch, watch
        #: What Slurm said of it last, and its last words where it did not answer.
        self.described: dict[str, str] = {}
        self.silence = ""
        self.handed_in = Moment.now()
        #: By time.monotonic(): when Slurm was asked, when it answered, when `watch` was called.
        self.asked_at = self.reached_at = self.told_at = self.handed_in.steady
        self._silent_at: float | None = None

    @property
    def state(self) -> str:
        """Slurm's state of it."""
        return self.described.get("JobState", "PENDING")

    @property
    def reason(self) -> str:
        """Why it is in this state, in Slurm's words; "" where Slurm gives no reason."""
        reason = self.described.get("Reason", "None")
        return "" if reason == "None" else reason.replace("_", " ")

    @property
    def silent_s(self) -> float:
        """For how many seconds Slurm had not answered when it was asked last."""
        return self.asked_at - self.reached_at

    def submit(
        self,
        sbatch: Callable[[], commands.Answer],
        passing: Collection[Refusal],
        pause: Callable[[float], None],
    ) -> RefusedJob | None:
        """Hand it in by `sbatch`, again and again while Slurm refuses it with a verdict `passing`;
        None: Slurm has taken it.

        A controller that is not reached is borne for SILENCE_S seconds.
        """
        pause_s, answered = FIRST_RETRY_S, time.monotonic()
        while True:
            begun, answer = Moment.now(), sbatch()  # the job may begin before sbatch returns
            found = re.match(r"\s*(\d+)", answer.stdout)
            if answer.status == 0 and found:
                self.job_id, self.handed_in = found[1], begun
                self.asked_at = self.reached_at = self.told_at = self.handed_in.steady
                return None
            refused = RefusedJob(refusal_verdict(answer.stderr), last_words(answer.stderr))
            answered = answered if refused.verdict == "unreached" else time.monotonic()
            if refused.verdict not in passing or time.monotonic() - answered > SILENCE_S:
                return refused
            self.tell("not-taken", refused.words)
            pause(pause_s)
            pause_s = min(2 * pause_s, MOST_RETRY_S)

    def look(self) -> bool:
        """Ask Slurm of the job; False where its controller does not answer."""
        answer = self._slurm.ask("scontrol", "show", "job", "-o", self.job_id)
        self.asked_at = time.monotonic()
        found = commands.fields(commands.job_line(answer.stdout, self.job_id))
        if answer.status == 0 and "JobState" in found:
            self.described = found
        elif "invalid job id" in answer.stderr.lower():
            self.described = {"JobState": FORGOTTEN, "Reason": "forgotten by Slurm"}
        else:
            self.silence = last_words(answer.stderr)
            return False
        self.reached_at = self.asked_at
        return True

    def never_runs(self) -> str | None:
        """Why the pending job will not run however long one waits; None: it may."""
        return self.reason if waits_in_vain(self.described.get("Reason", "None")) else None

    def tell(self, state: State, reason: str = "") -> None:
        """Give `watch` where the job is."""
        self.told_at = time.monotonic()
        start = commands.slurm_seconds(self.described.get("StartTime", ""))
        since = start if state == "running" else None
        self._watch(
            QueueState(
                state=state,
                launch=self._launch,
                job_id=self.job_id or None,
                reason="".join(c if c.isprintable() else " " for c in reason)[:300],
                since=str(iso_time(self.handed_in.wall if since is None else since)),
                waited_s=self.handed_in.ago_s(),
                expected_start=iso_time(start if state == "pending" else None),
            )
        )

    def cancel(self) -> None:
        """End it."""
        if self.job_id:
            self._slurm.cancel(self.job_id)

    def end_reason(self) -> str | None:
        """End of the job in words; None: it runs, and goes on. Raises ControllerSilentError.

        Slurm says it once the job's nodes are clear, or later where one of them does not answer.
        """
        end = time.monotonic() + scaled(JOB_CLEARING_S)
        self._look_patiently()
        while self.state == "COMPLETING" and time.monotonic() < end:
            time.sleep(_CLEARING_LOOK_S)
            self._look_patiently()
        if self.state == "RUNNING":
            # Preempted, it runs on for a time of grace, but its steps get a signal at once.
            if self.described.get("PreemptTime", "None") not in ("None", "Unknown"):
                return "is being preempted by another job"
            rest_s = commands.left_s(self.described)
            ending = rest_s is not None and rest_s < ENDING_S
            return "is at the end of its time limit" if ending else None
        why = f" ({self.reason})" if self.reason else ""
        return _ENDS.get(self.state, f"ended {self.state}{why}")

    def _look_patiently(self) -> None:
        """Look again while the controller does not answer; where it has been silent just now, once
        is enough."""
        begun = time.monotonic()
        lately = self._silent_at is not None and begun - self._silent_at < CONTROLLER_S
        end = begun if lately else begun + CONTROLLER_S
        while not self.look():
            if time.monotonic() >= end:
                self._silent_at = time.monotonic()
                raise ControllerSilentError(
                    f"Slurm's controller did not answer for {CONTROLLER_S:.0f} s: {self.silence}"
                )
            time.sleep(QUIET_POLL_S)
        self._silent_at = None


def waits_in_vain(reason: str) -> bool:
    """True if a job that is pending for this reason does not run however long one waits."""
    return _NEVER.match(reason.partition(",")[0].strip(" ()")) is not None


def refusal_verdict(said: str) -> Refusal:
    """Meaning of these words of `sbatch` on its standard error."""
    limit = _LIMIT.search(said)
    if limit and not re.search(_REFUSED[0][1], limit[1]):
        return "never" if waits_in_vain(limit[1]) else "waits"
    return next(
        (verdict for verdict, form in _REFUSED if re.search(form, said, re.IGNORECASE)), "never"
    )


def last_words(said: str) -> str:
    """Words of sbatch on its failure in one line: a limit's name, and the error."""
    lines = [line.strip() for line in said.strip().splitlines() if line.strip()]
    limit = _LIMIT.search(said)
    last = lines[-1] if lines else "no reason given"
    return f"{last} [{limit[1]}]" if limit and limit[1] not in last else last
