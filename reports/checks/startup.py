# SPDX-License-Identifier: Apache-2.0
"""Times of a start against the number of ranks; LAM's daemons apart."""

from reports.checks.common.curves import over
from reports.show.section import Section

_METRICS = (
    *("whole_start", "first_instruction", "init", "all_heard", "launch"),
    *("daemon_boot", "daemon_halt"),
)

SECTION = Section(
    pictures=(
        over(
            "startup",
            _METRICS,
            "ranks",
            "ranks",
            anchor="picture-startup",
            title="Start-up against ranks",
            caption="Times from the start of the launcher (MPI_Init: its own time); daemon boot and"
            " halt are part of the whole start, not of the launch.",
        ),
    )
)
