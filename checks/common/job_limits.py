# SPDX-License-Identifier: Apache-2.0
"""How long a launch and its job may take, within the longest job that the partition takes."""

from __future__ import annotations

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
