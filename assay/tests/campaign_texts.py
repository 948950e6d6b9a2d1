# SPDX-License-Identifier: Apache-2.0
"""A small right campaign and right criteria as text, for tests to spoil, and sites to plan on."""

from assay.sites.site import SiteFacts

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
MPI = frozenset({"mpi"})
SITE = SiteFacts(
    name="virtual",
    nodes=4,
    cores_per_node=1,
    memory_bytes_per_node=1_400_000_000,
    environments={"mpich": MPI, "openmpi": MPI, "lam": MPI, "lam-lamd": MPI},
)


def spoiled(old: str, new: str) -> str:
    """The good campaign with one thing changed."""
    assert GOOD.count(old) == 1, old
    return GOOD.replace(old, new)
