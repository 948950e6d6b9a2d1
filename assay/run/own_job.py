# SPDX-License-Identifier: Apache-2.0
"""A harness that runs in a job itself: its launches must not need the nodes that it holds."""

from __future__ import annotations

import os
import re

from assay.run.infrastructure import answer_of, asked
from assay.sites.site import Site
from checks.common.slurm_answers import fields
from records.errors import AssayError
from records.plan import Plan


def running_job(site: Site, job: str) -> dict[str, str] | None:
    """What Slurm says of a job that runs and holds nodes now; None of any other.

    Raises InfrastructureError without Slurm.
    """
    described = fields(asked(site, "scontrol", "show", "job", "-o", job).stdout)
    if described.get("JobState") != "RUNNING" or described.get("NodeList", "(null)") == "(null)":
        return None
    return described


def own_job(site: Site) -> dict[str, str] | None:
    """What Slurm says of the job that this process runs in; None outside of the site's jobs."""
    job = os.environ.get("SLURM_JOB_ID")
    if job is None or os.environ.get("SLURM_CLUSTER_NAME") != _cluster(site):
        return None
    return running_job(site, job)


def has_whole(job: dict[str, str], nodes: int, site: Site) -> bool:
    """Whether a job has its `nodes` whole, so that no ranks of others run beside the measured."""
    cores = nodes * site.description.cores_per_node
    return job.get("OverSubscribe") == "NO" or int(job.get("NumCPUs", 0)) >= max(1, cores)


def refuse_own_nodes(site: Site, plan: Plan) -> None:
    """Raise AssayError where launches would wait for ever for nodes that this process's job has.

    Launches have their nodes alone, so that a core of a node is as good as the node.
    """
    described = own_job(site)
    if described is None:
        return
    job, held = described["JobId"], described["NodeList"]
    partition = f"--partition={site.description.slurm_partition}"
    nodes = set(answer_of(site, "sinfo", "-hN", partition, "--format=%N").split())
    mine = set(answer_of(site, "scontrol", "show", "hostnames", held).split()) & nodes
    needed = max((case.nodes for case in plan.cases if case.skipped is None), default=0)
    if mine and needed > len(nodes - mine):
        most = max(len(nodes - mine), len(mine) if has_whole(described, len(mine), site) else 0)
        fewer = f", leave wider launches out by --nodes {most}" if 0 < most < needed else ""
        raise AssayError(
            f"job {job}, in which assay runs, holds {len(mine)} of the {len(nodes)} nodes of"
            f" partition {site.description.partition}; launches of {needed} nodes would wait for it"
            f" for ever. Run assay in a job of {needed} whole nodes (--exclusive){fewer}, or run it"
            " on a login node or in a job of another partition; nothing was run"
        )


def _cluster(site: Site) -> str | None:
    settings = answer_of(site, "scontrol", "show", "config")
    found = re.search(r"^ClusterName\s*=\s*(\S+)", settings, re.MULTILINE)
    return found[1] if found else None
