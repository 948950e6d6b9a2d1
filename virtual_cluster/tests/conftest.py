# SPDX-License-Identifier: Apache-2.0
"""Clusters of tests."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

import virtual_cluster
from virtual_cluster.api import Cluster
from virtual_cluster.spec import ClusterSpec


@pytest.fixture(scope="module")
def shared() -> Iterator[Cluster]:
    """A cluster that tests use without changing it."""
    name = f"t-s{os.getpid()}"
    try:
        yield virtual_cluster.up(ClusterSpec(name, nodes=4, network="fast-ethernet"))
    finally:
        virtual_cluster.down(name)


@pytest.fixture
def name() -> Iterator[str]:
    """Name of a cluster that is taken down whatever happens."""
    name = f"t-o{os.getpid()}"
    yield name
    virtual_cluster.down(name)
