# SPDX-License-Identifier: Apache-2.0
"""What Slurm takes and prints, as data: durations, limits, options."""

from __future__ import annotations

import re
from collections.abc import Iterable

_TIME = re.compile(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?$")


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


def option_values(access: Iterable[str], name: str, letter: str) -> list[str]:
    """What options of sbatch give an option, in any notation; the last one counts."""
    form = rf"(?:^|\s)(?:--{name}[=\s]\s*|-{letter}\s*)['\"]?([^\s'\"]+)"
    return re.findall(form, " ".join(access))


#: Seconds of a job beside its launch: nodes made ready, daemons booted and halted.
MARGIN_S = 120
#: Seconds of a job that stay for halting daemons, where the partition leaves no margin.
HALTING_S = 15


def limits_s(launch_limit_s: float, longest_job_s: float | None) -> tuple[float, int]:
    """Seconds after which the launch is ended, and those of its job.

    `longest_job_s`: of the partition; None: unlimited.
    """
    job_s = int(launch_limit_s) + MARGIN_S
    if longest_job_s is None or job_s <= longest_job_s:
        return launch_limit_s, job_s
    longest = max(1, int(longest_job_s))
    return min(launch_limit_s, max(1.0, float(longest - HALTING_S))), longest
