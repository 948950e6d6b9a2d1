# SPDX-License-Identifier: Apache-2.0
"""The MPI profiles of a run, read apart from its metrics: most runs have none.

A run without a profile is not read again, and lines without one are passed over undecoded.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import msgspec

from records.mpi_profile import RankProfile
from records.record import Record, decode_line, latest_attempts
from reports.analysis import Analysis

_MARK = b'"profile":'


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
