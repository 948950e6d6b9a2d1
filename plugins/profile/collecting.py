# SPDX-License-Identifier: Apache-2.0
"""The recordings of all ranks (checks/mpiprofile/recording.h), merged into a profile."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from plugins.profile.application_profile import ApplicationProfile, OverRanks, ProfiledCall
from records.errors import AssayError
from records.input_files import decoded, read_whole
from reports.notation.units import count_text

#: Entries of a profile: 1 MB holds as many.
MOST_ENTRIES = 2000
#: Drift of a clock whose end was not compared, s per s.
_DRIFT = 5e-5
_SENDS, _RECEIVES, _GIVES, _IS_GIVEN = 0, 1, 3, 4
#: What adds up over the entries of all ranks.
_SUMMED = (
    *("bytes", "count", "time_s", "completing_s", "outside_s"),
    *("sampled", "sampled_s", "wait_s", "ahead"),
)


class _Entry(ProfiledCall, array_like=True):
    """A rank's calls, as an array of the first fields."""


class _Sample(msgspec.Struct, frozen=True, array_like=True):
    """Times in ns of the rank's clock."""

    hash: int
    role: int
    ranks: int
    entry: int
    ready: int
    begin: int
    end: int
    time: int
    blocked: int


class Recording(msgspec.Struct, frozen=True):
    """The file of one rank."""

    assay: Literal["recording"]
    rank: int
    ranks: int
    node: int
    nodes: int
    library: str
    complete: bool
    unordered: bool
    elapsed_s: float
    mpi_s: float
    level: int
    clock: list[int]
    entries: list[_Entry]
    samples: list[_Sample]


def read_recordings(folder: Path) -> list[Recording]:
    """The recordings in a folder, by rank, with the waits of their calls. Raises AssayError for
    damaged ones, and for none."""
    decode = msgspec.json.Decoder(Recording).decode
    found = [
        decoded(decode, read_whole(path), str(path), "a rank's recording")
        for path in sorted(folder.glob("rank.*.json"))
    ]
    if not found:
        raise AssayError(
            "profile: no rank wrote a profile: the program called no MPI_Init, ended within its"
            " first second without MPI_Finalize, is of another MPI library than the compiler that"
            " was found (--mpicc CC gives its own), or its start did not pass LD_PRELOAD on"
        )
    if {one.ranks for one in found} != {found[0].ranks} or len(found) > found[0].ranks:
        raise AssayError(
            f"profile: {folder} holds recordings of several launches; profile one at a time, by the"
            " launcher of the program's own MPI library"
        )
    _add_waits(found)
    return found


