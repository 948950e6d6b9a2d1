# SPDX-License-Identifier: Apache-2.0
"""Forms of what concerns a run: `status`, `run`, `report`, `compare`, `paper`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from assay.machine.form import Form, Interval, Part
from assay.run.status import RunStatus
from records.belonging import checksum_of
from records.record_lines import Line


class Reason(Part):
    """Launches that ended badly for one reason; the texts may differ in names and numbers."""

    status: Literal["failed", "wrong", "lost"]
    """How they ended."""
    reason: str
    """The most frequent text."""
    launches: int
    """How many launches."""
    environments: list[str]
    """Environments in which they were."""
    checks: list[str]
    """Checks that they were of."""
    output: str | None
    """What the first of them printed to standard error: a file below the run directory."""


class Queue(Part):
    """The current launch's job in Slurm."""

    state: Literal["pending", "not-taken", "running"]
    """In the queue, not taken by Slurm now, or on nodes."""
    launch: int
    """The launch's number in its session; -1: a build."""
    job_id: str | None
    """Slurm's id of the job."""
    reason: str
    """Slurm's reason why it waits."""
    since: str
    """Since when (UTC)."""
    waited_s: float
    """Seconds since the job was handed in."""
    expected_start: str | None
    """Slurm's own estimate (UTC)."""


class Current(Part):
    """What the driver of a run is at."""

    what: str
    """What the job is for."""
    queue: Queue
    """Where the job is."""


class RawFile(Part):
    """A raw file of a launch."""

    kind: Literal["script", "stdout", "stderr"]
    """What it is."""
    path: str
    """Where it lies below the run directory; "raw/b1.zip/NAME" is a member of an archive."""
    sha256: str
    """Its SHA-256, as its record has it; it was proven."""
    text: str
    """What it holds; a mark stands for what is no UTF-8."""


class Raw(Form):
    """`assay raw`: the raw output of one launch."""

    run_id: str
    """The run's id."""
    case_id: str
    """The case."""
    block: int
    """The block."""
    attempt: int
    """The attempt."""
    status: Literal["ok", "failed", "wrong", "lost", "skipped"]
    """How it ended."""
    files: list[RawFile]
    """Its files."""


class Status(Form):
    """`assay status`: how far a run is. Counts are of launches, the latest attempt each."""

    run_id: str
    """The run's id."""
    run: str
    """The run directory."""
    campaign: str
    """The campaign."""
    site: str
    """The site."""
    state: Literal["complete", "failed", "running", "stopped"]
    """failed: some launches ended badly, and not on purpose (exit status 1)."""
    complete: bool
    """Whether every planned launch has a final record."""
    planned: int
    """Launches that the plan asks for, as far as a sequential design has come."""
    done: int
    """Launches that have a record."""
    counts: dict[Literal["ok", "failed", "wrong", "lost"], int]
    """Launches by how they ended, zeros too."""
    on_purpose: int
    """How many of the wrong ones are so on purpose."""
    reasons: list[Reason]
    """Bad launches by why, the most frequent first."""
    failures: list[str]
    """Every bad launch in a line, attempts that were replaced too."""
    skipped_cases: int
    """Cases that do not fit the site."""
    left_s: float
    """Seconds left by the plan's estimates."""
    told: list[str]
    """What the plan left out of its campaign, and why."""
    judged: list[str]
    """What a sequential design has come to."""
    open: list[str]
    """What a sequential design has still to answer."""
    ended: bool
    """Whether a sequential design has ended; true for any other."""
    driven: bool | None
    """Whether a driver is at the run; null: not looked for."""
    current: Current | None
    """What the driver is at."""


def status_told(status: RunStatus) -> Status:
    """The form of a run's status."""
    state = "stopped"
    if status.failed:
        state = "failed"
    elif status.complete:
        state = "complete"
    elif status.driven:
        state = "running"
    names = Status.model_fields.keys() & RunStatus.__dataclass_fields__.keys()
    found = {name: getattr(status, name) for name in names}
    found |= {"run": status.path, "state": state, "complete": status.complete}
    found["counts"] = dict.fromkeys(("ok", "failed", "wrong", "lost"), 0) | status.counts
    return Status.of(**found)


class AnswerPart(Part):
    """The answer that page, terminal and machine form give alike."""

    state: str
    """The state: decided, open, unfinished, measured, empty, failed, pass, …"""
    word: str
    """The state in a word for people."""
    colour: Literal["good", "warn", "bad", "plain"]
    """The colour class of the state."""
    sentence: str
    """The answer, at most thirty words."""
    unknown: str
    """What is not known and why; empty: nothing."""
    command: str
    """The command that comes next; empty: none."""
    details: list[str]
    """Further sentences, the most important first."""


