# SPDX-License-Identifier: Apache-2.0
"""What commands print with --json besides verdicts: every key with its meaning."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from assay.run.status import RunStatus
from records.forms import Form, Part, key
from reports.answer.forms import ReportForm


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
    left_s: Annotated[float, key("Seconds left by the plan's estimates.")]
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


class RawFilePart(Part):
    """A raw file of a launch."""

    kind: Annotated[Literal["script", "stdout", "stderr"], key("What it is.")]
    path: Annotated[str, key("Its path below the run directory; raw/b1.zip/NAME is in an archive.")]
    sha256: Annotated[str, key("Its SHA-256, as its record has it; it was proven.")]
    text: Annotated[str, key("What it holds; a mark replaces what is no UTF-8.")]


class RawForm(Form, kw_only=True):
    """`assay raw`: the raw output of one launch."""

    run_id: Annotated[str, key("The run's id.")]
    case_id: Annotated[str, key("The case.")]
    block: Annotated[int, key("The block.")]
    attempt: Annotated[int, key("The attempt.")]
    status: Annotated[Literal["ok", "failed", "wrong", "lost", "skipped"], key("How it ended.")]
    files: Annotated[list[RawFilePart], key("Its files.")]


class ClaimPart(Part, kw_only=True):
    """A claim of a study, held against the run."""

    claim: Annotated[str, key("What the study says.")]
    verdict: Annotated[
        str,
        key(
            "holds, does not hold, not resolved, cannot be tested here, differs between libraries."
        ),
    ]
    because: Annotated[
        str, key("Value, interval and n of each environment, or why it cannot be tested.")
    ] = ""


class PaperForm(Form, kw_only=True):
    """`assay paper`: a study compared with a run."""

    study: Annotated[str, key("The study.")]
    run: Annotated[str, key("The run directory.")]
    answer: Annotated[str, key("The first sentence.")]
    claims: Annotated[list[ClaimPart], key("Its claims.")]
    files: Annotated[list[str], key("The files written.")]


class RequirementPart(Part):
    """One thing that is needed."""

    what: Annotated[str, key("What it is.")]
    found: Annotated[bool, key("Whether it is there.")]
    seen: Annotated[str, key("What was seen of it.")]
    remedy: Annotated[str, key("The command that fixes it.")]
    needed: Annotated[bool, key("False: only some use needs it, and its absence fails nothing.")]


class DoctorForm(Form, kw_only=True):
    """`assay doctor`: requirements, found or missing."""

    findings: Annotated[list[RequirementPart], key("Every requirement.")]


class SiteChangePart(Part):
    """One thing that differs from the last proof of a site."""

    what: Annotated[str, key("What it is.")]
    before: Annotated[str | None, key("What it was; null: it was not there.")]
    now: Annotated[str | None, key("What it is now; null: it is gone.")]


class SiteCheckForm(Form, kw_only=True):
    """`assay site check`: a site proven again."""

    site: Annotated[str, key("The site.")]
    faults: Annotated[list[str], key("What is not proven now.")]
    changes: Annotated[list[SiteChangePart], key("What changed since the last proof.")]
    proof: Annotated[
        dict[str, Any] | None,
        key("The proof, as in proof.json next to site.yaml; null: no job could run."),
    ]


class SiteInitForm(Form, kw_only=True):
    """`assay site init`: a site's description, written and proven."""

    site: Annotated[str, key("Its name.")]
    file: Annotated[str, key("The file written.")]
    description: Annotated[dict[str, Any], key("Its content.")]
    left_out: Annotated[Any, key("What was found and left out, with the reason.")]
    proof: Annotated[dict[str, Any], key("What jobs proved.")]


class NodePart(Part):
    """A node of a virtual cluster."""

    name: Annotated[str, key("Its name.")]
    state: Annotated[str, key("Slurm's state of it.")]
    power: Annotated[bool, key("Whether it has power.")]
    cores: Annotated[list[int], key("The machine's cores that it has.")]
    address: Annotated[str, key("Its address.")]


class JobPart(Part):
    """A job of a virtual cluster that has not ended."""

    job_id: Annotated[str, key("Slurm's id.")]
    name: Annotated[str, key("Its name.")]
    user: Annotated[str, key("Whose it is.")]
    state: Annotated[str, key("Slurm's state of it.")]
    nodes: Annotated[str, key("The nodes that it has.")]


