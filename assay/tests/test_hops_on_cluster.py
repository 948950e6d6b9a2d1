# SPDX-License-Identifier: Apache-2.0
"""A campaign that asks for hop counts, on a virtual cluster whose switches make a tree."""

import os

import pytest

from assay.tests.test_run_on_cluster import campaign, pytestmark, records_of, run, the_run
from virtual_cluster import up
from virtual_cluster.spec import ClusterSpec

__all__ = ["pytestmark"]
HOPS = (
    "  - check: echo\n    matrix: {hops: [1, 2, 3]}\n"
    "    fixed: {sizes: [8], iterations: 10, warmup: 2}\n"
)


@pytest.fixture
def cluster():
    made = up(ClusterSpec(f"t-h{os.getpid()}", nodes=4, switches="2"), lambda _: None)
    yield made
    made.down(lambda _: None)


def test_launches_lie_as_far_apart_as_asked_and_say_so(cluster, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = campaign(tmp_path, "hops", "mpich", 1, HOPS)
    status, output = run(path, "--site", f"virtual:{cluster.name}")
    assert status == 0, output
    found = {r.params["hops"]: r for r in records_of(the_run(tmp_path, "hops"))}
    assert [found[hops].status for hops in (1, 2, 3)] == ["ok", "skipped", "ok"]
    assert found[1].nodes == ["n1", "n2"]
    # n3 has n1's core on a machine of two cores; n4 has another one.
    assert found[3].nodes[0] == "n1"
    assert found[3].nodes[1] in {"n3", "n4"}
    for hops in (1, 3):
        told = [metric.value for metric in found[hops].metrics if metric.name == "hops"]
        assert told == [hops]
        assert "oversubscribed" not in found[hops].flags
