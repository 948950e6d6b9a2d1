# SPDX-License-Identifier: Apache-2.0
"""The MPI profile of an application: one histogram of all ranks.

Each entry stands for the calls of one function with one message size (or one power of two of
sizes) on communicators of one shape. The times of all entries add up to the time in MPI.
"""

from collections.abc import Iterator, Sequence
from math import inf, isclose, isfinite
from pathlib import Path
from typing import Annotated, Literal, Self

import msgspec

from records.errors import AssayError
from records.forms import Form, Part, key
from records.input_files import decoded, read_whole

#: A thread is in MPI for no more than its program's time, but for the rounding of a report.
MOST_IN_MPI = 1.05
#: Rounding of sums that were added in another order, and of numbers with nine digits.
_ROUNDING = 1e-6


class OverRanks(Part, kw_only=True):
    """A number that each rank has."""

    mean: Annotated[float, key("Mean over the ranks.")]
    least: Annotated[float, key("The least of them.")]
    greatest: Annotated[float, key("The greatest of them.")]

    @classmethod
    def of(cls, values: Sequence[float]) -> Self:
        """Of the ranks' values, of which there is one at least."""
        return cls(mean=sum(values) / len(values), least=min(values), greatest=max(values))


class ProfiledCall(Part, kw_only=True):
    """Calls of one function with one size on communicators of one shape, of all ranks together."""

    call: Annotated[str, key("The MPI function, without `MPI_`.")]
    least_bytes: Annotated[int, key("The shortest message, bytes; equal to greatest_bytes: exact.")]
    greatest_bytes: Annotated[
        int,
        key(
            "The longest message. Of a collective a message is one rank's block: what a rank gives"
            " (all-to-all: gives each other rank), or the root gives each rank."
        ),
    ]
    bytes: Annotated[int, key("Exact sum of the messages' bytes.")]
    ranks: Annotated[
        int, key("Ranks of the communicator; of point to point 2; 0 if it is unknown.")
    ]
    nodes: Annotated[
        int,
        key(
            "Nodes on which they run: of point to point 1 (same node) or 2 (another node); 0 if it"
            " is unknown."
        ),
    ]
    count: Annotated[int, key("Calls.")]
    time_s: Annotated[
        float,
        key(
            "Time in them, s. Of a nonblocking call with its part of the call that completes it"
            " (Wait…, Test…); that of several requests is divided evenly among them."
        ),
    ]
    completing_s: Annotated[float, key("The part of time_s in completing calls, s.")] = 0.0
    outside_s: Annotated[
        float,
        key(
            "Of nonblocking calls: time between posting and the completing call that the rank was"
            " outside MPI, s: what can overlap."
        ),
    ] = 0.0
    sampled: Annotated[int, key("Calls whose wait was measured.")] = 0
    sampled_s: Annotated[float, key("The time of these, s.")] = 0.0
    wait_s: Annotated[
        float,
        key("The part of sampled_s that passed before the other rank, or the last one, came, s."),
    ] = 0.0

    ahead: Annotated[
        int, key("Of the sampled receives: those whose message had been sent before the call.")
    ] = 0

    @property
    def wait_share(self) -> float | None:
        """Share of the time that is wait; None if no call of the entry was sampled."""
        return self.wait_s / self.sampled_s if self.sampled_s else None


