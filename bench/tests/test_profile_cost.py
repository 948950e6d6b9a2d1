# SPDX-License-Identifier: Apache-2.0
"""`python -m bench profile_cost`, with programs that are too short to say what a profile costs."""

import shutil

import pytest

from bench.advised import profile_cost


@pytest.mark.full
@pytest.mark.skipif(not shutil.which("mpicc.mpich"), reason="needs mpicc.mpich: make packages")
def test_each_program_is_compared_and_the_size_of_a_profile_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(profile_cost, "LIBRARIES", {"mpich": ["-bind-to", "none"]})
    monkeypatch.setattr(profile_cost, "PROGRAMS", (("halo", 20, 1),))
    monkeypatch.setattr(profile_cost, "MANY", 30)
    compared, size = profile_cost.rows(6)
    assert compared.found.endswith("n = 6")
    assert size.what == "mpich: bytes of a profile of 400 calls"
    assert size.kept
