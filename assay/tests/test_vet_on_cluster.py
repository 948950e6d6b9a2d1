# SPDX-License-Identifier: Apache-2.0
"""`assay vet --job` inside a job of a virtual cluster."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from assay.tests.test_run_on_cluster import pytestmark
from assay.vet.nodes import own_command
from virtual_cluster import Cluster, ClusterSpec, up

__all__ = ["pytestmark"]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    made = up(ClusterSpec("vet-calls", nodes=2, cpus_per_node=1), lambda _: None)
    yield made
    made.down(lambda _: None)


def test_inside_a_job_the_good_nodes_are_listed_for_what_follows(cluster: Cluster) -> None:
    folder = f"--folder={cluster.site_facts()['home_dir']}/job"
    argv = ["salloc", "--quiet", "-N2", own_command(), "vet", "--job", "--steps=facts", folder]
    ended = subprocess.run(
        cluster.user_command(argv), capture_output=True, text=True, check=False, timeout=120
    )
    assert ended.returncode == 3, ended.stderr
    assert "good n[1-2]" in ended.stdout.splitlines()
