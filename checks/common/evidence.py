# SPDX-License-Identifier: Apache-2.0
"""Did the launch measure what it claims? Hosts, library, cores and the wire, from its evidence.

Every program is linked with checks/common/src/evidence, which reports at MPI_Finalize where each
rank ran, on which cores, which library served it, and how many bytes of a probe between hosts
really arrived on the receiving host's network interfaces.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from records.flags import DISTURBED, DISTURBED_SHARE, NETWORK_UNPROVEN, OVERSUBSCRIBED
from records.site.node_facts import names_in

#: What the probe sends at least; fewer bytes could be other traffic's.
_PROBE_LEAST_BYTES = 2**16
#: Variable in the evidence of a program without MPI: the nodes of its step, as Slurm lists them.
STEP_NODES = "step_nodes"
#: By how much the kernel's counts of a core may be off over a launch: two ticks.
TICKS_S = 0.02


class CoreUsage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who had a rank's cores between MPI_Init and MPI_Finalize, in s (checks/common/src/assay/
    usage.h): `own` of the rank and its children, `parents` of process `parent`, which may be a
    daemon of the library; no program `unused`, summed over the cores, for want of quota `withheld`.
    """

    wall: float
    own: float
    parent: int
    parents: float
    unused: float
    withheld: float


class RankFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where one rank ran since when; `cpus` are the cores of its affinity mask.

    `allowed`: the same as the kernel lists them; only programs of before say it.
    """

    rank: int
    host: str
    cpus: list[int]
    boot_id: str
    allowed: str | None = None
    pid: int | None = None
    start: float | None = None
    usage: CoreUsage | None = None


class Link(
    msgspec.Struct,
    frozen=True,
    rename={"from_rank": "from", "to_rank": "to"},
    forbid_unknown_fields=True,
):
    """Probe from one host to the next: bytes sent, and bytes that came in there."""

    from_host: str
    to_host: str
    sent_bytes: int
    arrived_bytes: int
    from_rank: int | None = None
    to_rank: int | None = None
    #: Why the receiver's counters say nothing, if they do not.
    problem: str = ""


class Evidence(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The evidence of one launch, its ranks in order.

    `device`: what carries messages, if the library reports it: ch4:ofi, ob1:self,tcp,vader, sysv.
    """

    library: str
    library_file: str
    ranks: list[RankFacts]
    links: list[Link]
    variables: dict[str, str] = {}
    standard: str = ""
    device: str = ""
    probe_s: float | None = None

    def hosts(self) -> list[str]:
        """The short name of each rank's host."""
        return [short_host(rank.host) for rank in self.ranks]


@dataclass(frozen=True)
class Claim:
    """Request of the harness: `nodes` in order, ranks on each, and the library's name.

    `seen` are variables with the values that ranks must find, by which a setting was changed;
    `device` is what the site demands to carry messages, "" for any.
    """

    nodes: Sequence[str]
    ranks: int
    ranks_per_node: int
    library_pattern: str
    wire_is_counted: bool = True
    hosts_take_turns: bool = False
    seen: Mapping[str, str] = field(default_factory=dict)
    device: str = ""


