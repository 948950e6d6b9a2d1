# SPDX-License-Identifier: Apache-2.0
"""Slurm's commands, run as the user who submits launches, each within a time limit."""

import re
import socket
import subprocess
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from records.text.plain_text import one_line
from records.waiting import CONNECTION_S, SLURM_COMMAND_S, scaled


@dataclass(frozen=True)
class Answer:
    """Output of a command, and its status: 124 if it did not end in time, 127 if there is no
    such command."""

    status: int
    stdout: str
    stderr: str

    @property
    def said(self) -> str:
        """Its last words, for a message."""
        lines = [line for line in (self.stderr or self.stdout).splitlines() if line.strip()]
        return one_line(lines[-1])[:300] if lines else f"status {self.status}"


def run_here(argv: Sequence[str]) -> Answer:
    """Run a command in this process; gives how it ended."""
    limit_s = scaled(SLURM_COMMAND_S)
    try:
        ended = subprocess.run(argv, capture_output=True, timeout=limit_s, check=False)
    except subprocess.TimeoutExpired:
        return Answer(124, "", f"{argv[0]} did not answer within {limit_s:.0f} s")
    except (FileNotFoundError, PermissionError) as error:
        return Answer(127, "", f"{argv[0]}: {error.strerror}")
    out, err = (text.decode(errors="replace") for text in (ended.stdout, ended.stderr))
    return Answer(ended.returncode, out, err)


class Slurm:
    """The Slurm of one site, asked by commands that `run` runs."""

    def __init__(self, run: Callable[[Sequence[str]], Answer] = run_here) -> None:
        self._run = run
        self._settings = ""

    def ask(self, *argv: str) -> Answer:
        """Run a command; gives how it ended."""
        return self._run(argv)

    def output(self, *argv: str) -> str | None:
        """Output of a command; None where it fails."""
        answer = self.ask(*argv)
        return answer.stdout if answer.status == 0 else None

    def settings(self) -> str:
        """`scontrol show config`, asked for until Slurm answers; "" where it does not."""
        self._settings = self._settings or self.output("scontrol", "show", "config") or ""
        return self._settings

    def leaves_processes(self) -> bool:
        """True if a job's daemonised processes outlive it, as far as Slurm's settings tell.

        They do unless control groups hold them, or the epilog of a virtual cluster ends them.
        """
        tracked = setting(self.settings(), "ProctrackType") or ""
        ended = setting(self.settings(), r"Epilog(?:\[0\])?") or ""
        by_process = re.match(r"proctrack/(linuxproc|pgid)", tracked) is not None
        return by_process and not ended.endswith("/end-of-job")

    def cancel(self, *words: str) -> None:
        """`scancel` these jobs or steps."""
        if words:
            self.ask("scancel", *words)

    def steps(self, job: str) -> list[tuple[str, str]]:
        """Each step of a job that has begun and not ended, with its name; JOB.TBD has not begun,
        and cannot be cancelled."""
        words = "squeue", "--noheader", "--steps", f"--jobs={job}", "--format=%i %j"
        rows = (line.split() for line in self.ask(*words).stdout.splitlines())
        return [(row[0], row[1]) for row in rows if row[1:] and row[0].split(".")[-1].isdecimal()]

    def steps_of(self, launch: str) -> list[str]:
        """The steps that the launch in the step JOB.NUMBER has begun (in-allocation/srun) and that
        have not ended."""
        job, _, number = launch.partition(".")
        ours = f".ranks-of-{job}-{number}"
        return [step for step, name in self.steps(job) if name.endswith(ours)]

    def hostnames(self, listed: str) -> list[str]:
        """The nodes of a list in Slurm's notation; none where Slurm does not tell."""
        return (self.output("scontrol", "show", "hostnames", listed) or "").split()

    def node_states(self, whose: str) -> dict[str, str]:
        """The states of nodes as sinfo says them, `whose`: --partition=NAME or --nodes=LIST; empty
        where Slurm does not tell."""
        words = "sinfo", "--noheader", "--Node", whose, "--format=%N %T"
        return pairs(self.output(*words) or "")

    def usable_nodes(self, partition: str) -> set[str]:
        """The nodes of a partition to which Slurm gives jobs now or when others end; none where it
        does not tell. Those that are drained, reserved or in maintenance are left out."""
        states = self.node_states(f"--partition={partition}")
        return {name for name, state in states.items() if is_usable(state)}

    def dead_nodes(self, names: Collection[str]) -> str | None:
        """Names the nodes of a failed job that are gone, or None when all still answer.

        A node counts as gone when Slurm says so, or when its slurmd refuses a connection that
        another node of the same job takes: Slurm itself needs SlurmdTimeout to notice a power cut.
        """
        shown = [fields(self.ask("scontrol", "show", "node", "-o", name).stdout) for name in names]
        nodes = [one for one in shown if {"NodeName", "NodeAddr"} <= one.keys()]
        down = {n["NodeName"] for n in nodes if is_down(n.get("State", ""))}
        ports = {n["NodeName"]: (n["NodeAddr"], n.get("Port", "6818")) for n in nodes}
        silent = {name for name, port in ports.items() if not _answers(*port)}
        if len(silent) < len(nodes):
            down |= silent
        return f"node {', '.join(sorted(down))} died during the launch" if down else None


