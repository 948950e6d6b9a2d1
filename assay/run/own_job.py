# SPDX-License-Identifier: Apache-2.0
"""A harness that runs in a job itself: which of its nodes serve launches; none may be needed that
the job keeps from them.
"""

from __future__ import annotations

import os
import re

from assay.run.infrastructure import answer_of, asked
from assay.sites.site import Site
from checks.common.slurm.commands import fields, job_line
from checks.common.slurm.text import option_values
from records.errors import AssayError
from records.plan import Plan


def running_job(site: Site, job: str) -> dict[str, str] | None:
    """What Slurm says of a job that runs and holds nodes now; None of any other.

    Raises InfrastructureError without Slurm.
    """
    told = asked(site, "scontrol", "show", "job", "-o", job).stdout
    described = fields(job_line(told, job))
    if described.get("JobState") != "RUNNING" or described.get("NodeList", "(null)") == "(null)":
        return None
    return described


def own_job(site: Site) -> dict[str, str] | None:
    """What Slurm says of the job that this process runs in; None outside of the site's jobs.

    Raises AssayError in a heterogeneous job, whose components are jobs of their own.
    """
    job = os.environ.get("SLURM_JOB_ID")
    if job is None or os.environ.get("SLURM_CLUSTER_NAME") != _cluster(site):
        return None
    described = running_job(site, job)
    if described is not None and "HetJobId" in described:
        raise AssayError(
            f"job {job}, in which assay runs, is a component of heterogeneous job"
            f" {described['HetJobId']}, and launches would get nodes of one component only. Run"
            " assay in a job without components, or on a login node; nothing was run"
        )
    return described


def named_nodes(site: Site, listed: str) -> list[str]:
    """The nodes of a list in Slurm's notation."""
    return answer_of(site, "scontrol", "show", "hostnames", listed).split()


def has_whole(job: dict[str, str], nodes: int, site: Site) -> bool:
    """Whether a job has its `nodes` whole, so that no ranks of others run beside the measured."""
    if job.get("OverSubscribe") == "NO":
        return True
    told = asked(site, "scontrol", "show", "node", "-o", job["NodeList"]).stdout
    each = [fields(line) for line in told.splitlines()]
    # Slurm's CPUs: two a core where nodes have hardware threads.
    cpus = [one.get("CPUEfctv") or one.get("CPUTot", "") for one in each]
    known = len(cpus) == nodes and all(map(str.isdecimal, cpus))
    needed = sum(map(int, cpus)) if known else nodes * site.description.cores_per_node
    return int(job.get("NumCPUs", 0)) >= max(1, needed)


def left_out(site: Site) -> set[str]:
    """The nodes that the options of every sbatch keep launches off."""
    return {
        node
        for listed in option_values(site.description.access, "exclude", "x")
        for node in named_nodes(site, listed)
    }


def other_kind(site: Site, job: dict[str, str]) -> str | None:
    """The option that tells the site's nodes from others, where this job may have others; None:
    it has the site's."""
    constraint = option_values(site.description.access, "constraint", "C")[-1:]
    if constraint and constraint != [job.get("Features")]:
        return f"--constraint={constraint[0]}"
    listed = option_values(site.description.access, "nodelist", "w")[-1:]
    held = named_nodes(site, job["NodeList"]) if listed else ()
    if set(held) - {node for one in listed for node in named_nodes(site, one)}:
        return f"--nodelist={listed[0]}"
    return None


def refuse_own_nodes(site: Site, plan: Plan) -> None:
    """Raise AssayError where launches would wait for ever for nodes that this process's job has.

    Launches have their nodes alone, so that a core of a node is as good as the node.
    """
    described = own_job(site)
    if described is None:
        return
    job, held = described["JobId"], described["NodeList"]
    partition = f"--partition={site.description.slurm_partition}"
    every = set(answer_of(site, "sinfo", "-hN", partition, "--format=%N").split())
    nodes, names = every - left_out(site), named_nodes(site, held)
    mine = set(names) & nodes
    needed = max((case.nodes for case in plan.cases if case.skipped is None), default=0)
    if mine and needed > len(nodes - mine):
        kind = other_kind(site, described)
        serves = kind is None and has_whole(described, len(names), site)
        most = max(len(nodes - mine), len(mine) if serves else 0)
        options = " ".join(filter(None, ["--exclusive", kind]))
        fewer = f", leave wider launches out by --nodes {most}" if 0 < most < needed else ""
        raise AssayError(
            f"job {job}, in which assay runs, holds {len(mine)} of the {len(nodes)} nodes of"
            f" partition {site.description.partition}; launches of {needed} nodes would wait for it"
            f" for ever. Run assay in a job of {needed} whole nodes ({options}){fewer}, or run it"
            " on a login node or in a job of another partition; nothing was run"
        )


def _cluster(site: Site) -> str | None:
    settings = answer_of(site, "scontrol", "show", "config")
    found = re.search(r"^ClusterName\s*=\s*(\S+)", settings, re.MULTILINE)
    return found[1] if found else None
