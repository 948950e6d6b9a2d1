# SPDX-License-Identifier: Apache-2.0
"""Clusters of tests."""

from collections.abc import Iterator

import pytest

from virtual_cluster import api
from virtual_cluster.api import Cluster
from virtual_cluster.tests.clusters import made, own_name


@pytest.fixture(scope="module")
def shared() -> Iterator[Cluster]:
    """A cluster that tests use without changing it."""
    with made("s", nodes=4, network="fast-ethernet") as cluster:
        yield cluster


@pytest.fixture
def name() -> Iterator[str]:
    """Name of a cluster that is taken down whatever happens."""
    name = own_name("o")
    yield name
    api.down(name)
