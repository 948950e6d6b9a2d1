# SPDX-License-Identifier: Apache-2.0
"""Asks Slurm, before anything is run, whether it would run each shape of job of a plan.

What can never run is found here by the partition's limits and by `sbatch --test-only`. That counts
nodes that are drained or reserved now as if they were not there, so its word on nodes is believed
only where all of them are in service; Slurm decides on the others when the job is submitted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from assay.plan import launch_limit_s
from assay.run.infrastructure import answer_of, asked
from assay.sites.site import Site
from checks.common.slurm.commands import HALTING_S, fields, limits_s, pairs, seconds_of
from checks.common.slurm.job import last_words, refusal_verdict
from records.errors import AssayError, InfrastructureError
from records.run.plan import Plan
from reports.notation.labels import case_names

#: States of nodes that sbatch counts when it tells whether a job would start.
_COUNTED = re.compile(r"(idle|mixed|allocated|completing|planned)[+%$@#]?")


@dataclass(frozen=True)
class Shape:
    """Options of a job besides those of the site: `further` ones for CPUs of ranks and resources;
    `case` is one of the cases that need it."""

    nodes: int
    ranks: int
    ranks_per_node: int
    further: tuple[str, ...]
    limit_s: int
    case: str

    def options(self) -> list[str]:
        """The options of sbatch, without those of the site."""
        minutes, seconds = divmod(self.limit_s, 60)
        return [
            f"--ntasks={self.ranks}",
            f"--ntasks-per-node={self.ranks_per_node}",
            f"--time={minutes}:{seconds}",
            "--exclusive",
            *self.further,
        ]

    def __str__(self) -> str:
        parts = [f"{self.nodes} nodes", f"{self.ranks} ranks", f"{self.limit_s / 60:.3g} min"]
        return f"{', '.join([*parts, *self.further])} ({self.case} is one)"


def partition_limits(site: Site) -> tuple[int | None, int | None]:
    """Most nodes of a job in the site's partition by Slurm, and its seconds by the site's file and
    by Slurm; None: no limit. Raises AssayError for a partition that Slurm does not know,
    InfrastructureError where it does not answer."""
    name, stated_s = site.description.slurm_partition, site.description.longest_job_s
    answer = asked(site, "scontrol", "show", "partition", "-o", name)
    if answer.status and "not found" in answer.stderr:
        listed = answer_of(site, "sinfo", "--noheader", "--format=%R").split()
        raise AssayError(
            f"site {site.name}: Slurm has no partition {name}; it has"
            f" {', '.join(dict.fromkeys(listed)) or 'none'}. Correct `partitions` in"
            f" site-config/{site.name}/site.yaml"
        )
    if answer.status:
        raise InfrastructureError(f"Slurm does not answer: {last_words(answer.stderr)}")
    found = fields(answer.stdout)
    limits = (stated_s, seconds_of(found.get("MaxTime", "")))
    counts = (found.get(name, "") for name in ("MaxNodes", "TotalNodes"))
    return (
        min((int(count) for count in counts if count.isdigit()), default=None),
        min((limit_s for limit_s in limits if limit_s is not None), default=None),
    )


def refuse_unfit_shapes(
    site: Site, plan: Plan, most_nodes: int | None, longest_s: int | None
) -> list[str]:
    """Raise AssayError, with Slurm's reason, for launches of the plan that can never run in jobs of
    `most_nodes` and `longest_s`. Gives notes on those that can, but not now."""
    feasible = [case for case in plan.cases if case.skipped is None]
    names = case_names(plan.cases)
    for case in feasible:
        if longest_s is not None and case.least_s + HALTING_S > longest_s:
            raise AssayError(
                f"{names[case.id]} is estimated at {case.least_s:g} s; partition"
                f" {site.description.slurm_partition} of site {site.name} ends jobs after"
                f" {longest_s} s. Choose another partition (--site {site.name}:PARTITION), or"
                " shorten the case; nothing was run"
            )
        if most_nodes is not None and case.nodes > most_nodes:
            raise AssayError(
                f"{names[case.id]} needs {case.nodes} nodes; partition"
                f" {site.description.slurm_partition} of site {site.name} allows a job"
                f" {most_nodes}. Choose another partition (--site {site.name}:PARTITION), or"
                " correct `nodes` in its site.yaml; nothing was run"
            )
    # Each shape once, with its longest time limit: a shorter one fits where that does.
    shapes: dict[tuple[int, int, int, tuple[str, ...]], Shape] = {}
    for case in feasible:
        _, job_s = limits_s(launch_limit_s(plan, case), longest_s)
        cpus = [f"--cpus-per-task={case.cpus_per_task}"] if case.cpus_per_task else []
        further = (*cpus, *site.resource_options(case.resources))
        key = (case.nodes, case.ranks, case.ranks_per_node, further)
        if key not in shapes or shapes[key].limit_s < job_s:
            shapes[key] = Shape(*key, job_s, names[case.id])
    notes = (_note(site, shape) for shape in shapes.values())
    return list(dict.fromkeys(note for note in notes if note is not None))


def _note(site: Site, shape: Shape) -> str | None:
    """Slurm's reason against a shape of job for now, or None. Raises AssayError if for good."""
    options = [*site.description.access, *shape.options()]
    answer = asked(site, "sbatch", "--test-only", "--output=/dev/null", *options, "--wrap=true")
    if answer.status == 0:
        return None
    verdict, said = refusal_verdict(answer.stderr), last_words(answer.stderr)
    if verdict == "unreached":  # the driver waits a while for a Slurm that does not answer
        return f"Slurm did not say whether it would run launches of {shape.nodes} nodes: {said}"
    if verdict == "unclear":
        verdict = "waits" if answer_of(site, "squeue", "--noheader", "--me") else "never"
    if verdict == "nodes":
        out = _out_of_service(site)
        verdict, said = "waits" if out else "never", f"{said} ({out})" if out else said
    if verdict == "waits":
        return f"launches of {shape.nodes} nodes will wait: Slurm says now: {said}"
    raise AssayError(
        f"site {site.name}: Slurm will not run jobs of {shape} with"
        f" {' '.join(site.description.access)}: {said}. Nothing was run. Correct"
        f" {'what the case asks for, or ' if shape.further else ''}`access` in"
        f" site-config/{site.name}/site.yaml, or choose another partition with --site"
        f" {site.name}:PARTITION"
    )


def _out_of_service(site: Site) -> str:
    """Nodes of the partition that a test of sbatch does not count, and reservations; or ""."""
    partition = f"--partition={site.description.slurm_partition}"
    states = pairs(answer_of(site, "sinfo", "--noheader", "--Node", partition, "--format=%N %T"))
    out = [f"{name} is {state}" for name, state in states.items() if not _COUNTED.fullmatch(state)]
    shown = answer_of(site, "scontrol", "show", "res")
    reserved = re.findall(r"^ReservationName=(\S+)", shown, re.MULTILINE)
    return ", ".join([*out[:8], *(f"reservation {name}" for name in reserved[:4])])
