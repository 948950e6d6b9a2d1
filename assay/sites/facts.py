# SPDX-License-Identifier: Apache-2.0
"""Facts that a plan must know of a site, and nothing of its hosts, partitions or paths."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from checks.common.definition import SiteCapacity
from records.errors import AssayError


@dataclass(frozen=True)
class SiteFacts(SiteCapacity):
    """Capacity of a site and what its environments offer when the site is used.

    `environments` maps each environment's name to its features, e.g. {"lam": {"mpi"}}; `missing`
    says for each environment why a foreign program of its description is not offered, `absent` of
    a campaign's variant why the site cannot give it.
    `longest_job_s` is what the partition allows a job; None: nothing is known of it. `resources`
    are those that cases may ask for, each with the values that it takes.
    """

    environments: Mapping[str, frozenset[str] | set[str]]
    missing: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    partition: str = ""
    sockets_per_node: int | None = None
    longest_job_s: int | None = None
    resources: Mapping[str, frozenset[str]] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)

    def with_cpus_per_task(self, cpus: int | None) -> SiteFacts:
        """The site as it is for ranks of so many CPUs; a node has room for one of them at least."""
        if cpus is None:
            return self
        return replace(self, cores_per_node=max(1, self.cores_per_node // cpus))

    def __post_init__(self) -> None:
        for key in ("nodes", "cores_per_node", "memory_bytes_per_node"):
            if getattr(self, key) < 1:
                raise AssayError(
                    f"site {self.name}: {key} is {getattr(self, key)}; allowed is 1 or more"
                )
