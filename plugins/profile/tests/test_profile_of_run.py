# SPDX-License-Identifier: Apache-2.0
"""A profiled case of a run is an application's profile."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from plugins.profile.application_profile import PAIR, ProfiledCall, read_profile
from plugins.profile.of_run import profile_of_run
from records.errors import AssayError
from records.forms import as_text
from reports.analysis.run import Analysis, analyse
from reports.load.loading import load_run
from reports.tests.synthetic import case, write_run

PARAMS = {"p": 1, "q": 2, "n": 1000, "mpi_profile": True}


def call(
    name: str, peer: int | None, sizes: dict[str, int], size: int, time_s: float
) -> dict[str, Any]:
    return {
        **{"call": name, "peer": peer, "count": sum(sizes.values()) or 10, "bytes": size},
        **{"time_s": time_s, "greatest_s": time_s, "sizes": sizes},
    }


def rank(number: int) -> dict[str, Any]:
    """Isend of 600 and 10 bytes, two broadcasts of 1000 bytes by rank 0, ten all-to-alls of 24."""
    calls = [
        call("Isend", 1 - number, {"16": 10, "1024": 10}, 6100, 0.1),
        call("Wait", None, {}, 0, 0.3),
        call("Bcast", None, {"0": 2} if number else {"1024": 2}, 0 if number else 2000, 0.01),
        call("Alltoall", None, {"64": 10}, 480, 0.02),
    ]
    return {"rank": number, "elapsed_s": 2.0, "mpi_s": 0.43, "calls": calls}


@pytest.fixture
def analysis(tmp_path: Path) -> Analysis:
    cases = [case("hpl", name, PARAMS) for name in ("mpich", "lam")]
    profile = [rank(0), rank(1)]
    write_run(tmp_path, cases, blocks=2, edit=lambda record: record | {"profile": profile})
    return analyse(load_run(tmp_path))


def test_a_profiled_case_becomes_a_profile(analysis: Analysis, tmp_path: Path) -> None:
    (tmp_path / "profile.json").write_text(as_text(profile_of_run(analysis, "lam")))
    profile = read_profile(tmp_path / "profile.json")
    assert (profile.environment, profile.ranks, profile.nodes) == ("lam", 2, 2)

    def of(name: str) -> list[ProfiledCall]:
        return [one for one in profile.calls if one.call == name]

    small, large = of("Isend")
    assert (small.ranks, small.nodes, small.count, large.count) == (PAIR, 2, 20, 20)
    assert small.bytes + large.bytes == 12200
    assert (large.least_bytes, large.greatest_bytes) == (513, 1024)
    assert large.time_s == pytest.approx(0.1 + 0.3)  # and half of what was waited
    assert [(one.count, one.bytes) for one in of("Bcast")] == [(4, 4000)]
    assert [(one.greatest_bytes, one.bytes) for one in of("Alltoall")] == [(32, 480)]


def test_the_profiled_cases_are_listed_where_several_are_meant(analysis: Analysis) -> None:
    with pytest.raises(AssayError, match="--case CASE: 2 cases; profiled: hpl-"):
        profile_of_run(analysis, None)
