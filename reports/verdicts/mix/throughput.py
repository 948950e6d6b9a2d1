# SPDX-License-Identifier: Apache-2.0
"""Makespan and throughput of a mix of jobs, from their records.

Throughput is jobs · work / (nodes · makespan) (NREL ESIF-HPC-4): the makespan reaches from the
first submission to the last end, and a job that gave no right answer does no work. Rates of the
jobs of a kind have the harmonic mean, that of work done at each rate one after the other. The
lowest job counts (IOCB): its rate over the median of its kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import harmonic_mean, median

from records.errors import AssayError
from records.metric import Metric
from records.run.plan import Plan
from records.run.record import CASE_ID, Record, latest_attempts
from records.run.run_directory import RunDirectory
from records.values import utc_seconds
from reports.notation.labels import case_names

#: Seconds without any job after which a mix was not handed in at once.
LONGEST_PAUSE_S = 30.0


@dataclass(frozen=True)
class MixJob:
    """One job: `during` is when it was handed in and ended, in seconds since 1970; `rate` is its
    deciding metric in `unit`, of a time the inverse; None for a job that is not valid."""

    kind: str
    nodes: tuple[str, ...]
    during: tuple[float, float] | None
    work: float
    rate: float | None
    unit: str
    share: float | None = None


@dataclass(frozen=True)
class Mix:
    """The jobs of a run and the number of nodes that they could have."""

    jobs: Sequence[MixJob]
    nodes: int

    @property
    def makespan_s(self) -> float:
        """From the first submission to the last end."""
        during = [job.during for job in self.jobs if job.during]
        return max(end for _, end in during) - min(begin for begin, _ in during)

    @property
    def throughput(self) -> float:
        """Work of the valid jobs a node and second."""
        work = sum(job.work for job in self.jobs if job.rate is not None)
        return work / (self.nodes * self.makespan_s)

    @property
    def valid(self) -> int:
        """Jobs with the right answer."""
        return sum(job.rate is not None for job in self.jobs)

    @property
    def slowest(self) -> MixJob | None:
        """The valid job that is slowest against its kind."""
        return slowest_of([job for jobs in self.kinds.values() for job in jobs])

    @cached_property
    def kinds(self) -> dict[str, list[MixJob]]:
        """The jobs of each kind, valid ones with their share of the kind's median rate."""
        found: dict[str, list[MixJob]] = {}
        for job in self.jobs:
            found.setdefault(job.kind, []).append(job)
        for kind, jobs in found.items():
            rates = [job.rate for job in jobs if job.rate is not None]
            middle = median(rates) if rates else 1.0
            found[kind] = [
                job if job.rate is None else replace(job, share=job.rate / middle) for job in jobs
            ]
        return found


def slowest_of(jobs: Sequence[MixJob]) -> MixJob | None:
    """The valid job that is slowest against its kind."""
    valid = (job for job in jobs if job.share is not None)
    return min(valid, key=lambda job: job.share or 0.0, default=None)


def mean_rate(jobs: Sequence[MixJob]) -> float | None:
    """The harmonic mean of the valid jobs' rates; None without any."""
    rates = [job.rate for job in jobs if job.rate is not None]
    return harmonic_mean(rates) if rates else None


def is_mix(plan: Plan) -> bool:
    """Whether jobs of a run are handed in at once."""
    return bool(plan.limits.get("jobs_at_once"))


def mix_of(run: RunDirectory) -> Mix:
    """The mix of a run. Raises AssayError where its jobs were not handed in at once, and while some
    are still to come."""
    plan, nodes = run.plan(), run.provenance().site.nodes
    if nodes is None:
        raise AssayError(f"{run.path}: the provenance does not say how many nodes the site has")
    if not is_mix(plan):
        raise AssayError(
            f"campaign {plan.campaign} hands in one job after the other; a mix says"
            " limits: {jobs_at_once: N}"
        )
    names, jobs = case_names(plan.cases), list[MixJob]()
    latest = latest_attempts(run.records(), CASE_ID).values()
    for record in (one for one in latest if one.status != "skipped"):
        kind = names[record.case_id]
        if len(plan.environments) > 1:
            kind += f", {record.environment}"
        begin, end = (utc_seconds(text or "") for text in (record.submitted_at, record.ended_at))
        during = None if begin is None or end is None else (begin, end)
        if during is None and record.status == "ok":
            raise AssayError(
                f"a record of {kind} does not say when its job was handed in and ended; run the mix"
                " again, each launch a job of its own"
            )
        metric = _deciding(plan, record)
        rate, unit = None, "1"
        if metric is not None and metric.better == "higher":
            rate, unit = metric.value, metric.unit
        elif metric is not None:
            rate, unit = 1 / metric.value, "1/s" if metric.unit == "s" else "1"
        work = float(plan.weights.get(record.check, 1.0))
        jobs.append(MixJob(kind, tuple(record.nodes), during, work, rate, unit))
    planned = sum(case.skipped is None for case in plan.cases) * plan.blocks
    if len(jobs) < planned or not jobs:
        raise AssayError(f"{len(jobs)} of {planned} jobs of the mix have a record; resume the run")
    refuse_pause(jobs)
    return Mix(jobs, nodes)


def refuse_pause(jobs: Sequence[MixJob]) -> None:
    """Raise AssayError where no job ran, or for longer than LONGEST_PAUSE_S none was handed in."""
    during = sorted(job.during for job in jobs if job.during)
    if not during:
        raise AssayError("no job of the mix ran; look at the run: assay status")
    last = during[0][1]
    for begin, end in during:
        if begin > last + LONGEST_PAUSE_S:
            raise AssayError(
                f"for {begin - last:.0f} s no job of the mix was handed in: the run was cut short,"
                " and its makespan says nothing; run the mix again"
            )
        last = max(last, end)


def _deciding(plan: Plan, record: Record) -> Metric | None:
    """The value of the metric that decides, or where that was not measured the first; None for a
    job that is not valid."""
    deciding = plan.register.checks[record.check].deciding
    found = [one for one in record.metrics if one.value > 0 and record.status == "ok"]
    return next((one for one in found if one.name == deciding), found[0] if found else None)
