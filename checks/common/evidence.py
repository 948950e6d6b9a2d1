# SPDX-License-Identifier: Apache-2.0
"""Did the launch measure what it claims? Hosts, library, cores and the wire, from its evidence.

Every program is linked with checks/common/src/evidence, which reports at MPI_Finalize where each
rank ran, on which cores, which library served it, and how many bytes of a probe between hosts
really arrived on the receiving host's network interfaces.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from checks.common.json_lines import OutputError
from records.flags import NETWORK_UNPROVEN, OVERSUBSCRIBED


@dataclass(frozen=True)
class Claim:
    """What the harness asked for: `nodes` in order, ranks on each, and the library's name.

    `seen` are variables with the values that ranks must find, by which a setting was changed.
    """

    nodes: Sequence[str]
    ranks: int
    ranks_per_node: int
    library_pattern: str
    wire_is_counted: bool = True
    hosts_take_turns: bool = False
    seen: Mapping[str, str] = field(default_factory=dict)


def contradictions(evidence: dict[str, Any] | None, claim: Claim) -> list[str]:
    """Every contradiction between evidence and claim; empty if there is none."""
    if evidence is None:
        return ["the launch gave no evidence of where its ranks ran"]
    found = []
    named = f"{evidence.get('library')} {evidence.get('library_file')}"
    if not re.search(claim.library_pattern, named):
        found.append(f"the library calls itself {named!r}; expected was {claim.library_pattern!r}")
    variables = evidence.get("variables") or {}
    for name, value in claim.seen.items():
        if variables.get(name) != value:
            found.append(
                f"the setting {name} reached rank 0 as {variables.get(name)!r}; asked for was"
                f" {value!r}"
            )
    return [
        *found,
        *_placement(evidence.get("ranks") or [], claim),
        *_wire(evidence.get("links") or [], claim),
    ]


def short_host(host: str) -> str:
    """A host's name without its domain."""
    return host.split(".", maxsplit=1)[0]


def hosts_by_rank(evidence: dict[str, Any] | None) -> list[str]:
    """The short name of each rank's host. Raises OutputError unless every rank reported once."""
    ranks = (evidence or {}).get("ranks")
    try:
        found = {rank["rank"]: short_host(rank["host"]) for rank in ranks or []}
        hosts = [found[rank] for rank in range(len(ranks or []))]
    except (AttributeError, KeyError, TypeError):
        hosts = []
    if not hosts:
        raise OutputError(f"the evidence does not name a host for each rank: {ranks!r:.200}")
    return hosts


def _placement(ranks: list[dict[str, Any]], claim: Claim) -> list[str]:
    if len(ranks) != claim.ranks:
        return [f"{len(ranks)} ranks reported, {claim.ranks} were asked for"]
    found = Counter(short_host(str(rank.get("host"))) for rank in ranks)
    nodes = claim.nodes[: -(-claim.ranks // claim.ranks_per_node)]
    strangers = sorted(set(found) - {short_host(node) for node in claim.nodes})
    if strangers:
        return [f"ranks ran on {', '.join(strangers)}, outside the job's nodes"]
    expected = Counter({short_host(node): claim.ranks_per_node for node in nodes})
    if sorted(found.values()) != sorted(expected.values()):
        return [f"ranks per node were {dict(found)}, asked for was {claim.ranks_per_node} a node"]
    return []


def _wire(links: list[dict[str, Any]], claim: Claim) -> list[str]:
    nodes = -(-claim.ranks // claim.ranks_per_node)
    if nodes < 2 or not claim.wire_is_counted:
        return []
    if len(links) < nodes:
        return [f"{len(links)} links between {nodes} nodes were probed"]
    return [
        f"between {link['from_host']} and {link['to_host']} the network was not used:"
        f" {link['sent_bytes']} bytes were sent, {link['arrived_bytes']} came in on the"
        " receiver's interfaces (shared memory of one kernel?)"
        for link in links
        if link["arrived_bytes"] < link["sent_bytes"]
    ]


def flags(evidence: dict[str, Any] | None, claim: Claim) -> list[str]:
    """Flags to show beside the launch's metrics."""
    if evidence is None:
        return []
    ranks = evidence.get("ranks") or []
    busy_together = [ranks]
    if claim.hosts_take_turns:
        hosts = {str(rank.get("host")) for rank in ranks}
        busy_together = [[r for r in ranks if str(r.get("host")) == host] for host in hosts]
    found = [OVERSUBSCRIBED] if any(map(oversubscribed, busy_together)) else []
    if claim.ranks > claim.ranks_per_node and not claim.wire_is_counted:
        found.append(NETWORK_UNPROVEN)
    return found


def oversubscribed(ranks: Iterable[dict[str, Any]]) -> bool:
    """True when the ranks of one kernel cannot each have a core of their own.

    Ranks are grouped by boot id (virtual nodes share one kernel); in each group a matching of
    ranks to allowed cores is sought by augmenting paths (Kuhn 1955).
    """
    groups: dict[str, list[list[int]]] = defaultdict(list)
    for rank in ranks:
        groups[str(rank.get("boot_id"))].append(list(rank.get("cpus") or []))
    return any(not _matching_exists(masks) for masks in groups.values())


def _matching_exists(masks: list[list[int]]) -> bool:
    holder: dict[int, int] = {}

    def place(rank: int, tried: set[int]) -> bool:
        for core in masks[rank]:
            if core not in tried:
                tried.add(core)
                if core not in holder or place(holder[core], tried):
                    holder[core] = rank
                    return True
        return False

    return all(place(rank, set()) for rank in range(len(masks)))