class ApplicationProfile(Form, kw_only=True):
    """The MPI profile of one launch of an application."""

    schema: Annotated[int, key("The version of this form.")] = 2
    source: Annotated[Literal["assay"], key("Program that made the profile.")]
    command: Annotated[list[str], key("The command that was profiled, word by word.")]
    library: Annotated[str, key("Version text of the MPI library; empty if it is unknown.")] = ""
    ranks: Annotated[int, key("Ranks.")]
    nodes: Annotated[int, key("Nodes that they ran on.")]
    ranks_per_node: Annotated[int, key("Ranks of the node that has most.")]
    complete: Annotated[
        bool, key("True if every rank reached MPI_Finalize; else the profile ends before.")
    ] = True
    wall_s: Annotated[
        float | None, key("Time of the launcher's run, s; null if it was not measured.")
    ] = None
    elapsed_s: Annotated[OverRanks, key("Time from MPI_Init to MPI_Finalize, s.")]
    mpi_s: Annotated[OverRanks, key("Time in MPI calls, s.")]
    outside_s: Annotated[OverRanks, key("Time between MPI_Init and MPI_Finalize outside MPI, s.")]
    sampled_share: Annotated[
        float, key("Share of the time in MPI whose wait was measured; the rest is extrapolated.")
    ] = 0.0
    clock_error_s: Annotated[
        float, key("Uncertainty of clocks of two nodes, s; shorter waits between nodes count as 0.")
    ] = 0.0
    notes: Annotated[list[str], key("Facts that the profile cannot say, a sentence each.")] = (
        msgspec.field(default_factory=list)
    )
    calls: Annotated[list[ProfiledCall], key("The histogram, by call, shape and size.")]

    @property
    def threads(self) -> bool:
        """True if several threads of a rank were in MPI at once: their times add up."""
        return self.mpi_s.greatest > MOST_IN_MPI * self.elapsed_s.greatest


def read_profile(path: Path) -> ApplicationProfile:
    """The profile in a file. Raises AssayError for a file that holds none, or one that contradicts
    itself."""
    decode = msgspec.json.Decoder(ApplicationProfile).decode
    profile = decoded(decode, read_whole(path), str(path), "an application's MPI profile")
    if profile.schema not in (1, 2):
        raise AssayError(f"{path}: schema {profile.schema}; this version reads schemas 1 and 2")
    if fault := next(_faults(profile), None):
        raise AssayError(f"{path}: the profile contradicts itself: {fault}")
    return profile


def _faults(profile: ApplicationProfile) -> Iterator[str]:
    spread = (profile.elapsed_s, profile.mpi_s, profile.outside_s)
    low, high = 1 - _ROUNDING, 1 + _ROUNDING
    if not all(
        one.least >= 0 and one.least * low <= one.mean <= one.greatest * high < inf
        for one in spread
    ):
        yield "a time over the ranks is negative, infinite, or its mean not between its ends"
    if not (1 <= profile.nodes <= profile.ranks and 1 <= profile.ranks_per_node <= profile.ranks):
        on = f"{profile.nodes} nodes, {profile.ranks_per_node} on one"
        yield f"{profile.ranks} ranks on {on}"
    if not (0 <= profile.sampled_share <= 1 + _ROUNDING and (profile.wall_s or 0) >= 0):
        yield f"{profile.sampled_share} of the time sampled, {profile.wall_s} s in all"
    for one in profile.calls:
        where = f"{one.call} of {one.least_bytes} to {one.greatest_bytes} bytes"
        if min(one.ranks, one.nodes) < 0:
            yield f"{where}: {one.ranks} ranks on {one.nodes} nodes"
        if one.count < 1 or not 0 <= one.sampled <= one.count:
            yield f"{where}: {one.count} calls, {one.sampled} sampled"
        low, high = one.count * one.least_bytes, one.count * one.greatest_bytes
        if not (one.least_bytes >= 0 and low <= one.bytes <= high):
            yield f"{where}: {one.count} messages have {one.bytes} bytes"
        parts = (one.completing_s, one.sampled_s)
        most = one.time_s * (1 + _ROUNDING) + 1e-9
        if not (min(parts) >= 0 and max(parts) <= most and isfinite(one.time_s)):
            yield f"{where}: {one.time_s} s, of them {max(parts)} s"
        if not (0 <= one.wait_s <= one.sampled_s * (1 + _ROUNDING) + 1e-9 and one.outside_s >= 0):
            yield f"{where}: {one.wait_s} s of wait in {one.sampled_s} s"
        if not 0 <= one.ahead <= one.sampled:
            yield f"{where}: {one.ahead} of {one.sampled} sampled messages sent before"
    total, mpi_s = sum(one.time_s for one in profile.calls), profile.mpi_s.mean * profile.ranks
    # Ranks that ended early may have left nothing.
    if profile.complete and not isclose(total, mpi_s, rel_tol=_ROUNDING, abs_tol=1e-6):
        yield f"{mpi_s} s in MPI; its calls took {total} s"
