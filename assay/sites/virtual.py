# SPDX-License-Identifier: Apache-2.0
"""A site that is a virtual cluster of this machine."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from assay.sites.description import NetworkDescription, SiteDescription, StorageDescription
from assay.sites.site import Site
from records.run.provenance import SiteAsRun
from records.site.topology import TopologyDescription
from virtual_cluster import Cluster, load, planned

#: A segment of 1448 bytes takes a frame's room on the wire, preamble and gap included.
PAYLOAD_SHARE = 1448 / 1538


class VirtualSite(Site):
    """A cluster that is up; it fills in its capacity, network, topology and work folder."""

    down_nodes_return = False  # one without power stays so until somebody restores it

    def __init__(self, description: SiteDescription, cluster: Cluster) -> None:
        facts = cluster.site_facts()
        switches = facts["switches"]
        network = {
            "name": facts["network"],
            "bits_per_second": facts["network_bits_per_s"],
            "payload_share": PAYLOAD_SHARE,
            "burst_bytes": facts["network_burst_bytes"],
        }
        filled = {
            "nodes": len(facts["nodes"]),
            "cores_per_node": facts["cores_per_node"],
            "memory_bytes_per_node": facts["memory_bytes_per_node"],
            "network": NetworkDescription(**network),
            # One switch alone makes no topology: all nodes are alike.
            "topology": TopologyDescription(switches=switches) if len(switches) > 1 else None,
            "shared_cores": facts["cores"],
            "work_dir": facts["work_dir"],
            "storage": {
                "disk": _storage(facts["work_dir"]),
                "memory": _storage("/dev/shm", shared=not facts["isolated"]),  # noqa: S108
            },
        }
        super().__init__(description.model_copy(update=filled))
        self._cluster, self._facts = cluster, facts

    @classmethod
    def load(cls, description: SiteDescription, cluster: str) -> VirtualSite:
        """The cluster of that name, or the one that the description names.

        Raises ClusterDownError when it is not up, UnreachableError when it no longer serves.
        """
        return cls(description, load(cluster or description.virtual_cluster or "default"))

    @classmethod
    def planned(cls, description: SiteDescription, cluster: str) -> VirtualSite:
        """The site that the cluster would be if it were brought up now, for a plan alone."""
        return cls(description, planned(cluster or description.virtual_cluster or "default"))

    @classmethod
    def revival(cls, began_on: SiteAsRun) -> str:
        """`assay cluster up` with the size, network and switches of the provenance."""
        options = {
            "name": (began_on.asked_as or "").partition(":")[2],
            "nodes": began_on.nodes,
            "cpus-per-node": began_on.cores_per_node,
            "network": began_on.network.name,
            "switches": began_on.switches,
            "awake": began_on.cores_awake,
        }
        # People copy the command into a shell, and a provenance may be anybody's.
        words = [f"--{name} {shlex.quote(str(value))}" for name, value in options.items() if value]
        return " ".join(["assay cluster up", *words])

    def command(
        self, argv: list[str], variables: dict[str, str], folder: Path | None = None
    ) -> tuple[list[str], dict[str, str]]:
        """`argv` on the login host of the cluster."""
        return self._cluster.user_command(argv, variables, folder), dict(os.environ)

    def variables(self) -> dict[str, str]:
        """None: the cluster's hosts have an environment of their own."""
        return {}

    def show_to_jobs(self, folders: Sequence[Path]) -> None:
        """Of the machine, the cluster's hosts have its programs alone."""
        self._cluster.show(folders)

    def identity(self) -> str:
        """A cluster that is brought up anew is another one."""
        return str(self._facts["identity"])

    def provenance(self) -> SiteAsRun:
        """As of every site, with the tree of switches and how cores are kept awake."""
        tree, awake = self._facts["tree"], self._facts["awake"]
        return replace(super().provenance(), virtual=True, switches=tree, cores_awake=awake)


def _storage(folder: str, *, shared: bool = True) -> StorageDescription:
    """A folder of this machine, with the type of its file system."""
    words = (line.split() for line in Path("/proc/mounts").read_text().splitlines())
    leading = ((len(at), of) for _, at, of, *_ in words if Path(folder).is_relative_to(at))
    file_system = max(leading, key=lambda one: one[0], default=(0, "unknown"))[1]
    return StorageDescription(folder=folder, file_system=file_system, shared=shared)