def profile_of(
    recordings: Sequence[Recording], command: Sequence[str], wall_s: float | None
) -> ApplicationProfile:
    """Profile of the recordings of all ranks."""
    first = recordings[0]
    level = max(one.level for one in recordings)
    while len(calls := _merged(recordings, level)) > MOST_ENTRIES and level < 4:
        level += 1
    time_s = sum(one.time_s for one in calls)
    sampled_s = sum(one.sampled_s for one in calls)
    per_node = Counter(one.node for one in recordings)
    profile = ApplicationProfile(
        source="assay",
        command=list(command),
        library=first.library,
        ranks=first.ranks,
        nodes=first.nodes,
        ranks_per_node=max(*per_node.values(), -(-first.ranks // first.nodes)),
        complete=len(recordings) == first.ranks and all(one.complete for one in recordings),
        wall_s=wall_s,
        elapsed_s=OverRanks.of([one.elapsed_s for one in recordings]),
        mpi_s=OverRanks.of([one.mpi_s for one in recordings]),
        outside_s=OverRanks.of([max(0.0, one.elapsed_s - one.mpi_s) for one in recordings]),
        sampled_share=sampled_s / time_s if time_s else 0.0,
        clock_error_s=1e-9 * max(2 * clock.error for clock in _clocks(recordings).values()),
        calls=calls,
    )
    profile.notes += _notes(recordings, profile, level)
    return profile


def _notes(
    recordings: Sequence[Recording], profile: ApplicationProfile, level: int
) -> Iterator[str]:
    missing = profile.ranks - len(recordings)
    if missing:
        yield f"{missing} of {profile.ranks} ranks left no recording"
    ended = sum(not one.complete for one in recordings)
    if ended:
        yield (
            f"{count_text(ended, 'rank')} did not reach MPI_Finalize: the last part of their calls"
            " is missing"
        )
    if level >= 1:
        yield "the program has many message sizes: they are merged up to powers of two"
    if level >= 2:
        yield "the program has many communicators: their sizes are merged"
    if profile.threads:
        yield "several threads are in MPI at once: the time in MPI is the sum of theirs"
    if any(one.unordered for one in recordings):
        yield "several threads call MPI, or requests are cancelled: waits are not measured since"
    elif not profile.sampled_share:
        yield "no call has a partner that was recorded: waits are not known"
    if any(one.call.startswith("Comm_spawn") for one in profile.calls):
        yield "the ranks that MPI_Comm_spawn started are not in the profile"


# ---- the histogram ----


def _power_above(value: int) -> int:
    return 1 << (value - 1).bit_length() if value > 0 else 0


def _key(entry: _Entry, level: int) -> tuple[str, int, int, int]:
    """Call, nodes, ranks and size, as coarse as the level says (histogram.c)."""
    size = entry.greatest_bytes if level == 0 else _power_above(entry.greatest_bytes)
    if level < 2:
        return entry.call, entry.nodes, entry.ranks, size
    if level == 2:
        return entry.call, _power_above(entry.nodes), _power_above(entry.ranks), size
    return entry.call, 0, 0, size if level == 3 else 0


def _merged(recordings: Sequence[Recording], level: int) -> list[ProfiledCall]:
    """The entries of all ranks."""
    found: dict[tuple[str, int, int, int], ProfiledCall] = {}
    for entry in (entry for one in recordings for entry in one.entries):
        key = name, nodes, ranks, _ = _key(entry, level)
        call = found.get(key)
        if call is None:
            call = found[key] = ProfiledCall(
                call=name, least_bytes=entry.least_bytes, greatest_bytes=0, bytes=0,
                ranks=ranks, nodes=nodes, count=0, time_s=0.0,
            )  # fmt: skip
        call.least_bytes = min(call.least_bytes, entry.least_bytes)
        call.greatest_bytes = max(call.greatest_bytes, entry.greatest_bytes)
        for part in _SUMMED:
            setattr(call, part, getattr(call, part) + getattr(entry, part))
    for call in found.values():
        # Stamps are whole ns, times of entries are not.
        call.sampled_s = min(call.sampled_s, call.time_s)
        call.wait_s = min(call.wait_s, call.sampled_s)
    return [found[key] for key in sorted(found)]


# ---- waits ----


class _Clock(NamedTuple):
    """A node's clock against that of rank 0, ns: `offset` at the stamp `at`, then `slope` more each
    ns; `error` is its uncertainty."""

    at: int = 0
    offset: int = 0
    slope: float = 0.0
    error: float = 0.0

    def to_common(self, stamp: int) -> float:
        """A stamp of this clock by the clock of rank 0."""
        return stamp + self.offset + self.slope * (stamp - self.at)


def _clocks(recordings: Sequence[Recording]) -> dict[int, _Clock]:
    """The clock of each node: from its lowest rank, which compared it at begin and end."""
    found = {recordings[0].node: _Clock()}
    for one in recordings:
        if one.node not in found:
            at, offset, error, *end = one.clock
            slope = (end[1] - offset) / max(1, end[0] - at) if end else 0.0
            most = max(error, end[2]) if end else error + _DRIFT * 1e9 * one.elapsed_s
            found[one.node] = _Clock(at, offset, slope, most)
    return found


def _add_waits(recordings: Sequence[Recording]) -> None:
    """Count each sample whose partners are all recorded in its entry, with its time and wait, and
    whether it took a message that was sent before.

    A rank waited from when it was blocked until the last partner that it can have waited for was
    ready: one that became ready only after the rank was free again was not waited for (a message
    that is sent eagerly). Between nodes the clocks' uncertainty counts as no wait.
    """
    clocks = _clocks(recordings)
    groups: dict[tuple[bool, int], list[tuple[Recording, _Sample]]] = defaultdict(list)
    for one in recordings:
        for sample in one.samples:
            groups[sample.role > 1, sample.hash].append((one, sample))
    for group in groups.values():
        ranks = {one.rank for one, _ in group}
        to_itself = len(group) == 2 and group[0][1].role <= 1
        if len(group) != group[0][1].ranks or (len(ranks) < len(group) and not to_itself):
            continue
        for one, sample in group:
            if not sample.time:  # the sending half of MPI_Sendrecv
                continue
            own, wait, ahead = clocks[one.node].to_common, 0.0, False
            for partner, other in group:
                if other is sample or (sample.role == _IS_GIVEN and other.role != _GIVES):
                    continue
                ready = clocks[partner.node].to_common(other.ready)
                received = sample.role == _RECEIVES and other.role == _SENDS
                if received:
                    ahead = ready < own(sample.begin)
                if partner.node != one.node:
                    ready -= clocks[one.node].error + clocks[partner.node].error
                late = ready < own(sample.end) and sample.role != _GIVES
                if late or received:
                    wait = max(wait, min(ready, own(sample.end)) - own(sample.begin))
            length = max(1, sample.end - sample.begin)
            entry = one.entries[sample.entry]
            entry.sampled += 1
            entry.ahead += ahead
            entry.sampled_s += 1e-9 * sample.time
            entry.wait_s += 1e-9 * sample.blocked * min(1.0, wait / length)
