# SPDX-License-Identifier: Apache-2.0
"""A case's profiles summed up: each call over its peers, its ranks and its launches."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from records.mpi_profile import CallProfile
from reports.show.mpi_profile.load import CaseProfile

#: Calls that hand a message to a known peer. Started persistent requests are not among them: a
#: start does not tell whether it sends or receives.
SENDS = frozenset(
    {
        "Send",
        "Bsend",
        "Ssend",
        "Rsend",
        "Isend",
        "Ibsend",
        "Issend",
        "Irsend",
        "Sendrecv",
        "Sendrecv_replace",
    }
)


@dataclass(frozen=True)
class CallTotals:
    """One call of one case. Counts and bytes are means over ranks and launches.

    `seconds`: mean over the ranks for each launch, shape (launches,). `greatest_s`: the longest
    single call of all. `sizes`: messages by their class (the least power of two that holds them),
    means over ranks and launches.
    """

    call: str
    count: float
    bytes: float
    seconds: NDArray[np.float64]
    greatest_s: float
    sizes: dict[int, float]


@dataclass(frozen=True)
class CaseTotals:
    """All calls of one case, the costliest first; elapsed seconds, shape (launches,)."""

    case: int
    ranks: int
    elapsed_s: NDArray[np.float64]
    calls: list[CallTotals]

    @property
    def mpi_s(self) -> NDArray[np.float64]:
        """Seconds in MPI, mean over the ranks, shape (launches,)."""
        return np.asarray(sum((call.seconds for call in self.calls), np.zeros_like(self.elapsed_s)))

    @property
    def messages(self) -> dict[int, float]:
        """Messages a rank by class of size; receives are not counted a second time."""
        counts: dict[int, float] = {}
        for call in self.calls:
            if "ecv" not in call.call or call.call.startswith("Sendrecv"):
                for size, number in call.sizes.items():
                    counts[size] = counts.get(size, 0.0) + number
        return counts


def case_totals(profile: CaseProfile) -> CaseTotals:
    """Sum the profiles of one case."""
    launches = profile.launches
    ranks = len(launches[0])
    share = 1 / (ranks * len(launches))
    by_name: dict[str, list[list[CallProfile]]] = {}
    for place, launch in enumerate(launches):
        for call in (call for rank in launch for call in rank.calls):
            by_name.setdefault(call.call, [[] for _ in launches])[place].append(call)
    totals = []
    for name, each in sorted(by_name.items()):
        every = [call for calls in each for call in calls]
        sizes: Counter[int] = Counter()
        for call in every:
            sizes.update({int(size): number for size, number in call.sizes.items()})
        totals.append(
            CallTotals(
                call=name,
                count=share * sum(call.count for call in every),
                bytes=share * sum(call.bytes for call in every),
                seconds=np.array([sum(call.time_s for call in calls) / ranks for calls in each]),
                greatest_s=max(call.greatest_s for call in every),
                sizes={size: share * number for size, number in sorted(sizes.items())},
            )
        )
    totals.sort(key=lambda item: -float(item.seconds.mean()))
    elapsed = [np.mean([rank.elapsed_s for rank in launch]) for launch in launches]
    return CaseTotals(profile.case, ranks, np.array(elapsed, dtype=np.float64), totals)


def traffic(profile: CaseProfile) -> dict[tuple[int, int], tuple[float, float]]:
    """Messages and bytes a launch from rank to rank, (from, to) -> (messages, bytes)."""
    found: dict[tuple[int, int], tuple[float, float]] = {}
    share = 1 / len(profile.launches)
    for rank in (rank for launch in profile.launches for rank in launch):
        for call in rank.calls:
            if call.call in SENDS and call.peer is not None:
                messages, size = found.get((rank.rank, call.peer), (0.0, 0.0))
                number = (messages + share * call.count, size + share * call.bytes)
                found[rank.rank, call.peer] = number
    return dict(sorted(found.items()))
