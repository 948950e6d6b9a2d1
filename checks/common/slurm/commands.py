# SPDX-License-Identifier: Apache-2.0
"""What Slurm's commands answer of jobs, nodes and settings; each has a time limit."""

from __future__ import annotations

import re
import socket
import subprocess
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import cache

from checks.common.slurm.reasons import Pending
from checks.common.slurm.text import seconds_of

#: Seconds that a Slurm command may take.
COMMAND_LIMIT_S = 15.0
#: srun's words where a job has had as many steps as it may have (MaxStepCount).
NO_MORE_STEPS = "Step limit reached"
#: Seconds in which no other job runs, after which a limit on all jobs together is one on this job.
#: A reason may be that old: Slurm renews it when it plans.
ALONE_S = 120.0
#: States of nodes that are gone until somebody mends them; `*`: its slurmd does not answer. A node
#: that saves power comes back by itself.
_DOWN = re.compile(
    r"(?<!power_)(?<!powering_)(?<!powered_)down|fail|error|unknown|not_responding|\*",
    re.IGNORECASE,
)
#: States of nodes that jobs get; what follows says that power is saved or a restart is planned.
_USABLE = re.compile(r"(?:idle|mixed|allocated|completing|planned)[~#!%@^+-]*")


def said(command: list[str]) -> subprocess.CompletedProcess[str]:
    """What a command ended with; status 124 where it did not answer in time."""
    try:
        return subprocess.run(
            command, capture_output=True, text=True, timeout=COMMAND_LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired:
        told = f"{command[0]} did not answer within {COMMAND_LIMIT_S:.0f} s"
        return subprocess.CompletedProcess(command, 124, "", told)


def described(kind: str, name: str) -> subprocess.CompletedProcess[str]:
    """`scontrol show KIND NAME` in one line."""
    return said(["scontrol", "show", kind, "-o", name])


def fields(description: str) -> dict[str, str]:
    """The KEY=value pairs of `scontrol show … -o`."""
    return dict(pair.split("=", 1) for pair in description.split() if "=" in pair)


def job_line(out: str, job_id: str) -> str:
    """The line of this job in what `scontrol show job -o` prints; "" where there is none.

    Asked for an array or a heterogeneous job, it prints a line for each task or component.
    """
    lines = out.splitlines()
    return next((line for line in lines if line.startswith(f"JobId={job_id} ")), "")


def slurm_seconds(slurm_time: str) -> float | None:
    """Slurm's "2026-11-22T08:00:00", of its own time zone, in seconds since 1970."""
    try:
        return time.mktime(time.strptime(slurm_time, "%Y-%m-%dT%H:%M:%S"))
    except (ValueError, OverflowError):
        return None


def left_s(told: Mapping[str, str]) -> float | None:
    """Seconds until a job that runs reaches its time limit; None: it never does.

    By durations where Slurm tells them, as times in the hour that autumn repeats are not clear.
    """
    limit_s, ran_s = seconds_of(told.get("TimeLimit", "")), seconds_of(told.get("RunTime", ""))
    if limit_s is None or ran_s is None:
        end = slurm_seconds(told.get("EndTime", ""))
        return None if end is None else end - time.time()
    return limit_s - ran_s


def cancel(*words: str) -> None:
    """`scancel` these jobs."""
    with suppress(subprocess.TimeoutExpired):
        subprocess.run(
            ["scancel", *words], capture_output=True, timeout=COMMAND_LIMIT_S, check=False
        )


def steps_of(launch: str) -> list[str]:
    """The steps that the launch in the step JOB.NUMBER has begun (in-allocation/srun) and that
    have not ended."""
    job, _, number = launch.partition(".")
    listed = said(steps_asked(job)).stdout
    return [one for one, name in begun(listed) if name.endswith(f".ranks-of-{job}-{number}")]


def steps_asked(job: str) -> list[str]:
    """What asks Slurm for the steps of a job, as `begun` reads them."""
    return ["squeue", "--noheader", "--steps", f"--jobs={job}", "--format=%i %j"]


def begun(listed: str) -> list[tuple[str, str]]:
    """Each step that has begun, with its name; JOB.TBD has not, and cannot be cancelled."""
    rows = (line.split() for line in listed.splitlines())
    return [(row[0], row[1]) for row in rows if row[1:] and row[0].split(".")[-1].isdecimal()]


@cache
def _answered_settings() -> str:
    """Slurm's settings. Raises CalledProcessError where it does not tell them now."""
    answer = said(["scontrol", "show", "config"])
    answer.check_returncode()
    return answer.stdout


def _settings() -> str:
    """Slurm's settings, asked for until it has told them; "" where it does not."""
    try:
        return _answered_settings()
    except subprocess.CalledProcessError:
        return ""


def leaves_processes() -> bool:
    """Whether a job's daemonised processes outlive it, as far as Slurm's settings tell.

    They do unless control groups hold them, or the epilog of a virtual cluster ends them.
    """
    settings = _settings()
    tracked = re.search(r"^ProctrackType\s*=\s*proctrack/(linuxproc|pgid)", settings, re.MULTILINE)
    ended = re.search(r"^Epilog(\[0\])?\s*=.*/end-of-job$", settings, re.MULTILINE)
    return tracked is not None and ended is None


def most_steps() -> int | None:
    """How many steps Slurm gives a job (MaxStepCount); None where it does not say."""
    found = re.search(r"^MaxStepCount\s*=\s*(\d+)", _settings(), re.MULTILINE)
    return int(found[1]) if found else None


def output(command: list[str]) -> str | None:
    """What a command prints; None where it fails."""
    answer = said(command)
    return answer.stdout if answer.returncode == 0 else None


class Alone:
    """Since when no other job runs. A limit on all jobs together is then one on this job alone.

    `output` runs Slurm's commands.
    """

    def __init__(self, output: Callable[[list[str]], str | None] = output) -> None:
        self._output = output
        self._since: float | None = None

    def long_enough(self, verdict: Pending) -> bool:
        """Asked again and again: whether a job pending with this verdict waits for nobody."""
        if verdict not in ("mine", "shared") or not self._nothing_runs(mine=verdict == "mine"):
            self._since = None
            return False
        self._since = self._since or time.monotonic()
        return time.monotonic() - self._since > ALONE_S

    def _nothing_runs(self, *, mine: bool) -> bool:
        """Whether no job runs, of mine or of anybody; False where others' jobs are hidden."""
        settings = self._output(["scontrol", "show", "config"]) or ""
        if not mine and re.search(r"^PrivateData\s*=.*\bjobs\b", settings, re.MULTILINE):
            return False
        whose = ["--me"] if mine else []
        states = "--states=R,S,CF,CG,SO"
        running = self._output(["squeue", "--noheader", *whose, states, "--format=%i"])
        return running is not None and not running.strip()


def down_nodes(asked: str) -> list[str]:
    """Those of the nodes, as Slurm lists names, that are down; none where Slurm does not tell."""
    answer = said(["sinfo", "--noheader", "--Node", f"--nodes={asked}", "--format=%N %T"])
    states = (line.split() for line in answer.stdout.splitlines())
    return sorted({line[0] for line in states if len(line) == 2 and is_down(line[1])})


def is_down(state: str) -> bool:
    """Whether a node in this state, as sinfo says it, is gone; one that is drained is not."""
    return _DOWN.search(state) is not None


def up_nodes(partition: str) -> set[str] | None:
    """The nodes of a partition that are not down; None where Slurm does not tell."""
    states = _node_states(partition)
    return {name for name, state in states.items() if not is_down(state)} if states else None


def usable_nodes(partition: str) -> set[str]:
    """The nodes of a partition to which Slurm gives jobs now or when others end; none where it does
    not tell. Those that are drained, reserved or in maintenance are left out."""
    return {name for name, state in _node_states(partition).items() if is_usable(state)}


def _node_states(partition: str) -> dict[str, str]:
    """The states of the nodes of a partition; empty where Slurm does not tell."""
    told = output(["sinfo", "--noheader", "--Node", f"--partition={partition}", "--format=%N %T"])
    rows = (line.split() for line in (told or "").splitlines())
    return {row[0]: row[1] for row in rows if len(row) == 2}


def is_usable(state: str) -> bool:
    """Whether jobs get a node in this state, as sinfo says it, now or when others end."""
    return _USABLE.fullmatch(state) is not None


def dead_nodes(names: Collection[str]) -> str | None:
    """Names the nodes of a failed job that are gone, or None when all still answer.

    A node counts as gone when Slurm says so, or when its slurmd refuses a connection that another
    node of the same job takes: Slurm itself needs SlurmdTimeout to notice a power cut.
    """
    found = [fields(described("node", name).stdout) for name in names]
    nodes = [one for one in found if {"NodeName", "NodeAddr"} <= one.keys()]
    down = {n["NodeName"] for n in nodes if is_down(n.get("State", ""))}
    silent = {n["NodeName"] for n in nodes if not _answers(n["NodeAddr"], n.get("Port", "6818"))}
    if len(silent) < len(nodes):
        down |= silent
    return f"node {', '.join(sorted(down))} died during the launch" if down else None


def _answers(address: str, port: str) -> bool:
    try:
        with socket.create_connection((address, int(port)), timeout=1):
            return True
    except OSError:
        return False
