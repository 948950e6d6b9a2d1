# SPDX-License-Identifier: Apache-2.0
"""A multi-node Slurm cluster made of one Linux machine's namespaces."""

from virtual_cluster.api import Cluster, down, load, planned, revive, up
from virtual_cluster.spec import NETWORKS, ClusterSpec

__all__ = ["NETWORKS", "Cluster", "ClusterSpec", "down", "load", "planned", "revive", "up"]
