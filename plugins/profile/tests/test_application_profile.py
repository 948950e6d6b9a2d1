# SPDX-License-Identifier: Apache-2.0
"""The form of an application's profile: written and read again; contradictions are refused."""

import pytest
from msgspec.structs import replace

from plugins.profile.application_profile import (
    ApplicationProfile,
    OverRanks,
    ProfiledCall,
    read_profile,
)
from records.errors import AssayError
from records.forms import as_text


def sample():
    """Two ranks on two nodes: a halo exchange of 8 kB, 100 times, and a sum after each."""
    messages = {"least_bytes": 8192, "greatest_bytes": 8192, "bytes": 1_638_400, "count": 200}
    calls = [
        ProfiledCall(
            call="Allreduce", least_bytes=8, greatest_bytes=8, bytes=1600, count=200,
            ranks=2, nodes=2, time_s=0.02, sampled=50, sampled_s=0.005, wait_s=0.001,
        ),
        ProfiledCall(
            call="Irecv", **messages, ranks=2, nodes=2, time_s=0.05, completing_s=0.049,
            outside_s=0.2, sampled=20, sampled_s=0.005, wait_s=0.002,
        ),
        ProfiledCall(call="Isend", **messages, ranks=2, nodes=2, time_s=0.01),
    ]  # fmt: skip
    return ApplicationProfile(
        source="assay",
        command=["mpirun", "-np", "2", "./halo"],
        library="Open MPI v4.1.4",
        ranks=2,
        nodes=2,
        ranks_per_node=1,
        wall_s=1.4,
        elapsed_s=OverRanks(mean=1.04, least=1.04, greatest=1.04),
        mpi_s=OverRanks(mean=0.04, least=0.03, greatest=0.05),
        outside_s=OverRanks(mean=1.0, least=0.99, greatest=1.01),
        sampled_share=0.125,
        clock_error_s=2e-5,
        calls=calls,
    )


def read_again(tmp_path, profile):
    (tmp_path / "halo.json").write_text(as_text(profile))
    return read_profile(tmp_path / "halo.json")


def test_what_is_written_is_read_again(tmp_path):
    found = read_again(tmp_path, sample())
    assert found == sample()
    assert [one.wait_share for one in found.calls] == pytest.approx([0.2, 0.4, None])


@pytest.mark.parametrize(
    ("of_call", "change", "fault"),
    [
        (True, {"time_s": 0.5}, "s in MPI; its calls took"),
        (True, {"bytes": 1}, "200 messages have 1 bytes"),
        (True, {"wait_s": 0.006}, "0.006 s of wait in 0.005 s"),
        (True, {"sampled": 201}, "200 calls, 201 sampled"),
        (True, {"ranks": -2}, "-2 ranks on 2 nodes"),
        (False, {"ranks_per_node": 0}, "2 ranks on 2 nodes, 0 on one"),
        (False, {"ranks_per_node": 3}, "2 ranks on 2 nodes, 3 on one"),
        (False, {"elapsed_s": OverRanks(mean=9, least=1, greatest=1.1)}, "its mean not between"),
        (False, {"wall_s": -1.0}, "-1.0 s in all"),
    ],
)
def test_a_profile_that_contradicts_itself_is_refused(tmp_path, of_call, change, fault):
    profile = sample()
    if of_call:
        change = {"calls": [replace(profile.calls[0], **change), *profile.calls[1:]]}
    with pytest.raises(AssayError, match=fault):
        read_again(tmp_path, replace(profile, **change))
