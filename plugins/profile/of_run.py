# SPDX-License-Identifier: Apache-2.0
"""A case of a run with `mpi_profile: true` as an application's profile, without waits."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from plugins.profile.application_profile import (
    COMPLETES,
    PAIR,
    ApplicationProfile,
    OverRanks,
    ProfiledCall,
)
from plugins.profile.pictures import CaseProfile, case_profiles
from plugins.profile.rank_profile import CallProfile
from records.errors import AssayError
from records.run.plan import PlannedCase
from reports.analysis.run import Analysis

#: Calls whose bytes are those of all blocks, and of which only the root has any.
_ALL_BLOCKS = {"Alltoall", "Alltoallv", "Scatter", "Scatterv"}
_ROOT_ALONE = {"Bcast", "Scatter", "Scatterv"}
_PAIRED = ("Send", "send", "Recv", "recv", "Start")
_NONBLOCKING = re.compile(r"^(I(?!m?probe|nit|nter)[a-z]|Start(all)?$)")


def profile_of_run(analysis: Analysis, wanted: str | None) -> ApplicationProfile:
    """The profile of the launch with the median time of the case that `wanted` names: how its id
    begins, or its environment. Raises AssayError where none or several are meant."""
    cases = analysis.run.plan.cases
    found = case_profiles(analysis)
    meant = [
        one
        for one in found
        if not wanted
        or cases[one.case].id.startswith(wanted)
        or cases[one.case].environment == wanted
    ]
    if len(meant) != 1:
        profiled = (cases[one.case] for one in found)
        listed = ", ".join(
            f"{case.id} ({case.environment}, {case.check}"
            f" {analysis.labels[case.check].label(case)})"
            for case in profiled
        )
        if not found:
            listed = "none: give a check of the campaign `mpi_profile: true`"
        raise AssayError(f"--case {wanted or 'CASE'}: {len(meant)} cases; profiled: {listed}")
    return _converted(cases[meant[0].case], meant[0])


def _converted(case: PlannedCase, profile: CaseProfile) -> ApplicationProfile:
    ordered = sorted(profile.launches, key=lambda ranks: max(one.elapsed_s for one in ranks))
    launch = ordered[(len(ordered) - 1) // 2]
    groups: dict[tuple[str, int, int], list[CallProfile]] = defaultdict(list)
    for rank in launch:
        for call in rank.calls:
            groups[call.call, *_shape(case, rank.rank, call)].append(call)
    calls = [
        part
        for (name, nodes, ranks), group in sorted(groups.items())
        for part in _parts(name, nodes, ranks, group)
    ]
    _divide_completions(calls)
    return ApplicationProfile(
        source="assay",
        command=[case.check],
        environment=case.environment,
        ranks=case.ranks,
        nodes=case.nodes,
        ranks_per_node=case.ranks_per_node,
        elapsed_s=OverRanks.of([one.elapsed_s for one in launch]),
        mpi_s=OverRanks.of([one.mpi_s for one in launch]),
        outside_s=OverRanks.of([max(0.0, one.elapsed_s - one.mpi_s) for one in launch]),
        notes=[
            "a run's profile has no wait and no overlap: assay profile measures them",
            "collective calls count as those of all ranks; sizes are powers of two",
            "the time of Wait and Test calls is divided evenly among all nonblocking calls",
        ],
        calls=calls,
    )


def _divide_completions(calls: Sequence[ProfiledCall]) -> None:
    """Divide the time of completing calls among what they complete."""
    begun = [one for one in calls if _NONBLOCKING.match(one.call)]
    done = [one for one in calls if one.call in COMPLETES]
    number, time_s = sum(one.count for one in begun), sum(one.time_s for one in done)
    for one in begun:
        one.completing_s = time_s * one.count / number
        one.time_s += one.completing_s
    for one in done if begun else ():
        one.time_s = 0.0


def _shape(case: PlannedCase, rank: int, call: CallProfile) -> tuple[int, int]:
    """Nodes and ranks of a call, 0 where they are unknown."""
    if not call.sizes and call.call != "Barrier":
        return 0, 0
    if not any(word in call.call for word in _PAIRED):
        return case.nodes, case.ranks
    if case.nodes == 1:
        return 1, PAIR
    if call.peer is None:
        return 0, PAIR
    return 1 + (rank // case.ranks_per_node != call.peer // case.ranks_per_node), PAIR


def _parts(
    name: str, nodes: int, ranks: int, group: Sequence[CallProfile]
) -> Iterator[ProfiledCall]:
    """An entry for each class of sizes of all ranks' calls: its bytes lie within the class and add
    up to those of the calls, its time is shared by count."""
    shares: Counter[int] = Counter()
    for call in group:
        shares.update({int(size): count for size, count in call.sizes.items()})
    total = sum(call.bytes for call in group)
    if name in _ROOT_ALONE and total:  # the root's calls stand for those of all ranks
        shares = Counter({size: ranks * count for size, count in shares.items() if size})
        total *= ranks
    blocks = ranks if name in _ALL_BLOCKS else 1
    count = sum(shares.values())
    time_s = sum(call.time_s for call in group)
    low = sum(number * (size // 2 + 1) for size, number in shares.items() if size)
    room = sum(number * (size - size // 2 - 1) for size, number in shares.items() if size)
    spare = (total - low) / room if room else 0.0
    for size, number in sorted(shares.items()) or [(0, sum(call.count for call in group))]:
        least = size // 2 + 1 if size else 0
        yield ProfiledCall(
            call=name,
            least_bytes=least // blocks,
            greatest_bytes=-(-size // blocks),
            bytes=round(number * (least + spare * (size - least)) / blocks),
            ranks=ranks,
            nodes=nodes,
            count=number,
            time_s=time_s * (number / count if count else 1.0),
        )
