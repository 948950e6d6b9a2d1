# SPDX-License-Identifier: Apache-2.0
"""What an application asks of a library: its profile as messages and collectives of a mean rank."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from records.application_profile import (
    COMPLETES,
    RECEIVES,
    SENDS,
    ApplicationProfile,
    ProfiledCall,
)

#: Collective calls, and the operation of the check `collectives` that has their curve.
OPERATIONS = {
    "Barrier": "barrier",
    "Bcast": "broadcast",
    "Gather": "gather",
    "Gatherv": "gather",
    "Scatter": "scatter",
    "Scatterv": "scatter",
    "Reduce": "reduce",
    "Scan": "scan",
    "Alltoall": "total_exchange",
    "Alltoallv": "total_exchange",
    "Allreduce": "allreduce",
    "Allgather": "allgather",
    "Allgatherv": "allgather",
    "Reduce_scatter": "reduce_scatter",
    "Reduce_scatter_block": "reduce_scatter",
}
#: Calls with no message of their own, whose time belongs to messages.
_WITHOUT = (*COMPLETES, "Probe", "Iprobe", "Mprobe", "Improbe")
#: Calls whose messages mostly pass both ways at once, as a halo's do: all that one call completes.
_BEGINS = (
    *("Isend", "Ibsend", "Issend", "Irsend", "Irecv", "Imrecv", "Start", "Startall"),
    *("Sendrecv", "Sendrecv_replace"),
)
_COMPLETES_MANY = ("Waitall", "Waitsome")
#: Calls that a program makes once and no library is chosen for.
SET_UP = ("Init", "Init_thread", "Finalize", "Comm_rank", "Comm_size", "Wtime", "Get_count")

#: What of the time in MPI a demand is part of; each has a calibration of its own.
Family = Literal["messages", "collectives"]


@dataclass(frozen=True, slots=True)
class Demand:
    """So many calls of one kind by a mean rank: `message_bytes` and `count` are means; `within`:
    between ranks of one node; `time_s` is what the profile has for them, without wait; `at_once`:
    messages that pass each way at the same time, 0 where one is sent after the other;
    `ahead`: the share of those that had been sent before they were asked for."""

    call: str
    message_bytes: float
    ranks: int
    within: bool
    count: float
    time_s: float
    outside_s: float = 0.0
    at_once: float = 0.0
    ahead: float = 0.0

    @property
    def family(self) -> Family:
        """Messages of two ranks, or a collective operation."""
        return "collectives" if self.call in OPERATIONS else "messages"


@dataclass(frozen=True)
class Application:
    """A profile as times of a mean rank in s. `compute_s` is outside MPI, `wait_s` the part of the
    time in MPI that others were late, `transfer_s` the rest, `other_s` the time of calls that no
    curve is for, by call."""

    ranks: int
    nodes: int
    on_node: int
    compute_s: float
    wait_s: float
    transfer_s: float
    other_s: dict[str, float]
    demands: tuple[Demand, ...]

    @property
    def mpi_s(self) -> float:
        """Time in MPI."""
        return self.wait_s + self.transfer_s + sum(self.other_s.values())

    def scaled(self, sizes: float, ranks: int | None) -> Application:
        """The same calls with messages `sizes` times as long, on so many ranks: as much computing,
        as many calls and as much wait a rank, and as many ranks a node."""
        wanted = ranks or self.ranks
        demands = tuple(
            replace(
                one,
                message_bytes=one.message_bytes * sizes,
                ranks=wanted if one.ranks == self.ranks and one.call in OPERATIONS else one.ranks,
            )
            for one in self.demands
        )
        nodes = self.nodes if wanted == self.ranks else -(-wanted // self.on_node)
        return replace(self, ranks=wanted, nodes=nodes, demands=demands)


def application_of(profile: ApplicationProfile) -> Application:
    """The mean rank of a profile. Wait is extrapolated from the sampled calls of an entry, else
    from those of all its family."""
    messages: list[ProfiledCall] = []
    collectives: list[ProfiledCall] = []
    other: dict[str, float] = {}
    for one in profile.calls:
        if one.call in OPERATIONS:
            collectives.append(one)
        elif one.call in (*SENDS, *RECEIVES, *_WITHOUT):
            messages.append(one)
        elif one.call not in SET_UP:
            other[one.call] = other.get(one.call, 0.0) + one.time_s / profile.ranks
    wait_s, transfer_s, demands = 0.0, 0.0, list[Demand]()
    for calls in (messages, collectives):
        sampled = sum(one.sampled_s for one in calls)
        share = sum(one.wait_s for one in calls) / sampled if sampled else 0.0
        waits = [
            one.time_s * (share if one.wait_share is None else one.wait_share) for one in calls
        ]
        wait_s += sum(waits) / profile.ranks
        whole = sum(one.time_s for one in calls) - sum(waits)
        transfer_s += whole / profile.ranks
        demands += _demands(profile, calls, whole)
    return Application(
        ranks=profile.ranks,
        nodes=profile.nodes,
        on_node=profile.ranks_per_node,
        compute_s=max(0.0, profile.elapsed_s.mean - profile.mpi_s.mean),
        wait_s=wait_s,
        transfer_s=transfer_s,
        other_s=other,
        demands=tuple(demands),
    )


def _demands(
    profile: ApplicationProfile, calls: list[ProfiledCall], whole_s: float
) -> Iterator[Demand]:
    """A demand for each entry that counts messages, with its share of the family's time by bytes
    and calls alone where it is spread over sends and receives. A rank's messages to itself, which
    are all of those in a node with one rank, are for no library to carry."""
    lone = profile.ranks_per_node == 1
    asked = [one for one in calls if one.call in RECEIVES and one.call not in _BEGINS]
    ahead = sum(one.ahead for one in asked) / max(1, sum(one.sampled for one in asked))
    calls = [one for one in calls if not (lone and one.nodes == 1 and one.call not in OPERATIONS)]
    at_once = _at_once(calls)
    counted = [one for one in calls if one.call in SENDS or one.call in OPERATIONS]
    counted = counted or [one for one in calls if one.call in RECEIVES]
    total = sum(one.time_s for one in counted) or 1.0
    every = sum(one.outside_s for one in calls)
    begun = sum(one.count for one in counted) or 1
    for one in counted:
        collective = one.call in OPERATIONS
        yield Demand(
            call=one.call,
            message_bytes=one.size,
            ranks=(one.ranks or profile.ranks) if collective else 2,
            within=(one.nodes or profile.nodes) == 1,
            count=one.count / profile.ranks,
            time_s=whole_s * one.time_s / total / profile.ranks,
            outside_s=every * one.count / begun / profile.ranks,
            at_once=at_once if one.call in _BEGINS else 0.0,
            ahead=ahead,
        )


def _at_once(calls: list[ProfiledCall]) -> float:
    """Messages each way that one call completes; at least 1."""
    begun = sum(one.count for one in calls if one.call in _BEGINS)
    completed = sum(one.count for one in calls if one.call in _COMPLETES_MANY)
    return max(1.0, begun / 2 / completed) if completed else 1.0
