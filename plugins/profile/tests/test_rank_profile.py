# SPDX-License-Identifier: Apache-2.0
"""The profile that a launch printed: read, refused, and proved with the library that prints it."""

import pytest

from checks.common.tests.program_runs import build_folder
from checks.common.tests.test_programs import RANKS, proofs
from plugins.profile.program import SOURCES
from plugins.profile.rank_profile import read_profile


def entry(rank=0, **changes):
    call = {"call": "Barrier", "peer": None, "count": 3, "bytes": 0, "time_s": 1e-4}
    call |= {"greatest_s": 5e-5, "sizes": {}}
    return {"rank": rank, "elapsed_s": 0.5 + rank, "mpi_s": 1e-4, "calls": [call]} | changes


def test_a_profile_is_kept_by_rank_with_the_seconds_of_the_longest():
    assert read_profile([entry(1), entry(0)], 2) == ([entry(0), entry(1)], 1.5)


@pytest.mark.parametrize("change", [{"rank": -1}, {"mpi_s": -1.0}, {"mpi_s": "x"}, {"calls": [1]}])
def test_an_impossible_profile_is_refused(change):
    with pytest.raises(ValueError, match="MPI profile"):
        read_profile([entry(**change)], 1)


@pytest.mark.full
def test_proof_programs_of_the_library_pass():
    found = proofs(SOURCES, "mpich", build_folder("mpich") / "profile")
    for section, lines in found.items():
        ranks = int(section.split()[-2])
        assert lines[2:] == [f"right  profile of rank {rank} of {ranks}" for rank in range(ranks)]
    ways = {section.split(", ")[0] for section in found}
    assert {"mpich: linked in", "mpich: preloaded"} <= ways
    assert set(found) == {f"{way}, {ranks} ranks" for way in ways for ranks in RANKS}
