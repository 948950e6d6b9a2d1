# SPDX-License-Identifier: Apache-2.0
"""What commands print with --json besides verdicts: every key with its meaning."""

from __future__ import annotations

from typing import Annotated, Literal

from assay.run.status import RunStatus
from records.forms import Form, Part, key
from reports.verdicts.choice.forms import ReportForm


class ReasonPart(Part):
    """Launches that ended badly for one reason; the texts may differ in names and numbers."""

    status: Annotated[Literal["failed", "wrong", "lost"], key("How they ended.")]
    reason: Annotated[str, key("The most frequent text.")]
    launches: Annotated[int, key("How many launches.")]
    environments: Annotated[list[str], key("Environments in which they were.")]
    checks: Annotated[list[str], key("Checks that they were of.")]
    output: Annotated[
        str | None,
        key("What the first of them printed to standard error: a file below the run directory."),
    ]


class QueuePart(Part):
    """The current launch's job in Slurm."""

    state: Annotated[
        Literal["pending", "not-taken", "running"],
        key("In the queue, not taken by Slurm now, or on nodes."),
    ]
    launch: Annotated[int, key("The launch's number in its session; -1: a build.")]
    job_id: Annotated[str | None, key("Slurm's id of the job.")]
    reason: Annotated[str, key("Slurm's reason why it waits.")]
    since: Annotated[str, key("Since when (UTC).")]
    waited_s: Annotated[float, key("Seconds since the job was handed in.")]
    expected_start: Annotated[str | None, key("Slurm's own estimate (UTC).")]


class CurrentPart(Part):
    """What the driver of a run is at."""

    what: Annotated[str, key("What the job is for.")]
    queue: Annotated[QueuePart, key("Where the job is.")]


class StatusForm(Form, kw_only=True):
    """`assay status`: how far a run is. Counts are of launches, the latest attempt each."""

    run_id: Annotated[str, key("The run's id.")]
    run: Annotated[str, key("The run directory.")]
    campaign: Annotated[str, key("The campaign.")]
    site: Annotated[str, key("The site.")]
    state: Annotated[
        Literal["complete", "failed", "running", "stopped"],
        key("failed: some launches ended badly, and not on purpose (exit status 1)."),
    ]
    complete: Annotated[bool, key("Whether every planned launch has a final record.")]
    planned: Annotated[
        int, key("Launches that the plan asks for, as far as a sequential design has come.")
    ]
    done: Annotated[int, key("Launches that have a record.")]
    counts: Annotated[
        dict[Literal["ok", "failed", "wrong", "lost"], int],
        key("Launches by how they ended, zeros too."),
    ]
    on_purpose: Annotated[int, key("How many of the wrong ones are so on purpose.")]
    reasons: Annotated[list[ReasonPart], key("Bad launches by why, the most frequent first.")]
    failures: Annotated[
        list[str], key("Every bad launch in a line, attempts that were replaced too.")
    ]
    skipped_cases: Annotated[int, key("Cases that do not fit the site.")]
    left_s: Annotated[
        float, key("Seconds left, by the plan's times and those of the launches so far.")
    ]
    told: Annotated[list[str], key("What the plan left out of its campaign, and why.")]
    judged: Annotated[list[str], key("What a sequential design has come to.")]
    open: Annotated[list[str], key("What a sequential design has still to answer.")]
    ended: Annotated[bool, key("Whether a sequential design has ended; true for any other.")]
    driven: Annotated[bool | None, key("Whether a driver is at the run; null: not looked for.")]
    current: Annotated[CurrentPart | None, key("What the driver is at.")]


class RunForm(Form, kw_only=True):
    """`assay run`: how the run ended, and what it says."""

    status: Annotated[StatusForm, key("How far the run is.")]
    report: Annotated[ReportForm | None, key("The answer and the report; null: none was written.")]
    exit_status: Annotated[
        int, key("0: every launch ended well; 1: some did not, or some are missing.")
    ]


def status_form(status: RunStatus) -> StatusForm:
    """How far a run is."""
    running = "running" if status.driven else "stopped"
    state = "failed" if status.failed else "complete" if status.complete else running
    counts = dict.fromkeys(("ok", "failed", "wrong", "lost"), 0) | status.counts
    return StatusForm.filled(status, run=status.path, state=state, counts=counts)