#: The Slurm of the site that this process runs on.
HERE = Slurm()


def _answers(address: str, port: str) -> bool:
    try:
        with socket.create_connection((address, int(port)), timeout=scaled(CONNECTION_S)):
            return True
    except OSError:
        return False


#: Seconds of a job in addition to its launch: nodes made ready, daemons booted and halted.
MARGIN_S = 120
#: Seconds of a job that stay for halting daemons, where the partition leaves no margin.
HALTING_S = 15

_TIME = re.compile(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?$")
#: States of nodes that are gone until somebody repairs them; `*`: its slurmd does not answer. A
#: node that saves power comes back by itself.
_DOWN = re.compile(
    r"(?<!power_)(?<!powering_)(?<!powered_)down|fail|error|unknown|not_responding|\*",
    re.IGNORECASE,
)
#: States of nodes that jobs get; what follows says that power is saved or a restart is planned.
_USABLE = re.compile(r"(?:idle|mixed|allocated|completing|planned)[~#!%@^+-]*")


def fields(description: str) -> dict[str, str]:
    """The KEY=value pairs of `scontrol show … -o`."""
    return dict(pair.split("=", 1) for pair in description.split() if "=" in pair)


def job_line(out: str, job_id: str) -> str:
    """The line of this job in what `scontrol show job -o` prints; "" where there is none.

    Asked for an array or a heterogeneous job, it prints a line for each task or component.
    """
    lines = out.splitlines()
    return next((line for line in lines if line.startswith(f"JobId={job_id} ")), "")


def setting(settings: str, name: str) -> str | None:
    """The value of a setting in what `scontrol show config` prints."""
    found = re.search(rf"^{name}[ \t]*=[ \t]*(.*\S)", settings, re.MULTILINE)
    return found[1] if found else None


def pairs(listed: str) -> dict[str, str]:
    """The first two words of each line that has two: node and state, job and state."""
    rows = (line.split() for line in listed.splitlines())
    return {row[0]: row[1] for row in rows if len(row) == 2}


def is_down(state: str) -> bool:
    """True if a node in this state, as sinfo says it, is gone; one that is drained is not."""
    return _DOWN.search(state) is not None


def is_usable(state: str) -> bool:
    """True if jobs get a node in this state, as sinfo says it, now or when others end."""
    return _USABLE.fullmatch(state) is not None


def seconds_of(text: str) -> int | None:
    """Seconds of D-HH:MM:SS, HH:MM:SS, MM:SS or minutes; None for no limit."""
    found = _TIME.match(text.strip())
    if not found:
        return None
    days, first, second, third = found.groups()
    if days is not None:
        hours, minutes, seconds = first, second or 0, third or 0
    elif third is not None:
        hours, minutes, seconds = first, second, third
    else:
        hours, minutes, seconds = 0, first, second or 0
    return int(days or 0) * 86400 + int(hours) * 3600 + int(minutes) * 60 + int(seconds)


def slurm_seconds(slurm_time: str) -> float | None:
    """Slurm's "2026-11-22T08:00:00", of its own time zone, in seconds since 1970."""
    try:
        return time.mktime(time.strptime(slurm_time, "%Y-%m-%dT%H:%M:%S"))
    except (ValueError, OverflowError):
        return None


def left_s(job: Mapping[str, str]) -> float | None:
    """Seconds until a job that runs reaches its time limit; None: it never does.

    By durations where Slurm tells them, as times in the hour that autumn repeats are not clear.
    """
    limit_s, ran_s = seconds_of(job.get("TimeLimit", "")), seconds_of(job.get("RunTime", ""))
    if limit_s is None or ran_s is None:
        end = slurm_seconds(job.get("EndTime", ""))
        return None if end is None else end - time.time()
    return limit_s - ran_s


def option_values(access: Iterable[str], name: str, letter: str) -> list[str]:
    """Values that options of sbatch give an option, in any notation; the last counts."""
    form = rf"(?:^|\s)(?:--{name}[=\s]\s*|-{letter}\s*)['\"]?([^\s'\"]+)"
    return re.findall(form, " ".join(access))


def limits_s(launch_limit_s: float, longest_job_s: float | None) -> tuple[float, int]:
    """Seconds after which the launch is ended, and those of its job.

    `longest_job_s`: of the partition; None: unlimited.
    """
    job_s = int(launch_limit_s) + MARGIN_S
    if longest_job_s is None or job_s <= longest_job_s:
        return launch_limit_s, job_s
    longest = max(1, int(longest_job_s))
    return min(launch_limit_s, max(1.0, float(longest - HALTING_S))), longest
