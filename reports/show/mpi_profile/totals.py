# SPDX-License-Identifier: Apache-2.0
"""The MPI profiles of a run's cases, and each case's calls summed over peers, ranks and launches.

Profiles are read apart from the metrics: most runs have none, a run without a profile is not read
again, and lines without one are passed over undecoded.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

import msgspec
import numpy as np

from records.run.mpi_profile import CallProfile, RankProfile
from records.run.record import Record, decode_line, latest_attempts
from reports.analysis import Analysis
from reports.statistics.descriptive import Vector

_MARK = b'"profile":'
#: Calls that hand a message to a known peer. Started persistent requests are not among them: a
#: start does not tell whether it sends or receives.
SENDS = (
    *("Send", "Bsend", "Ssend", "Rsend", "Isend", "Ibsend", "Issend", "Irsend"),
    *("Sendrecv", "Sendrecv_replace"),
)


@dataclass(frozen=True, slots=True)
class CaseProfile:
    """The profiles of one case: by ascending block, each a list by ascending rank."""

    case: int
    launches: list[list[RankProfile]]


@lru_cache(maxsize=4)
def case_profiles(analysis: Analysis) -> tuple[CaseProfile, ...]:
    """Profiles of the latest attempt of each launch that is ok, in the order of the plan."""
    if not analysis.run.profiled:
        return ()
    decoder = msgspec.json.Decoder(Record)
    path = analysis.run.directory / "records.jsonl"
    with path.open("rb") as file:
        found = [
            decode_line(decoder, line, f"{path}:{number}")
            for number, line in enumerate(file, start=1)
            if _MARK in line and line.endswith(b"\n")
        ]
    place = {case.id: index for index, case in enumerate(analysis.run.plan.cases)}
    profiled = [record for record in found if record.profile is not msgspec.UNSET]
    latest = latest_attempts(profiled, lambda record: place[record.case_id])
    launches: dict[int, list[list[RankProfile]]] = {}
    for (case, _), record in sorted(latest.items(), key=lambda item: item[0]):
        if record.status == "ok":
            assert record.profile is not msgspec.UNSET
            launches.setdefault(case, []).append(record.profile)
    return tuple(CaseProfile(case, profiles) for case, profiles in launches.items())


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
    seconds: Vector
    greatest_s: float
    sizes: dict[int, float]


@dataclass(frozen=True)
class CaseTotals:
    """All calls of one case, the costliest first; elapsed seconds, shape (launches,)."""

    case: int
    elapsed_s: Vector
    calls: list[CallTotals]

    @property
    def mpi_s(self) -> Vector:
        """Seconds in MPI, mean over the ranks, shape (launches,)."""
        return np.asarray(sum((call.seconds for call in self.calls), np.zeros_like(self.elapsed_s)))

    @property
    def messages(self) -> dict[int, float]:
        """Messages a rank by class of size; receives are not counted a second time."""
        counts: Counter[int] = Counter()
        for call in self.calls:
            if "ecv" not in call.call or call.call.startswith("Sendrecv"):
                counts.update(call.sizes)
        return dict(counts)


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
    return CaseTotals(profile.case, np.array(elapsed, dtype=np.float64), totals)


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