def contradictions(evidence: Evidence | None, claim: Claim) -> list[str]:
    """Every contradiction between evidence and claim; empty if there is none."""
    if evidence is None:
        return ["the launch gave no evidence of where its ranks ran"]
    found = []
    named = f"{evidence.library} {evidence.library_file}"
    if not re.search(claim.library_pattern, named):
        found.append(
            f"the library calls itself {named!r:.300}; expected was {claim.library_pattern!r}: if"
            " it is the one that is meant, change `library` of the environment in site.yaml"
        )
    if claim.device and not is_device(evidence.device, claim.device):
        said = f"is {evidence.device:.100}" if evidence.device else "is not reported by the library"
        found.append(
            f"the device {said}; the site demands {claim.device}: use a build of the library with"
            " it or settings that choose it, or change `device` of the environment in site.yaml"
        )
    for name, value in claim.seen.items():
        seen = evidence.variables.get(name)
        if seen != value:
            found.append(
                f"the setting {name} reached rank 0 as {seen!r:.100}; asked for was {value!r}"
            )
    step = evidence.variables.get(STEP_NODES, "")
    if not {*names_in(step)} <= {*claim.nodes}:
        found.append(f"Slurm's step ran on {step:.80}, outside the job's nodes")
    hosts = Counter(evidence.hosts())
    nodes = claim.nodes[: -(-claim.ranks // claim.ranks_per_node)]
    if len(evidence.ranks) != claim.ranks:
        found.append(f"{len(evidence.ranks)} ranks reported, {claim.ranks} were asked for")
    elif strangers := sorted(set(hosts) - {short_host(node) for node in claim.nodes}):
        found.append(f"ranks ran on {', '.join(strangers):.200}, outside the job's nodes")
    elif sorted(hosts.values()) != [claim.ranks_per_node] * len(set(map(short_host, nodes))):
        asked = f"asked for was {claim.ranks_per_node} a node"
        found.append(f"ranks per node were {dict(hosts)}, {asked}")
    return [*found, *_wire(evidence, claim)]


def is_device(found: str, demanded: str) -> bool:
    """True if a device is the one demanded, which may leave out parts from behind and name some of
    several transports: ch4 is met by ch4:ofi, ob1:tcp by ob1:self,tcp,vader.
    """
    parts, wanted = found.split(":"), demanded.split(":")
    return len(wanted) <= len(parts) and all(
        set(want.split(",")) <= set(part.split(","))
        for want, part in zip(wanted, parts, strict=False)
    )


def short_host(host: str) -> str:
    """A host's name without its domain."""
    return host.split(".", maxsplit=1)[0]


def _wire(evidence: Evidence, claim: Claim) -> list[str]:
    """The probe went to every host, and came in there."""
    nodes = -(-claim.ranks // claim.ranks_per_node)
    if nodes < 2 or not claim.wire_is_counted:
        return []
    if len(evidence.links) < nodes:
        return [f"{len(evidence.links)} links between {nodes} nodes were probed"]
    hosts = Counter(set(evidence.hosts()))
    for way in ("from", "to"):
        ends = Counter(short_host(getattr(link, f"{way}_host")) for link in evidence.links)
        if ends != hosts:
            return [f"links {way} {dict(ends)!s:.200} were probed; right is one of each host"]
    return [
        f"between {link.from_host:.100} and {link.to_host:.100} the network was not used:"
        f" {link.sent_bytes} bytes were sent, {link.arrived_bytes} came in on the"
        " receiver's interfaces (shared memory of one kernel?)"
        for link in evidence.links
        if link.sent_bytes < _PROBE_LEAST_BYTES
        or (link.arrived_bytes < link.sent_bytes and not link.problem)
    ]


def flags(evidence: Evidence | None, claim: Claim) -> list[str]:
    """Flags to show with the launch's metrics."""
    if evidence is None:
        return []
    busy_together = [evidence.ranks]
    if claim.hosts_take_turns:
        hosts = {facts.host for facts in evidence.ranks}
        busy_together = [[one for one in evidence.ranks if one.host == host] for host in hosts]
    found = [OVERSUBSCRIBED] if any(map(oversubscribed, busy_together)) else []
    if others_share(evidence.ranks) > DISTURBED_SHARE:
        found.append(DISTURBED)
    blind = any(link.problem for link in evidence.links)
    if claim.ranks > claim.ranks_per_node and (blind or not claim.wire_is_counted):
        found.append(NETWORK_UNPROVEN)
    return found


def others_share(ranks: Iterable[RankFacts]) -> float:
    """The greatest share that other programs had of the cores that ranks could have used, over the
    ranks of each kernel that have the same cores: as usage_others of usage.h, less what the
    kernel's ticks leave open. 0 where it is not known."""
    groups: dict[tuple[str, tuple[int, ...]], list[CoreUsage]] = defaultdict(list)
    for facts in ranks:
        if facts.usage is not None:
            groups[facts.boot_id, tuple(facts.cpus)].append(facts.usage)
    shares = [0.0]
    for (_, cpus), found in groups.items():
        could = max(one.wall for one in found) * min(len(found), len(cpus))
        lost = max(max(one.unused, one.withheld) for one in found) + TICKS_S * len(cpus)
        parents = {one.parent: one.parents for one in found}
        own = sum(one.own for one in found) + sum(parents.values())
        shares.append((could - own - lost) / could if could > 0 else 0.0)
    return max(shares)


def oversubscribed(ranks: Iterable[RankFacts]) -> bool:
    """True when the ranks of one kernel cannot each have a core of their own.

    Ranks are grouped by boot id (virtual nodes share one kernel). Affinity masks contain each other
    or are apart; then ranks fit if no mask, nor all together, has more ranks inside than cores.
    """
    groups: dict[str, list[frozenset[int]]] = defaultdict(list)
    for facts in ranks:
        groups[facts.boot_id].append(frozenset(facts.cpus))
    return any(
        sum(inner <= mask for inner in masks) > len(mask)
        for masks in groups.values()
        for mask in {*masks, frozenset().union(*masks)}
    )