class Ranked(Part):
    """An environment in the ranking by the campaign's weights."""

    environment: str
    """The environment."""
    place: tuple[int, int]
    """Best and worst place that the bounds allow; 1 is first."""
    cost: float
    """What the workload costs, over what it costs in the reference."""
    bounds: tuple[float, float] | None
    """Bounds of that ratio that hold together for all questions; null where there are none."""
    interval: Interval | None
    """Of that ratio by itself, which decides nothing; null for the reference."""
    failed: int
    """Failed launches."""
    launched: int
    """Launches."""
    unreliable: bool
    """Whether it ranks behind another because it fails more often."""


class Led(Part):
    """Who leads a check, and by how much."""

    scope: str
    """What was compared."""
    metric: str
    """The deciding metric."""
    best: str
    """The environment with the best estimate."""
    runner_up: str
    """The next one."""
    n: int
    """Common blocks."""
    advantage: float
    """How many times better the best is than the runner-up; 1.05 is 5 %."""
    bounds: tuple[float, float] | None
    """Bounds of the advantage that hold together for all questions; null where there are none."""
    interval: Interval
    """Of the advantage by itself, which decides nothing."""
    verdict: str
    """The verdict's word: faster, equivalent, not slower, not resolved, …"""


class Report(Form):
    """`assay report`: the answer of a run, and where its report is."""

    run_id: str
    """The run's id."""
    run: str
    """The run directory."""
    campaign: str
    """The campaign."""
    site: str
    """The site."""
    complete: bool
    """Whether every planned launch has its record."""
    launches: dict[str, int]
    """Launches by how they ended, zeros too."""
    answer: AnswerPart
    """The answer."""
    reference: str
    """The environment that costs are over."""
    ranking: list[Ranked]
    """The environments by cost, best first; empty where nothing is ranked."""
    leaders: list[Led]
    """Who leads each check."""
    files: dict[str, str]
    """The files written, by format: html, pdf, md, csv, parquet, junit, json."""


class Ran(Form):
    """`assay run`: how the run ended, and what it says."""

    status: Status
    """How far the run is."""
    report: Report | None
    """The answer and the report; null: none was written."""
    exit_status: int
    """0: every launch ended well; 1: some did not, or some are missing."""


class Side(Part):
    """One run's values in a comparison."""

    n: int
    """Launches."""
    mean: float | None
    """Their mean, in SI base units."""
    stddev: float | None
    """Their standard deviation."""


class Changed(Part):
    """One value in two runs."""

    check: str
    """The check."""
    case_id: str
    """The case."""
    case: str
    """Case and point in words."""
    environment: str
    """The environment."""
    metric: str
    """The metric."""
    unit: str
    """Its SI unit."""
    better: Literal["higher", "lower"]
    """Which direction is better."""
    at: dict[str, Any]
    """The point."""
    a: Side
    """Run A."""
    b: Side
    """Run B."""
    ratio: float | None
    """B over A, of geometric means; null below two launches of each."""
    interval: Interval | None
    """Of the ratio: of two nights where a history tells how far days differ, else of launches."""
    day_spread: float | None
    """The spread of days from the history, of logarithms; null: not known."""
    nights: int
    """Nights behind it."""
    reading: Literal["better", "worse", "beyond launches", "not resolved", "no interval"]
    """What it says of B, this value alone."""


class Differs(Part):
    """One thing that differs in provenance, or between builds."""

    what: str
    """What it is."""
    a: str
    """In run A."""
    b: str
    """In run B."""


class Compared(Form):
    """`assay compare`: run B against run A."""

    a: str
    """The id of run A."""
    b: str
    """The id of run B."""
    facts: list[str]
    """What the runs are, in sentences."""
    provenance: list[Differs]
    """What differs in provenance."""
    builds: list[Differs]
    """What differs between the builds."""
    changes: list[Changed]
    """Every value of both: better or worse, then beyond launches, then the rest, each by size."""


class ClaimTold(Part):
    """A claim of a study, held against the run."""

    claim: str
    """What the study says."""
    verdict: str
    """holds, does not hold, not resolved, cannot be tested here, differs between libraries."""
    because: str = ""
    """Value, interval and n of each environment, or why it cannot be tested."""


class Studied(Form):
    """`assay paper`: a study beside a run."""

    study: str
    """The study."""
    run: str
    """The run directory."""
    answer: str
    """The first sentence."""
    claims: list[ClaimTold]
    """Its claims."""
    files: list[str]
    """The files written."""


def raw_told(
    run_id: str, launch: Line, artifacts: Mapping[str, str], contents: Mapping[str, bytes]
) -> Raw:
    """The raw files of a launch, as `assay raw --json` prints them."""
    files = [
        RawFile(
            kind=kind,  # type: ignore[arg-type]  # validated by pydantic
            path=artifacts[kind],
            sha256=checksum_of(artifacts, kind),
            text=content.decode("utf-8", "replace"),
        )
        for kind, content in contents.items()
    ]
    return Raw.of(
        run_id=run_id,
        case_id=launch.case_id,
        block=launch.block,
        attempt=launch.attempt,
        status=launch.status,
        files=files,
    )
