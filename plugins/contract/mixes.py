# SPDX-License-Identifier: Apache-2.0
"""Makespan and throughput of a mix of jobs, from their records: for criteria of kind `mix`, in a
contract's document and in the report of a run.

Throughput is jobs · work / (nodes · makespan) (NREL ESIF-HPC-4): the makespan reaches from the
first submission to the last end, and a job that gave no right answer does no work. A run may hold
several mixes, one after the other.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from statistics import median

from records.errors import AssayError
from records.run.plan import Plan
from records.run.record import CASE_ID, Record, latest_attempts
from records.run.run_directory import RunDirectory, open_run
from records.values import utc_seconds
from reports.analysis.run import Analysis
from reports.load.loading import Run
from reports.notation.units import significant
from reports.result import Block, Facts, Section, Sentence
from reports.show.tables import RawLinks

#: Seconds without any job after which a mix was not handed in at once.
LONGEST_PAUSE_S = 30.0
#: What a campaign does whose jobs are no mix.
NO_MIX = "hands in one job after the other; a mix says limits: {jobs_at_once: N}"


@dataclass(frozen=True)
class MixJob:
    """Job of the mix that begins with block `mix`: `during` is when it was handed in and ended,
    in seconds since 1970; `work` is 0 without the right answer."""

    during: tuple[float, float] | None
    work: float
    mix: int = 1


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
        makespans = {}
        for first, jobs in groupby(self.jobs, key=lambda job: job.mix):
            during = [job.during for job in jobs if job.during]
            makespans[first] = max(end for _, end in during) - min(begin for begin, _ in during)
        return makespans

    @cached_property
    def throughputs(self) -> dict[int, float]:
        """Work of the valid jobs a node and second of each mix, by its first block."""
        work = dict.fromkeys(self.makespans_s, 0.0)
        for job in self.jobs:
            work[job.mix] += job.work
        return {first: work[first] / (self.nodes * s) for first, s in self.makespans_s.items()}


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
    mixes: dict[int, list[MixJob]] = {first: [] for first in range(1, plan.blocks + 1, size)}
    for record in latest_attempts(run.records(), CASE_ID).values():
        if record.status != "skipped":
            job = _job(plan, record, size)
            mixes[job.mix].append(job)
    faults = {first: fault for first, jobs in mixes.items() if (fault := _fault(jobs, planned))}
    if len(faults) == len(mixes):
        raise AssayError(next(iter(faults.values())))
    jobs = [job for first, mine in mixes.items() if first not in faults for job in mine]
    return Mix(jobs, nodes, [*faults.values()])


def _job(plan: Plan, record: Record, size: int) -> MixJob:
    """The job of a record, of mixes of so many blocks."""
    begin, end = (utc_seconds(text or "") for text in (record.submitted_at, record.ended_at))
    during = None if begin is None or end is None else (begin, end)
    if during is None and record.status == "ok":
        raise AssayError(
            f"a record of {record.case_id} does not say when its job was handed in and ended; run"
            " the mix again, each launch a job of its own"
        )
    valid = record.status == "ok" and any(metric.value > 0 for metric in record.metrics)
    work = float(plan.weights.get(record.check, 1.0)) if valid else 0.0
    return MixJob(during, work, (record.block - 1) // size * size + 1)


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


def mix_facts(mix: Mix) -> list[tuple[str, str]]:
    """Makespan and throughput by their names; of several mixes the medians."""
    rates = [3600 * rate for rate in sorted(mix.throughputs.values())]
    facts = [
        ("jobs", f"{len(mix.jobs)}, {sum(job.work > 0 for job in mix.jobs)} valid"),
        ("nodes", str(mix.nodes)),
        ("makespan", f"{median(mix.makespans_s.values()):.1f} s"),
        ("throughput", f"{significant(median(rates))} work a node and hour"),
    ]
    if len(rates) > 1:
        least, greatest = significant(rates[0]), significant(rates[-1])
        facts.append(("mixes", f"{len(rates)}, medians of them; {least} to {greatest}"))
    return facts + [("left out", text) for text in mix.left_out]


def report_section(analysis: Analysis, _: RawLinks) -> Section | None:
    """The section of a run whose jobs were handed in at once; None for another one."""
    run = analysis.run

    def blocks() -> Iterator[Block]:
        try:
            yield Facts(mix_facts(mix_of(open_run(str(run.directory)))))
        except AssayError as error:  # no mix is whole
            yield Sentence(str(error))

    return Section("mix", "The mix of jobs", blocks) if run.plan.mix_blocks else None


def throughputs(run: Run) -> dict[int, float]:
    """Throughputs of the whole mixes of a run, by their first blocks; none where none is whole."""
    try:
        return mix_of(open_run(str(run.directory))).throughputs
    except AssayError:
        return {}
