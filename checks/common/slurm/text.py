# SPDX-License-Identifier: Apache-2.0
"""Texts that Slurm takes and prints, as data: jobs, nodes, steps, times, limits, options."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping

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
