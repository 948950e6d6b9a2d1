# SPDX-License-Identifier: Apache-2.0
"""Partition that launches run in: its limits, its nodes, and the job of it in which assay itself
runs: launches are its steps where it holds enough nodes."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Collection, Mapping, Sequence

from assay.run.infrastructure import answer_of, asked
from assay.sites.site import Site
from assay.terminal import Say
from checks.common.slurm import commands
from checks.common.slurm.job import ENDING_S, Allocation, last_words
from records.errors import AssayError, ExitStatus, InfrastructureError
from records.run.plan import Plan, PlannedCase
from reports.notation.labels import case_names


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
    shown = commands.fields(answer.stdout)
    limits = (stated_s, commands.seconds_of(shown.get("MaxTime", "")))
    counts = (shown.get(name, "") for name in ("MaxNodes", "TotalNodes"))
    return (
        min((int(count) for count in counts if count.isdigit()), default=None),
        min((limit_s for limit_s in limits if limit_s is not None), default=None),
    )


def refuse_unfit_cases(
    site: Site, plan: Plan, most_nodes: int | None, longest_s: int | None
) -> None:
    """Raise AssayError for a case of the plan that can never run in jobs of `most_nodes` and
    `longest_s`."""
    names, partition = case_names(plan.cases), site.description.slurm_partition
    other = f"Choose another partition (--site {site.name}:PARTITION), or"
    for case in plan.cases:
        if case.skipped is not None:
            continue
        if longest_s is not None and case.least_s + commands.HALTING_S > longest_s:
            raise AssayError(
                f"{names[case.id]} is estimated at {case.least_s:g} s; partition {partition} of"
                f" site {site.name} ends jobs after {longest_s} s. {other} shorten the case;"
                " nothing was run"
            )
        if most_nodes is not None and case.nodes > most_nodes:
            raise AssayError(
                f"{names[case.id]} needs {case.nodes} nodes; partition {partition} of site"
                f" {site.name} allows a job {most_nodes}. {other} correct `nodes` in its"
                " site.yaml; nothing was run"
            )


def partition_nodes(site: Site) -> list[str]:
    """The nodes of the site's partition and kind, in service or not; none where its constraint is
    more than features joined by `&`, so that Slurm alone knows the kind."""
    access = site.description.access
    partition = f"--partition={site.description.slurm_partition}"
    features = commands.pairs(answer_of(site, "sinfo", "-hN", partition, "--format=%N %f"))
    constraint = "".join(commands.option_values(access, "constraint", "C")[-1:])
    if set(constraint) & set("|[]()*!"):
        return []
    wanted = {*filter(None, constraint.split("&"))}
    kind = [node for node, has in features.items() if wanted <= {*has.split(",")}]
    named = _named_nodes(site, *commands.option_values(access, "nodelist", "w"))
    return sorted({*kind} & {*named} if named else kind)


def _named_nodes(site: Site, *lists: str) -> list[str]:
    """The nodes of lists in Slurm's notation."""
    return [
        n for one in lists for n in answer_of(site, "scontrol", "show", "hostnames", one).split()
    ]


def own_job(site: Site) -> dict[str, str] | None:
    """Slurm's description of the job of the site's partition that this process runs in. None
    outside of its jobs, and in a heterogeneous job, whose components are jobs of their own."""
    job, cluster = os.environ.get("SLURM_JOB_ID"), os.environ.get("SLURM_CLUSTER_NAME")
    if job is None or cluster is None:
        return None
    if cluster != commands.setting(answer_of(site, "scontrol", "show", "config"), "ClusterName"):
        return None
    shown = asked(site, "scontrol", "show", "job", "-o", job).stdout
    described = commands.fields(commands.job_line(shown, job))
    serves = (
        described.get("JobState") == "RUNNING"
        and described.get("NodeList", "(null)") != "(null)"
        and "HetJobId" not in described
        and described.get("Partition") == site.description.slurm_partition
    )
    return described if serves else None


class OwnJob:
    """The job that assay runs in, whose steps launches are."""

    def __init__(self, granted: Allocation) -> None:
        self._granted = granted

    @property
    def job_id(self) -> str:
        """Its id."""
        return self._granted.job_id

    def with_time_for(self, next_s: float) -> Allocation:
        """The allocation for the next launch, which may take `next_s`. Raises AssayError where it
        serves no more."""
        if self._granted.ends_at - ENDING_S - time.monotonic() < next_s:
            raise self.over(f"less than the {next_s:.0f} s are left that the next launch may take")
        return self._granted

    def over(self, why: str) -> AssayError:
        """Error where the job has ended, or has no time or no steps left."""
        return AssayError(
            f"job {self.job_id}, in which assay runs, serves no more launches: {why}; what is done"
            " is kept. Go on in another job, or outside of one",
            ExitStatus.INCONCLUSIVE,
        )


def _granted(site: Site, job: Mapping[str, str], seed: int, without: Collection[str]) -> Allocation:
    """The allocation of a job as Slurm describes it while it runs, but for nodes `without`."""
    nodes = [node for node in _named_nodes(site, job["NodeList"]) if node not in without]
    rest_s = commands.left_s(job)
    return Allocation(
        job_id=job["JobId"],
        nodes=nodes,
        ends_at=sys.float_info.max if rest_s is None else time.monotonic() + rest_s,
        seed=seed,
        at_once=site.description.concurrency,
        cores=site.description.shared_cores,
    )


def own_allocation(
    site: Site, cases: Sequence[PlannedCase], seed: int, say: Say
) -> Allocation | None:
    """The job that this process runs in, where launches of these cases have room in it.

    None outside a job of the site's partition, in one of fewer nodes or of another kind, and in one
    that does not have them whole: others' ranks could run on them meanwhile. The node that this
    process runs on is left out where the others suffice.
    """
    job = own_job(site)
    if job is None:
        return None
    named = f"job {job['JobId']}, in which assay runs,"
    nodes = _named_nodes(site, job["NodeList"])
    if not {*nodes} <= {*partition_nodes(site)}:
        say(f"the nodes of {named} are not used: some may be none that the site's `access` selects")
        return None
    if not _has_whole(job, len(nodes), site):
        return None
    out = {*_named_nodes(site, *commands.option_values(site.description.access, "exclude", "x"))}
    here = socket.gethostname().partition(".")[0]
    mine = {node for node in nodes if node.partition(".")[0] == here} - out
    widest = max((case.nodes for case in cases), default=0)
    for without in [out | mine, out] if mine else [out]:
        if {*nodes} <= without:
            continue
        allocation = _granted(site, job, seed, without)
        if widest <= len(allocation.nodes):
            if mine - without:
                say(f"{named} has no node to spare: assay itself takes time of {min(mine)}")
            return allocation
    return None


def _has_whole(job: dict[str, str], nodes: int, site: Site) -> bool:
    """True of a job that has its `nodes` whole, so that no ranks of others run on them."""
    if job.get("OverSubscribe") == "NO":
        return True
    shown = asked(site, "scontrol", "show", "node", "-o", job["NodeList"]).stdout
    # Slurm's CPUs: two a core where nodes have hardware threads.
    each = [commands.fields(line) for line in shown.splitlines()]
    cpus = [node.get("CPUEfctv") or node.get("CPUTot", "") for node in each]
    known = len(cpus) == nodes and all(map(str.isdecimal, cpus))
    needed = sum(map(int, cpus)) if known else nodes * site.description.cores_per_node
    return int(job.get("NumCPUs", 0)) >= max(1, needed)
