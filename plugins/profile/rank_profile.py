# SPDX-License-Identifier: Apache-2.0
"""The MPI profile of a launch as a record keeps it: what each rank called, with whom, how long.

The fields are those of the line that checks/mpiprofile prints for each rank.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, pairwise
from math import isclose
from typing import Any

import msgspec

from records.errors import AssayError
from records.run.record import Record

#: Every call that the profiler wraps, in the order in which it prints them (profile.h).
_NAMES = (
    *("Send", "Bsend", "Ssend", "Rsend", "Recv", "Isend", "Ibsend", "Issend", "Irsend", "Irecv"),
    *("Start", "Startall", "Sendrecv", "Sendrecv_replace", "Wait", "Waitall", "Waitany"),
    *("Waitsome", "Test", "Testall", "Testany", "Testsome", "Probe", "Iprobe", "Barrier", "Bcast"),
    *("Gather", "Gatherv", "Scatter", "Scatterv", "Allgather", "Allgatherv", "Alltoall"),
    *("Alltoallv", "Reduce", "Allreduce", "Reduce_scatter", "Scan", "Comm_dup", "Comm_create"),
    *("Comm_split", "Comm_free", "Intercomm_create", "Intercomm_merge", "Cart_create"),
)
_PLACES = {name: place for place, name in enumerate(_NAMES)}
_EXCHANGES = {"Sendrecv", "Sendrecv_replace"}
#: Calls that hand a message to a known peer. Started persistent requests are not among them: a
#: start does not tell whether it sends or receives.
SENDS = {*_NAMES[:4], *_NAMES[5:9], *_EXCHANGES}
RECEIVES = {"Recv", "Irecv"}
_PERSISTENT = {"Start", "Startall"}
_NONBLOCKING = {*_NAMES[5:10], "Start"}
_COMPLETIONS = {*_NAMES[15:22]}
_COLLECTIVE = {*_NAMES[24:39], "Comm_free"}
#: Those to which every rank gives as many bytes.
_ALIKE = {"Allgather", "Alltoall", "Reduce", "Allreduce", "Reduce_scatter", "Scan"}
#: They make communicators of some ranks, whose calls the others do not make.
_DIVIDING = {"Comm_create", "Comm_split", "Intercomm_create", "Intercomm_merge", "Cart_create"}
_OF_NO_PEER = {*_NAMES[14:22], *_NAMES[24:]}
#: Calls without a message.
_QUIET = {*_NAMES[14:25], *_NAMES[38:]}
#: Keys of `sizes`: 0, 1, 2, 4 …; the last stands for all longer messages, too.
_LAST = str(2**32)
_SIZES = {"0", *(str(2**power) for power in range(33))}
#: Rounding of numbers with nine digits.
_NINE_DIGITS = 2e-8


class CallProfile(msgspec.Struct, frozen=True):
    """Profile of one MPI call towards one peer.

    `peer` is a rank of MPI_COMM_WORLD, None where the call has none. `bytes` are those of the
    messages, `time_s` the seconds inside the call, `greatest_s` those of the longest one. `sizes`
    counts messages by the least power of two that holds them, in bytes.
    """

    call: str
    peer: int | None
    count: int
    bytes: int
    time_s: float
    greatest_s: float
    sizes: dict[str, int]


class RankProfile(msgspec.Struct, frozen=True):
    """Profile of a rank: seconds from its first MPI call to MPI_Finalize, those inside MPI, its
    calls."""

    rank: int
    elapsed_s: float
    mpi_s: float
    calls: list[CallProfile]


def read_profile(
    entries: Sequence[Mapping[str, Any]], ranks: int, *, whole: bool = True, own: bool = False
) -> tuple[list[dict[str, Any]], float]:
    """The profile that a launch printed, by ascending rank, as a record keeps it, and the seconds
    of its longest rank. Raises ValueError saying what is wrong with it."""
    profile = sorted(map(_rank_profile, entries), key=lambda rank: rank.rank)
    if fault := profile_fault(profile, ranks, whole=whole, own=own):
        raise ValueError(fault)
    return msgspec.to_builtins(profile), max(rank.elapsed_s for rank in profile)


def kept_profile(record: Record) -> list[RankProfile]:
    """The profile in a record; empty without one. Raises AssayError for what is none."""
    if record.profile is msgspec.UNSET:
        return []
    try:
        return msgspec.convert(record.profile, list[RankProfile])
    except msgspec.ValidationError as error:
        raise AssayError(
            f"the record of {record.case_id}, block {record.block}: an MPI profile that cannot be"
            f" read: {error}"
        ) from error


def _rank_profile(entry: Mapping[str, Any]) -> RankProfile:
    try:
        profile = msgspec.convert(entry, RankProfile)
    except msgspec.ValidationError as error:
        raise ValueError(f"an MPI profile that cannot be read: {error}") from error
    if fault := next(_faults(profile), None):
        raise ValueError(f"the MPI profile of rank {profile.rank} {fault}")
    return profile


def profile_fault(
    profile: Sequence[RankProfile], ranks: int, *, whole: bool = True, own: bool = False
) -> str | None:
    """Fault of the profile of a launch of so many ranks, by ascending rank; None without one.

    `whole`: whether the profiler sees both ends of each message. Some libraries send messages of
    their own by public calls within calls that are not wrapped, as LAM in one-sided copies.
    `own`: whether the program is one of ours, which receive as many bytes as they have room for and
    wait for each request once.
    """
    found = [rank.rank for rank in profile]
    if found != list(range(ranks)):
        return f"MPI profiles came of ranks {found!s:.80}; there are {ranks} ranks"
    peers = {call.peer for rank in profile for call in rank.calls if call.peer is not None}
    if peers and max(peers) >= ranks:
        return f"an MPI profile names a peer {max(peers)} of {ranks} ranks"
    for rank in profile:
        if fault := next(_faults(rank, own), None):
            return f"the MPI profile of rank {rank.rank} {fault}"
    return next(chain(_unequal(profile), _unmatched(profile, own) if whole else ()), None)


def _faults(profile: RankProfile, own: bool = False) -> Iterator[str]:
    """Contradictions within a rank's profile, each as the end of a sentence."""
    if not (profile.rank >= 0 and 0 <= profile.elapsed_s <= 1e9):
        yield "holds an impossible number"
    places = [
        (_PLACES.get(call.call, -1), -1 if call.peer is None else call.peer)
        for call in profile.calls
    ]
    if any(place < 0 for place, _ in places):
        yield "names a call that is none of MPI's"
    elif any(one >= other for one, other in pairwise(places)):
        yield "names calls or peers twice or in another order"
    for call in profile.calls:
        yield from (f"contradicts itself: {call.call}: {fault}" for fault in _call_faults(call))
    total = sum(call.time_s for call in profile.calls)
    if not isclose(total, profile.mpi_s, rel_tol=_NINE_DIGITS):
        yield f"has {profile.mpi_s:.9g} s in MPI; its calls took {total:.9g} s"
    if profile.mpi_s > profile.elapsed_s * (1 + _NINE_DIGITS):
        yield f"has {profile.mpi_s:.9g} s in MPI of {profile.elapsed_s:.9g} s"
    counts = Counter({call.call: call.count for call in profile.calls})
    begun = sum(call.count for call in profile.calls if call.call in _NONBLOCKING)
    waited = counts["Wait"] == begun if own else counts["Wait"] >= begun
    if not counts.keys() & {*_COMPLETIONS, "Startall"} and counts["Wait"] and not waited:
        yield f"has {begun} calls that are waited for, and {counts['Wait']} waits"


