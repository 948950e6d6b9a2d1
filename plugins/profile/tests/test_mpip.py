# SPDX-License-Identifier: Apache-2.0
"""A report of mpiP is read as a profile; what it does not have is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from plugins.profile.application_profile import ApplicationProfile, read_profile
from plugins.profile.mpip import any_profile
from records.errors import AssayError
from records.forms import as_text

#: Of mpiP 3.5.0 (options -y -p), cut to the call sites of rank 0.
VERBOSE = """\
@ mpiP
@ Command : ./ring -n "two words"
@ Version                  : 3.5.0
@ MPIP Build date          : Nov 27 2026, 14:48:43
@ Timer Used               : PMPI_Wtime
@ MPI Task Assignment      : 0 n1
@ MPI Task Assignment      : 1 n2

---------------------------------------------------------------------------
@--- MPI Time (seconds) ---------------------------------------------------
---------------------------------------------------------------------------
Task    AppTime    MPITime     MPI%
   0    0.00101   0.000243    24.06
   1    0.00132   0.000243    18.41
   *    0.00233   0.000486    20.86
---------------------------------------------------------------------------
@--- Callsites: 5 ---------------------------------------------------------
---------------------------------------------------------------------------
 ID Lev File/Address        Line Parent_Funct             MPI_Call
  1   0 0x7fc6330100c1           [unknown]                Allreduce
---------------------------------------------------------------------------
@--- Aggregate Time (top twenty, descending, milliseconds) ----------------
---------------------------------------------------------------------------
Call                 Site       Time    App%    MPI%      Count    COV
Sendrecv               17      0.157    6.76    7.16         10   0.00
Allreduce               1     0.0367    1.58    1.67         10   0.00
---------------------------------------------------------------------------
@--- Callsite Time statistics (all, milliseconds): 5 ----------------------
---------------------------------------------------------------------------
Name              Site Rank  Count      Max     Mean      Min   App%   MPI%
Allreduce            1    0     10   0.0186  0.00367  0.00189   3.64   3.90
Allreduce            1    *     10   0.0186  0.00367  0.00189   1.58   1.67

Irecv               10    *     10   0.0057  0.00193  0.00138   0.83   0.88
Isend               16    *     10  0.00405  0.00174   0.0013   0.75   0.79
Sendrecv            17    *     10   0.0557   0.0157   0.0065   6.76   7.16
Waitall             11    *     10  0.00555   0.0023  0.00168   0.99   1.05
---------------------------------------------------------------------------
@--- Callsite Message Sent statistics (all, sent bytes) -------------------
---------------------------------------------------------------------------
Name              Site Rank   Count       Max      Mean       Min       Sum
Allreduce            1    0      10        32        32        32       320
Allreduce            1    *      10        32        32        32       320

Isend               16    *      10       100       100       100      1000
Sendrecv            17    *      10      5000      5000      5000     5e+04
---------------------------------------------------------------------------
@--- End of Report --------------------------------------------------------
---------------------------------------------------------------------------
"""


def profile_of(tmp_path: Path, text: str) -> ApplicationProfile:
    path = tmp_path / "ring.2.27064.1.mpiP"
    path.write_text(text)
    return any_profile(path)


def test_a_report_of_mpip_is_read(tmp_path: Path) -> None:
    profile = profile_of(tmp_path, VERBOSE)
    assert profile.source == "mpiP"
    assert profile.command == ["./ring", "-n", "two words"]
    assert (profile.ranks, profile.nodes, profile.ranks_per_node) == (2, 2, 1)
    found = {one.call: one for one in profile.calls}
    assert (found["Isend"].count, found["Isend"].bytes, found["Isend"].nodes) == (10, 1000, 2)
    assert (found["Allreduce"].ranks, found["Allreduce"].greatest_bytes) == (2, 32)
    assert found["Sendrecv"].time_s == pytest.approx(157e-6)
    # The time of Waitall is that of what it completes.
    assert found["Waitall"].time_s == 0
    assert found["Isend"].completing_s == pytest.approx(11.5e-6)
    assert found["Irecv"].bytes == 10 * 2550
    assert {one.wait_share for one in profile.calls} == {None}


def test_it_is_written_in_our_form_and_read_again(tmp_path: Path) -> None:
    profile, ours = profile_of(tmp_path, VERBOSE), tmp_path / "profile.json"
    ours.write_text(as_text(profile))
    assert read_profile(ours) == profile == any_profile(ours)


def test_a_concise_report_says_what_it_lacks(tmp_path: Path) -> None:
    head, _, rest = VERBOSE.partition("@--- Callsite Time")
    profile = profile_of(tmp_path, head + rest[rest.index("@--- End") :])
    assert {one.call for one in profile.calls} == {"Sendrecv", "Allreduce"}
    assert any("only the costliest call sites" in note for note in profile.notes)


@pytest.mark.parametrize("section", ["@--- MPI Time", "@--- Callsites", "@--- Callsite Message"])
def test_a_report_without_a_section_is_refused_naming_it(tmp_path: Path, section: str) -> None:
    with pytest.raises(AssayError, match="a report of mpiP without"):
        profile_of(tmp_path, VERBOSE[: VERBOSE.index(section)])


ODD = "damaged report|contradicts itself"


@pytest.mark.parametrize(
    ("right", "wrong", "told"),
    [
        *(("0.00101", "inf", ODD), ("0.00101", "0.0.1", ODD), ("0.0157", "nan", ODD)),
        *(("1000\n", "nan\n", ODD), ("   1    0.00132   0.000243    18.41\n", "", "1 ranks on 2")),
    ],
)
def test_what_contradicts_itself_is_refused(
    tmp_path: Path, right: str, wrong: str, told: str
) -> None:
    with pytest.raises(AssayError, match=told):
        profile_of(tmp_path, VERBOSE.replace(right, wrong))
