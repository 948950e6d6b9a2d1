# SPDX-License-Identifier: Apache-2.0
"""Evidence for tests: ranks on given hosts, each with a core of its own, the wire used."""

from __future__ import annotations

from checks.common.evidence import Evidence, Link, RankFacts


def evidence_of(*hosts: str, library: str = "MPICH Version:\t4.0.2") -> Evidence:
    """The evidence of a launch whose ranks ran on `hosts`."""
    ranks = [RankFacts(rank, host, [rank], "one kernel") for rank, host in enumerate(hosts)]
    ring = list(dict.fromkeys(hosts))
    links = [Link(a, b, 262144, 263584) for a, b in zip(ring, [*ring[1:], ring[0]], strict=True)]
    return Evidence(library, "/usr/lib/libmpich.so.12", ranks, links)