def _call_faults(call: CallProfile) -> Iterator[str]:
    """Contradictions among the numbers of a call."""
    if call.count < 1 or (call.peer is not None and (call.peer < 0 or call.call in _OF_NO_PEER)):
        yield f"{call.count} calls with rank {call.peer}"
    if not (call.sizes.keys() <= _SIZES and min(call.sizes.values(), default=1) > 0):
        yield f"messages of sizes {call.sizes!s:.80}"
        return
    messages = sum(call.sizes.values())
    quiet = call.call in _QUIET or (call.call == "Startall" and call.peer is None)
    # Of a persistent request that the profiler does not know, there is no length.
    whole = messages == call.count or (call.call == "Start" and call.peer is None)
    if messages > call.count or not (whole or quiet) or (quiet and messages):
        yield f"{call.count} calls had {messages} messages"
    high = sum(number * int(size) for size, number in call.sizes.items())
    low = sum(n * (int(size) // 2 + 1) for size, n in call.sizes.items() if size != "0")
    if not low <= call.bytes or (call.bytes > high and _LAST not in call.sizes):
        yield f"{call.bytes} bytes were in messages of {low} to {high} bytes"
    if not 0 <= call.greatest_s <= call.time_s * (1 + _NINE_DIGITS):
        yield f"one took {call.greatest_s:.9g} s, all {call.time_s:.9g} s"
    timed = call.count if call.call != "Startall" or call.peer is None else 0
    if call.time_s > timed * call.greatest_s * (1 + _NINE_DIGITS):
        yield f"{call.count} of {call.greatest_s:.9g} s at most took {call.time_s:.9g} s"


def _unequal(profile: Sequence[RankProfile]) -> Iterator[str]:
    """Collective calls that not all ranks made alike, where all communicators are of all ranks."""
    called = [{call.call: call for call in rank.calls} for rank in profile]
    if any(names.keys() & _DIVIDING for names in called):
        return
    for name in sorted(_COLLECTIVE & {name for names in called for name in names}):
        calls = [names[name] for names in called if name in names]
        told = {(one.count, one.bytes, *sorted(one.sizes.items())) for one in calls}
        alike = told if name in _ALIKE else {one.count for one in calls}
        if len(calls) < len(profile) or len(alike) > 1:
            yield f"the MPI profile says that ranks made different calls of {name}"


def _unmatched(profile: Sequence[RankProfile], own: bool) -> Iterator[str]:
    """Messages of which sender and receiver say different things. Left out are ranks whose profile
    does not tell all of their messages' peers: of persistent requests, of the receiving half of an
    exchange, of a request that takes any sender's message."""
    #: By sender and receiver: messages and bytes that were sent, and that were received.
    ends: dict[tuple[int, int], list[int]] = {}
    blind: set[int] = set()
    for rank in profile:
        for call in rank.calls:
            sends, takes = call.call in SENDS, call.call in RECEIVES
            if call.call in _EXCHANGES | _PERSISTENT or ((sends or takes) and call.peer is None):
                blind.add(rank.rank)
            elif (sends or takes) and call.peer is not None:
                pair = (rank.rank, call.peer) if sends else (call.peer, rank.rank)
                told = ends.setdefault(pair, [0, 0, 0, 0])
                told[0 if sends else 2] += call.count
                told[1 if sends else 3] += call.bytes
    for pair, (sent, sent_bytes, taken, room) in sorted(ends.items()):
        if blind.intersection(pair):
            continue
        head = "the MPI profile has {} {} sent from rank {} to {}, {} received"
        if sent != taken:
            yield head.format(sent, "messages", *pair, taken)
        # A receive that was posted ahead may have room for a longer message.
        if room < sent_bytes or (own and room != sent_bytes):
            yield head.format(sent_bytes, "bytes", *pair, room)
