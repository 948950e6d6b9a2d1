# SPDX-License-Identifier: Apache-2.0
"""Nodes of launches in one allocation: those of the job that assay runs in, and such that are so
many hops apart as cases ask for."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Collection, Iterable, Mapping, Sequence

from assay.run.infrastructure import answer_of, asked, node_states
from assay.sites.site import Site
from assay.terminal import Say
from checks.common.registry import CHECKS
from checks.common.slurm import commands
from checks.common.slurm.allocation import Allocation
from records.errors import AssayError
from records.run.plan import PlannedCase


def holds_nodes(job: Mapping[str, str]) -> bool:
    """True of a job, as Slurm describes it, that runs and holds nodes."""
    return job.get("JobState") == "RUNNING" and job.get("NodeList", "(null)") != "(null)"


def own_job(site: Site) -> dict[str, str] | None:
    """Slurm's description of the job that this process runs in; None outside of its jobs. Raises
    AssayError in a heterogeneous job, whose components are jobs of their own."""
    job, cluster = os.environ.get("SLURM_JOB_ID"), os.environ.get("SLURM_CLUSTER_NAME")
    if job is None or cluster is None:
        return None
    if cluster != commands.setting(answer_of(site, "scontrol", "show", "config"), "ClusterName"):
        return None
    described = commands.fields(
        commands.job_line(asked(site, "scontrol", "show", "job", "-o", job).stdout, job)
    )
    if not holds_nodes(described):
        return None
    if "HetJobId" in described:
        raise AssayError(
            f"job {job}, in which assay runs, is a component of heterogeneous job"
            f" {described['HetJobId']}, and launches would get nodes of one component only. Run"
            " assay in a job without components, or on a login node; nothing was run"
        )
    return described


def named_nodes(site: Site, listed: str) -> list[str]:
    """The nodes of a list in Slurm's notation."""
    return answer_of(site, "scontrol", "show", "hostnames", listed).split()


def granted(
    site: Site, job: Mapping[str, str], seed: int, without: Collection[str] = ()
) -> Allocation:
    """The allocation of a job as Slurm describes it while it runs, but for nodes `without`."""
    nodes = [node for node in named_nodes(site, job["NodeList"]) if node not in without]
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

    None outside a job of the site's cluster, in one of fewer nodes or of another kind, and in one
    that does not have them whole: others' ranks could run on them meanwhile. The node that this
    process runs on is left out where the others suffice.
    """
    job = own_job(site)
    if job is None or job.get("Partition") != site.description.slurm_partition:
        return None
    named = f"job {job['JobId']}, in which assay runs,"
    if (kind := _other_kind(site, job)) is not None:
        say(f"the nodes of {named} are not used: they were asked for without {kind}")
        return None
    nodes = named_nodes(site, job["NodeList"])
    if not _has_whole(job, len(nodes), site):
        return None
    out, here = _left_out(site), socket.gethostname().partition(".")[0]
    mine = {node for node in nodes if node.partition(".")[0] == here} - out
    widest = max((case.nodes for case in cases), default=0)
    for without in [out | mine, out] if mine else [out]:
        if set(nodes) <= without:
            continue
        found = granted(site, job, seed, without)
        if widest <= len(found.nodes):
            if mine - without:
                say(f"{named} has no node to spare: assay itself takes time of {min(mine)}")
            return found
    return None


def refuse_own_nodes(site: Site, needed: int) -> None:
    """Raise AssayError where launches of `needed` nodes would wait for ever for nodes that this
    process's job has. They have nodes alone, so that a core of a node is as good as the node."""
    job = own_job(site)
    if job is None:
        return
    nodes = {*(partition_nodes(site) or node_states(site))} - _left_out(site)
    free = nodes - {*named_nodes(site, job["NodeList"])}
    if free != nodes and needed > len(free):
        fewer = f", leave wider launches out by --nodes {len(free)}" if free else ""
        raise AssayError(
            f"job {job['JobId']}, in which assay runs, holds {len(nodes - free)} of the"
            f" {len(nodes)} nodes of partition {site.description.partition}; launches of {needed}"
            f" nodes would wait for it for ever. Run assay in a job of {needed} whole nodes"
            f" (--exclusive){fewer}, or run it on a login node or in a job of another partition;"
            " nothing was run"
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
    named = [
        node
        for listed in commands.option_values(access, "nodelist", "w")
        for node in named_nodes(site, listed)
    ]
    return sorted({*kind} & {*named} if named else kind)


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


def _left_out(site: Site) -> set[str]:
    """The nodes that the options of every sbatch keep launches off."""
    excluded = commands.option_values(site.description.access, "exclude", "x")
    return {node for listed in excluded for node in named_nodes(site, listed)}


def _other_kind(site: Site, job: dict[str, str]) -> str | None:
    """sbatch option that selects the site's nodes, where this job may have others; else None."""
    constraint = commands.option_values(site.description.access, "constraint", "C")[-1:]
    if constraint and constraint != [job.get("Features")]:
        return f"--constraint={constraint[0]}"
    listed = commands.option_values(site.description.access, "nodelist", "w")[-1:]
    if listed and set(named_nodes(site, job["NodeList"])) - set(named_nodes(site, listed[0])):
        return f"--nodelist={listed[0]}"
    return None


def nodes_far_apart(cases: Iterable[PlannedCase], site: Site) -> list[str]:
    """Nodes among which are two of each number of hops that a case asks for; preferred are such
    that jobs get now, then such that are up."""
    described, wanted = site.description.topology, _hops_asked(cases)
    if described is None or not wanted:
        return []
    topology, cores, states = described.topology(), site.description.shared_cores, node_states(site)
    usable = {name for name, state in states.items() if commands.is_usable(state)}
    up = {name for name, state in states.items() if not commands.is_down(state)}
    found = set[str]()
    for hops in wanted:
        pairs = (topology.pair_at(hops, cores, among) for among in (usable, up, None))
        found.update(next(filter(None, pairs), ()))
    return sorted(found)


def _hops_asked(cases: Iterable[PlannedCase]) -> dict[int, str]:
    """Each number of hops that cases ask for, with the check of one of them."""
    found: dict[int, str] = {}
    for case in cases:
        # Slurm places what a campaign brings.
        definition = CHECKS.get(case.check)
        if definition and case.skipped is None and case.params.get("hops"):
            hops = definition.hops_asked(definition.parameters.model_validate(case.params))
            found.setdefault(hops, case.check)
    return {hops: found[hops] for hops in sorted(found) if hops}
