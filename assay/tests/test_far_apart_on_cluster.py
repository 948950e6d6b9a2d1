# SPDX-License-Identifier: Apache-2.0
"""Launches on nodes some hops apart, on a virtual cluster whose switches make a tree."""

import re

import pytest

from assay.tests.test_in_one_job import in_job
from assay.tests.test_run_on_cluster import campaign, own_name, records_of, run, the_run
from assay.tests.test_run_on_cluster import of_full as pytestmark
from virtual_cluster.api import down, up
from virtual_cluster.tests.clusters import booted

__all__ = ["in_job", "pytestmark"]
CLUSTER = own_name("h")
SITE = f"virtual:{CLUSTER}"
HOPS = (
    "  - check: echo\n    matrix: {hops: [1, 2, 3]}\n"
    "    fixed: {sizes: [8], iterations: 10, warmup: 2}\n"
)


@pytest.fixture(scope="module")
def cluster():
    made = up(booted(CLUSTER, nodes=4, switches="2"), lambda _: None)
    yield made
    down(made.name)


def test_launches_lie_as_far_apart_as_asked_and_say_so(cluster, folder):
    status, output = run(campaign(folder, "apart", "mpich", 1, HOPS), "--site", SITE)
    assert status == 0, output
    found = {r.params["hops"]: r for r in records_of(the_run(folder, "apart"))}
    assert [found[hops].status for hops in (1, 2, 3)] == ["ok", "skipped", "ok"]
    assert found[1].nodes == ["n1", "n2"]
    # n3 has n1's core on a machine of two cores; n4 has another one.
    assert found[3].nodes[0] == "n1"
    assert found[3].nodes[1] in {"n3", "n4"}
    for hops in (1, 3):
        assert [metric.value for metric in found[hops].metrics if metric.name == "hops"] == [hops]
        assert "oversubscribed" not in found[hops].flags


def test_a_job_of_nodes_that_are_not_so_far_apart_is_refused(cluster, folder, in_job):
    job = in_job("--nodelist=n1,n2")
    status, output = run(campaign(folder, "hops", "mpich", 1, HOPS), "--site", SITE)
    assert status == 2, output
    assert re.search(rf"\b{job}\b.* lacks n[34]\. Nothing is recorded of it", output), output
