# SPDX-License-Identifier: Apache-2.0
"""The MPI profile in the report: totals, which launches count, and what is drawn."""

import pytest

from plugins.profile.pictures import case_profiles, case_totals, profile_pictures, profile_tables
from reports.analysis.run import analyse
from reports.load.loading import load_run
from reports.tests.synthetic import analysed, case, rewrite

PARAMS = {"p": 1, "q": 2, "n": 1000, "mpi_profile": True}


def call(name, peer, count, size, time_s):
    counted = {"count": count, "bytes": count * size, "sizes": {str(size): count} if size else {}}
    return {"call": name, "peer": peer, "time_s": time_s, "greatest_s": time_s / 2, **counted}


def rank(number, scale):
    calls = [call("Isend", 1 - number, 10, 1024, 0.1 * scale), call("Wait", None, 10, 0, 0.3)]
    return {"rank": number, "elapsed_s": 2.0, "mpi_s": 0.1 * scale + 0.3, "calls": calls}


@pytest.fixture
def analysis(tmp_path):
    """Two launches of one case; rank 1 takes twice and thrice as long in its sends."""
    cases = [case("hpl", name, PARAMS) for name in ("mpich", "lam")]

    def with_profile(record):
        profile = [rank(0, 1), rank(1, record["block"] + 1)]
        return record | ({"profile": profile} if record["environment"] == "mpich" else {})

    return analysed(tmp_path, cases, blocks=2, edit=with_profile)


def test_calls_are_summed_over_ranks_and_kept_apart_by_launch(analysis):
    (profile,) = case_profiles(analysis)
    totals = case_totals(profile)
    assert [item.call for item in totals.calls] == ["Wait", "Isend"]
    send = totals.calls[1]
    assert send.seconds.tolist() == pytest.approx([0.15, 0.2])
    assert (send.count, send.bytes, send.sizes) == (10, 10240, {1024: 10})
    assert totals.mpi_s.tolist() == pytest.approx([0.45, 0.5])


def test_only_the_latest_attempt_counts_and_only_when_ok(tmp_path, analysis):
    def with_a_second_attempt(lines):
        first = next(line for line in lines if "profile" in line and line["block"] == 1)
        again = first | {"attempt": 2, "status": "failed", "reason": "lost its way", "metrics": []}
        return [*lines, again]

    rewrite(tmp_path, with_a_second_attempt)
    (profile,) = case_profiles(analyse(load_run(tmp_path)))
    assert len(profile.launches) == 1


def test_tables_and_pictures_show_the_profiled_case_alone(analysis):
    (calls,) = profile_tables(analysis, "hpl")
    assert [row[2].text for row in calls.rows] == ["MPI_Wait", "MPI_Isend"]
    assert {row[1].environment for row in calls.rows} == {"mpich"}
    pictures = profile_pictures(analysis, "hpl")
    assert [picture.environments for picture in pictures] == [["mpich"]]
    assert profile_tables(analysis, "pt2pt") == [] == profile_pictures(analysis, "pt2pt")
