# SPDX-License-Identifier: Apache-2.0
"""The MPI profile of a launch as a record keeps it: what each rank called, with whom, how long.

The fields are those of the line that checks/mpiprofile prints for each rank.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import isclose
from typing import Any

import msgspec

from records.errors import AssayError
from records.run.record import Record
from records.values import Count

#: Rounding of numbers with nine digits.
_NINE_DIGITS = 2e-8


class CallProfile(msgspec.Struct, frozen=True):
    """Profile of one MPI call towards one peer.

    `peer` is a rank of MPI_COMM_WORLD, None where the call has none. `bytes` are those of the
    messages, `time_s` the seconds inside the call, `greatest_s` those of the longest one. `sizes`
    counts messages by the least power of two that holds them, in bytes.
    """

    call: str
    peer: Count | None
    count: Count
    bytes: Count
    time_s: float
    greatest_s: float
    sizes: dict[str, Count]


class RankProfile(msgspec.Struct, frozen=True):
    """Profile of a rank: seconds from its first MPI call to MPI_Finalize, those inside MPI, its
    calls."""

    rank: Count
    elapsed_s: float
    mpi_s: float
    calls: list[CallProfile]


def read_profile(
    entries: Sequence[Mapping[str, Any]], ranks: int
) -> tuple[list[dict[str, Any]], float]:
    """The profile that a launch printed, by ascending rank, as a record keeps it, and the seconds
    of its longest rank. Raises ValueError saying what is wrong with it."""
    profile = sorted(map(_rank_profile, entries), key=lambda rank: rank.rank)
    if fault := profile_fault(profile, ranks):
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


def profile_fault(profile: Sequence[RankProfile], ranks: int) -> str | None:
    """Fault of the profile of a launch of so many ranks, by ascending rank; None without one."""
    found = [rank.rank for rank in profile]
    if found != list(range(ranks)):
        return f"MPI profiles came of ranks {found!s:.80}; there are {ranks} ranks"
    peers = {call.peer for rank in profile for call in rank.calls if call.peer is not None}
    if peers and max(peers) >= ranks:
        return f"an MPI profile names a peer {max(peers)} of {ranks} ranks"
    return None


def _faults(profile: RankProfile) -> Iterator[str]:
    """Contradictions within a rank's profile, each as the end of a sentence."""
    if not 0 <= profile.elapsed_s <= 1e9:
        yield "holds an impossible number"
    for call in profile.calls:
        messages = sum(call.sizes.values())
        if not call.count or messages > call.count:
            yield f"has {call.count} calls of {call.call} with {messages} messages"
        if not 0 <= call.greatest_s <= call.time_s * (1 + _NINE_DIGITS):
            yield f"has a call of {call.call} of {call.greatest_s:.9g} s, all {call.time_s:.9g} s"
    total = sum(call.time_s for call in profile.calls)
    if not isclose(total, profile.mpi_s, rel_tol=_NINE_DIGITS):
        yield f"has {profile.mpi_s:.9g} s in MPI; its calls took {total:.9g} s"
    if profile.mpi_s > profile.elapsed_s * (1 + _NINE_DIGITS):
        yield f"has {profile.mpi_s:.9g} s in MPI of {profile.elapsed_s:.9g} s"
