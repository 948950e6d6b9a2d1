# SPDX-License-Identifier: Apache-2.0
"""Makespan and throughput of a mix of jobs, from their records.

Throughput is jobs · work / (nodes · makespan) (NREL ESIF-HPC-4): the makespan reaches from the
first submission to the last end, and a job that gave no right answer does no work. A run may hold
several mixes, one after the other; their median counts, and a criterion of kind `mix` holds them
against a limit. Rates of the jobs of a kind have the harmonic mean, that of work done at each rate
one after the other. The slowest job is named by its rate over the median of its kind, with how far
that kind's jobs lie apart; it judges nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from math import inf
from statistics import harmonic_mean, median

from records.errors import AssayError
from records.metric import Metric
from records.run.plan import Plan
from records.run.record import CASE_ID, Record, latest_attempts
from records.run.run_directory import RunDirectory
from records.values import utc_seconds
from reports.notation.labels import case_names
from reports.notation.units import about, percent, significant
from reports.show.tables import Table, numeric, pivot

#: Seconds without any job after which a mix was not handed in at once.
LONGEST_PAUSE_S = 30.0
#: What a campaign does whose jobs are no mix.
NO_MIX = "hands in one job after the other; a mix says limits: {jobs_at_once: N}"


@dataclass(frozen=True)
class MixJob:
    """Job of the mix that begins with block `mix`: `during` is when it was handed in and ended,
    in seconds since 1970; `rate` is its deciding metric in `unit`, of a time the inverse; None for
    a job that is not valid."""

    kind: str
    nodes: tuple[str, ...]
    during: tuple[float, float] | None
    work: float
    rate: float | None
    unit: str
    mix: int = 1


@dataclass(frozen=True)
class MixKind:
    """The jobs of a kind of all mixes."""

    name: str
    jobs: Sequence[MixJob]

    @cached_property
    def rates(self) -> list[float]:
        """Rates of the valid jobs, ascending."""
        return sorted(job.rate for job in self.jobs if job.rate is not None)

    @property
    def mean_text(self) -> str:
        """The harmonic mean of the rates."""
        return about(harmonic_mean(self.rates), self.slowest.unit) if self.rates else "–"

    @property
    def slowest_share(self) -> float:
        """The least rate over the median; infinite without a valid job."""
        return self.rates[0] / median(self.rates) if self.rates else inf

    @property
    def half_within(self) -> float:
        """The median distance of a rate from the median of all, as a share of it."""
        middle = median(self.rates)
        return median(abs(rate / middle - 1) for rate in self.rates)

    @property
    def slowest(self) -> MixJob:
        """The valid job with the least rate, of which there must be one."""
        return next(job for job in self.jobs if job.rate == self.rates[0])


@dataclass(frozen=True)
class Mix:
    """The jobs of a run's whole mixes, those of one after those of another, and the number of nodes
    that they could have; `left_out` says of further mixes why they do not count."""

    jobs: Sequence[MixJob]
    nodes: int
    left_out: Sequence[str] = ()

    @cached_property
    def makespans_s(self) -> dict[int, float]:
        """From the first submission to the last end of each mix, by its first block."""
        found = {}
        for first, jobs in groupby(self.jobs, key=lambda job: job.mix):
            during = [job.during for job in jobs if job.during]
            found[first] = max(end for _, end in during) - min(begin for begin, _ in during)
        return found

    @cached_property
    def throughputs(self) -> dict[int, float]:
        """Work of the valid jobs a node and second of each mix, by its first block."""
        work = dict.fromkeys(self.makespans_s, 0.0)
        for job in self.jobs:
            work[job.mix] += job.work * (job.rate is not None)
        return {first: work[first] / (self.nodes * s) for first, s in self.makespans_s.items()}

    @property
    def makespan_s(self) -> float:
        """The median of the makespans."""
        return median(self.makespans_s.values())

    @property
    def throughput(self) -> float:
        """The median of the throughputs."""
        return median(self.throughputs.values())

    @property
    def valid(self) -> int:
        """Jobs with the right answer."""
        return sum(job.rate is not None for job in self.jobs)

    @cached_property
    def kinds(self) -> list[MixKind]:
        """The jobs of each kind."""
        found: dict[str, list[MixJob]] = {}
        for job in self.jobs:
            found.setdefault(job.kind, []).append(job)
        return [MixKind(*one) for one in found.items()]

    @property
    def facts(self) -> list[tuple[str, str]]:
        """Makespan and throughput, and the slowest job, by their names."""
        rates = [significant(3600 * one) for one in sorted(self.throughputs.values())]
        facts = [
            ("jobs", f"{len(self.jobs)}, {self.valid} valid"),
            ("nodes", str(self.nodes)),
            ("makespan", f"{self.makespan_s:.1f} s"),
            ("throughput", f"{significant(3600 * self.throughput)} work a node and hour"),
        ]
        if len(rates) > 1:
            facts.append(("mixes", f"{len(rates)}, medians of them; {rates[0]} to {rates[-1]}"))
        facts += [("left out", text) for text in self.left_out]
        kind = min(self.kinds, key=lambda kind: kind.slowest_share)
        if kind.rates:
            share, nodes = percent(kind.slowest_share, 0), ", ".join(kind.slowest.nodes)
            near = f"half of its kind are within {percent(kind.half_within)}"
            facts.append(
                ("slowest job", f"{share} of its kind's median, {kind.name} on {nodes}; {near}")
            )
        return facts

    def table(self) -> Table | None:
        """The jobs by kind."""

        def slowest(kind: MixKind) -> list[str]:
            if not kind.rates:
                return ["–"] * 3
            shares = percent(kind.half_within), percent(kind.slowest_share, 0)
            return [*shares, ", ".join(kind.slowest.nodes)]

        return pivot(
            self.kinds,
            [
                ("kind", lambda kind: kind.name),
                (
                    numeric("jobs", "valid", "harmonic mean"),
                    lambda kind: [str(len(kind.jobs)), str(len(kind.rates)), kind.mean_text],
                ),
                ([*numeric("half within", "slowest of median"), "on"], slowest),
            ],
            anchor="table-mix",
            title="Jobs by kind",
            note="Half of a kind's jobs are that near to its median; the slowest judges nothing.",
        )


def mix_of(run: RunDirectory) -> Mix:
    """The mixes of a run. Raises AssayError where jobs were not handed in at once, and where no mix
    is whole."""
    plan, nodes = run.plan(), run.provenance().site.nodes
    if nodes is None:
        raise AssayError(f"{run.path}: the provenance does not say how many nodes the site has")
    size = plan.mix_blocks
    if not size:
        raise AssayError(f"campaign {plan.campaign} {NO_MIX}")
    planned = sum(case.skipped is None for case in plan.cases) * size
    found: dict[int, list[MixJob]] = {first: [] for first in range(1, plan.blocks + 1, size)}
    for job in _jobs(plan, run.records(), size):
        found[job.mix].append(job)
    faults = {first: fault for first, jobs in found.items() if (fault := _fault(jobs, planned))}
    if len(faults) == len(found):
        raise AssayError(next(iter(faults.values())))
    jobs = [job for first, mine in found.items() if first not in faults for job in mine]
    return Mix(jobs, nodes, [*faults.values()])


def _jobs(plan: Plan, records: Iterable[Record], size: int) -> Iterator[MixJob]:
    """The jobs of mixes of so many blocks."""
    names = case_names(plan.cases)
    latest = latest_attempts(records, CASE_ID).values()
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
        first = (record.block - 1) // size * size + 1
        yield MixJob(kind, tuple(record.nodes), during, work, rate, unit, mix=first)


def _fault(jobs: Sequence[MixJob], planned: int) -> str:
    """Why a mix does not count: it is not whole, no job of it ran, or for longer than
    LONGEST_PAUSE_S none was handed in; "" where it does."""
    if len(jobs) < planned:
        return (
            f"{len(jobs)} of {planned} jobs of the mix have a record; resume the run, or run it"
            " with as many blocks as whole mixes have"
        )
    during = sorted(job.during for job in jobs if job.during)
    if not during:
        return "no job of the mix ran; look at the run: assay status"
    last = during[0][1]
    for begin, end in during:
        if begin > last + LONGEST_PAUSE_S:
            return (
                f"for {begin - last:.0f} s no job of the mix was handed in: the run was cut short,"
                " and its makespan says nothing; run the mix again"
            )
        last = max(last, end)
    return ""


def _deciding(plan: Plan, record: Record) -> Metric | None:
    """The value of the metric that decides, or where that was not measured the first; None for a
    job that is not valid."""
    deciding = plan.register.checks[record.check].deciding
    found = [one for one in record.metrics if one.value > 0 and record.status == "ok"]
    return next((one for one in found if one.name == deciding), found[0] if found else None)
