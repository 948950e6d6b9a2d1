# SPDX-License-Identifier: Apache-2.0
"""The MPI profile of a launch as a record keeps it: what each rank called, with whom, how long.

The fields are those of the line that checks/common/src/mpiprofile prints for each rank.
"""

from __future__ import annotations

import re

import msgspec

#: A key of `sizes`.
_SIZE = re.compile(r"[0-9]{1,19}")


class CallProfile(msgspec.Struct, frozen=True):
    """One MPI call towards one peer.

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
    """One rank: seconds from its first MPI call to MPI_Finalize, those inside MPI, its calls."""

    rank: int
    elapsed_s: float
    mpi_s: float
    calls: list[CallProfile]


def rank_profile(entry: object) -> RankProfile:
    """The profile in a parsed line. Raises ValueError saying what is wrong with it."""
    try:
        profile = msgspec.convert(entry, RankProfile)
    except msgspec.ValidationError as error:
        raise ValueError(f"an MPI profile that cannot be read: {error}") from error
    times = [profile.elapsed_s, profile.mpi_s]
    times += [time for call in profile.calls for time in (call.time_s, call.greatest_s)]
    counts = [number for call in profile.calls for number in (call.count, call.bytes)]
    sizes = [size for call in profile.calls for size in call.sizes]
    counts += [number for call in profile.calls for number in call.sizes.values()]
    counts += [call.peer for call in profile.calls if call.peer is not None]
    if not all(_SIZE.fullmatch(size) for size in sizes):
        raise ValueError(f"the MPI profile of rank {profile.rank} has sizes that are no numbers")
    if profile.rank < 0 or min(times) < 0 or max(times) > 1e9 or min(counts, default=0) < 0:
        raise ValueError(f"the MPI profile of rank {profile.rank} holds an impossible number")
    return profile
