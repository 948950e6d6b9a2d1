# SPDX-License-Identifier: Apache-2.0
"""The MPI profiles of a run, read apart from its metrics: most runs have none.

A run without a profile is not read again, and lines without one are passed over undecoded.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import msgspec

from records.mpi_profile import RankProfile
from reports.analysis import Analysis

_MARK = b'"profile":'


class _Line(msgspec.Struct):
    """What is needed of a record."""

    case_id: str
    block: int
    attempt: int
    status: str
    profile: list[RankProfile]


@dataclass(frozen=True, slots=True)
class CaseProfile:
    """The profiles of one case: by ascending block, each a list by ascending rank."""

    case: int
    launches: list[list[RankProfile]]


@lru_cache(maxsize=4)
def case_profiles(analysis: Analysis) -> tuple[CaseProfile, ...]:
    """Profiles of the latest attempt of each launch that is ok, in the order of the plan."""
    cases = analysis.run.plan.cases
    place = {case.id: index for index, case in enumerate(cases)}
    latest: dict[tuple[int, int], _Line] = {}
    records = analysis.run.directory / "records.jsonl"
    for line in _profiled_lines(records) if analysis.run.profiled else ():
        key = (place[line.case_id], line.block)
        if key not in latest or line.attempt >= latest[key].attempt:
            latest[key] = line
    launches: dict[int, list[list[RankProfile]]] = {}
    for (case, _), line in sorted(latest.items(), key=lambda item: item[0]):
        if line.status == "ok":
            launches.setdefault(case, []).append(line.profile)
    return tuple(CaseProfile(case, found) for case, found in launches.items())


def _profiled_lines(path: Path) -> list[_Line]:
    decode = msgspec.json.Decoder(_Line).decode
    with path.open("rb") as file:
        return [decode(line) for line in file if _MARK in line and line.endswith(b"\n")]
