# SPDX-License-Identifier: Apache-2.0
"""A multi-node Slurm cluster made of one Linux machine's namespaces."""

from virtual_cluster.api import Cluster, load, planned, up
from virtual_cluster.lifecycle import down, revive
from virtual_cluster.spec import NETWORKS, ClusterSpec

__all__ = ["NETWORKS", "Cluster", "ClusterSpec", "down", "load", "planned", "revive", "up"]
