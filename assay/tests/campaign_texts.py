# SPDX-License-Identifier: Apache-2.0
"""A small right campaign and right criteria as text, for tests to spoil, and sites to plan on."""

from typing import Any

import pytest

from assay.plan.cases import Narrowing
from assay.plan.planner import make_plan
from assay.schema.loading import campaign_from_text
from assay.sites.loading import SlurmSite
from assay.sites.site import SiteFacts
from assay.sites.site_file import read_description
from records.errors import AssayError, ExitStatus
from records.run.plan import Plan

GOOD = """\
schema: 1
name: small
question: Which is faster?
environments: [mpich, lam]
blocks: 3
seed: 7
cases:
- check: hpl
  matrix:
    grid: [{p: 1, q: 1}, {p: 1, q: 2}]
    n: [1000, 2000]
  fixed: {nb: 64}
- check: pt2pt
  fixed: {sizes: [300, 600]}
  environments: [lam]
limits: {node_hours: 5, launch_s: 100}
weights: {hpl: 2, pt2pt: 0.5}
"""
#: Criteria for the runs of reports.tests.acceptance_runs.
CRITERIA = """\
schema: 1
name: mine
title: Mine
criteria:
  - {id: triad, kind: nodes, title: T, check: node, metric: stream_triad}
  - {id: promise, kind: limit, title: P, check: node, metric: stream_triad, at_least: 1.0e+9,
     unit: bytes/s}
"""
#: A small right site file.
SITE_FILE = """\
schema: 2
name: here
partitions:
  all: {nodes: 4, cores_per_node: 2, memory_bytes_per_node: 8000000000}
environments:
  lam: {description: LAM, compiler: mpicc.lam, launcher: assay-lam, library: LAM}
"""
SIZE = {"nodes": 4, "cores_per_node": 2, "memory_bytes_per_node": 2**33}
MPI = frozenset({"mpi"})
SITE = SiteFacts(
    name="virtual",
    nodes=4,
    cores_per_node=1,
    memory_bytes_per_node=1_400_000_000,
    environments={"mpich": MPI, "openmpi": MPI, "lam": MPI, "lam-lamd": MPI},
)


def campaign_of(*cases: str, environments: str = "mpich") -> str:
    """A campaign of these cases."""
    head = "schema: 1\nname: c\nquestion: which?\nblocks: 3\nseed: 7\n"
    return f"{head}environments: [{environments}]\ncases:\n" + "".join(f"- {c}\n" for c in cases)


def spoiled(old: str, new: str) -> str:
    """The good campaign with one thing changed."""
    assert GOOD.count(old) == 1, old
    return GOOD.replace(old, new)


def plan_of(text: str = GOOD, site: SiteFacts = SITE, **asked: Any) -> Plan:
    """The plan of a campaign, narrowed as a command line asks."""
    return make_plan(campaign_from_text("c.yaml", text), site, Narrowing(**asked))


def refusal(text: str, site: SiteFacts | None = None) -> str:
    """The message by which a campaign is refused, or its plan on a site."""
    with pytest.raises(AssayError) as caught:
        plan_of(text, site) if site else campaign_from_text("c.yaml", text)
    assert caught.value.status == ExitStatus.BAD_INPUT
    return str(caught.value)


def virtual_site(**changed: Any) -> SlurmSite:
    """The site of virtual clusters with some of its description changed."""
    return SlurmSite(read_description("virtual").model_copy(update=changed))


def site_of_mpich(environment: dict[str, Any], **changed: Any) -> SlurmSite:
    """The site of virtual clusters with MPICH alone, and some of both descriptions changed."""
    mpich = read_description("virtual").environments["mpich"].model_copy(update=environment)
    return virtual_site(environments={"mpich": mpich}, **changed)
