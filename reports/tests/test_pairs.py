# SPDX-License-Identifier: Apache-2.0
"""The matrix of all pairs of nodes."""

import pytest

from reports.checks.alltoall_pairs import bandwidth_matrix, latency_matrix
from reports.show.draw import svg_of
from reports.tests.synthetic import analysed, case, metric, quick_cases

BANDWIDTHS = {("n1", "n2"): 12e6, ("n1", "n3"): 11.9e6, ("n2", "n3"): 9e6}


def fill(record):
    if record["check"] == "alltoall_pairs":
        record["metrics"] = [
            metric(name, value, node=node, peer=peer)
            for (node, peer), rate in BANDWIDTHS.items()
            for name, value in (("pair_bandwidth", rate), ("pair_latency", 100 / rate))
        ]
    return record


@pytest.fixture(scope="module")
def analysis(tmp_path_factory):
    cases = [
        case("alltoall_pairs", "lam", {"ranks": 3, "turns": True}, 3),
    ]
    return analysed(tmp_path_factory.mktemp("pairs") / "run", cases, blocks=3, edit=fill)


def test_each_pair_stands_in_the_matrix_and_a_slow_one_is_outlined(analysis):
    (panel,) = bandwidth_matrix(analysis).panels
    assert "3 pairs from 9.00 to 12.0 MB/s; 1 pair outlined" in panel.alt
    assert svg_of(panel).count("#b3261e") == 2
    assert svg_of(panel).count(">11.9<") == 2


def test_latencies_within_the_limit_are_not_outlined(analysis):
    panel = latency_matrix(analysis).panels[0]
    assert "0 pairs outlined" in panel.alt
    assert "#b3261e" not in svg_of(panel)


def test_a_run_without_them_has_none(tmp_path):
    other = analysed(tmp_path / "run", quick_cases(("mpich",)))
    for make in (bandwidth_matrix, latency_matrix):
        assert make(other) is None
