# SPDX-License-Identifier: Apache-2.0
"""The cluster of all tests of a worker that change nothing of it that they do not restore."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.tests.test_run_on_cluster import CLUSTER
from virtual_cluster import Cluster, ClusterSpec, up


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """Of four nodes. What is built on it once is built for all."""
    made = up(ClusterSpec(CLUSTER, nodes=4, network="unlimited"), lambda _: None)
    yield made
    made.down(lambda _: None)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, which is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