class ClusterForm(Form, kw_only=True):
    """`assay cluster status`: a virtual cluster; besides nodes and jobs the facts of its site."""

    name: Annotated[str, key("Its name.")]
    network: Annotated[str, key("The kind of its links.")]
    user: Annotated[str, key("The ordinary user of its jobs.")]
    work_dir: Annotated[str, key("Where jobs are staged.")]
    nodes: Annotated[list[NodePart], key("Its nodes.")]
    jobs: Annotated[list[JobPart], key("Jobs that have not ended.")]


class CheckPart(Part):
    """A check."""

    name: Annotated[str, key("Its name.")]
    title: Annotated[str, key("Its title.")]
    program: Annotated[str, key("Whose program it runs.")]
    needs: Annotated[list[str], key("Features that an environment must have.")]
    folder: Annotated[str, key("Its path.")]


class ChecksForm(Form, kw_only=True):
    """`assay checks`: what can be measured."""

    checks: Annotated[list[CheckPart], key("Every check.")]


class ParameterPart(Part):
    """A parameter of a check."""

    name: Annotated[str, key("Its name.")]
    meaning: Annotated[str, key("What it means.")]
    unit: Annotated[str, key("Its unit.")]
    required: Annotated[bool, key("Whether it must be given.")]
    default: Annotated[Any, key("What holds where it is not given.")]
    allowed: Annotated[str, key("What it may be.")]


class MetricPart(Part):
    """A metric of a check."""

    name: Annotated[str, key("Its name.")]
    unit: Annotated[str, key("Its SI unit.")]
    better: Annotated[Literal["higher", "lower"], key("Which direction is better.")]
    definition: Annotated[str, key("What it is.")]


class CheckForm(Form, kw_only=True):
    """`assay checks NAME`: all of one check."""

    name: Annotated[str, key("Its name.")]
    title: Annotated[str, key("Its title.")]
    program: Annotated[str, key("Whose program it runs.")]
    needs: Annotated[list[str], key("Features that an environment must have.")]
    folder: Annotated[str, key("Its path.")]
    purpose: Annotated[str, key("What it is for.")]
    compared_by: Annotated[Any, key("The metric by which environments are compared.")]
    parameters: Annotated[list[ParameterPart], key("Its parameters.")]
    follows_the_site: Annotated[
        dict[str, str | None], key("Keys of a campaign file for sizes that follow the site.")
    ]
    metrics: Annotated[list[MetricPart], key("Its metrics.")]
    points: Annotated[list[str], key("What tells the values of one launch from each other.")]
    layout: Annotated[
        dict[str, str | None], key("How ranks, memory and time follow from the parameters.")
    ]
    example: Annotated[str, key("An entry of a campaign file.")]


class RiskPart(Part, kw_only=True):
    """How often machines of one kind came out in each way, judged by the criteria."""

    machine: Annotated[str, key("The kind of machine.")]
    good: Annotated[bool, key("Whether it should pass.")]
    cv: Annotated[float, key("The coefficient of variation of its launches.")]
    passed: Annotated[int, key("How many passed.")]
    failed: Annotated[int, key("How many failed.")]
    reruns: Annotated[float, key("Re-runs, on average.")]
    of: Annotated[int, key("How many were simulated.")]
    undecided: Annotated[
        list[str], key("What left the others open: each criterion, how often, and what it lacks.")
    ]


class PlanRisksForm(Form, kw_only=True):
    """`assay plan --criteria`: the plan, and what judging it by the criteria risks."""

    plan: Annotated[dict[str, Any], key("The plan, as `assay plan --json` prints it.")]
    risks: Annotated[list[RiskPart], key("A kind of machine each.")]


def status_form(status: RunStatus) -> StatusForm:
    """How far a run is."""
    running = "running" if status.driven else "stopped"
    state = "failed" if status.failed else "complete" if status.complete else running
    counts = dict.fromkeys(("ok", "failed", "wrong", "lost"), 0) | status.counts
    return StatusForm.filled(status, run=status.path, state=state, counts=counts)
