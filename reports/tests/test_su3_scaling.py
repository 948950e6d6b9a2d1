# SPDX-License-Identifier: Apache-2.0
"""The lattice program: what scales with what."""

import pytest

from reports.checks.su3_rmd import strong_scaling, weak_scaling
from reports.tests.synthetic import analysed, case, metric

SCALED = {"nx": 4, "ny": 4, "nz": 4, "nt": 8, "trajectories": 50, "ranks_per_node": 1}
#: Lattice length in t, ranks and program time: twice as fast on two ranks less a fifth.
POINTS = {(8, 1): 1.0, (8, 2): 0.625, (16, 2): 1.25}


@pytest.fixture
def scaled(tmp_path):
    cases = [case("su3_rmd", "lam", {**SCALED, "nt": t, "ranks": p}, p) for t, p in POINTS]

    def with_metrics(record):
        time = POINTS[record["params"]["nt"], record["params"]["ranks"]]
        values = {"program_time": time, "launch": time + 1, "communication_share": 0.2}
        return record | {"metrics": [metric(name, value) for name, value in values.items()]}

    return analysed(tmp_path, cases, blocks=3, edit=with_metrics)


def texts(table):
    return [[cell.text for cell in row] for row in table.rows]


def test_one_lattice_on_more_ranks_scales_strongly(scaled):
    rows = texts(strong_scaling(scaled))
    assert [(row[0], row[2], *row[-2:]) for row in rows] == [
        ("4³ × 8", "1", "1.00", "100.0 %"),
        ("4³ × 8", "2", "1.60", "80.0 %"),
    ]


def test_equal_sites_a_rank_scale_weakly(scaled):
    rows = texts(weak_scaling(scaled))
    assert [(row[0], row[2], *row[-2:]) for row in rows] == [
        ("4³ × 8", "1", "512", "100.0 %"),
        ("4³ × 16", "2", "512", "80.0 %"),
    ]
