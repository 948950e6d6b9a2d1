# SPDX-License-Identifier: Apache-2.0
"""The table of OSU benchmarks: one quantity a benchmark, the spread of its launches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reports.analysis.run import Analysis
from reports.checks.benchmarks import osu_tables
from reports.tests.synthetic import analysed, case, metric

CASES = [
    case("osu", environment, {"test": test, "ranks": 2, "iterations": 100})
    for environment in ("mpich", "openmpi")
    for test in ("osu_bw", "osu_latency", "osu_init")
]
LATENCY = ("", 2e-6, 1), ("_least", 1e-6, 1), ("", 3e-6, 8)
VALUES: dict[str, list[tuple[str, float, int | None]]] = {
    "osu_latency": [(f"osu_latency{of}", t, m) for of, t, m in LATENCY],
    "osu_bw": [("osu_bandwidth", 1e8, 8)],
    "osu_init": [("osu_init_least", 0.1, None), ("osu_init_mean", 0.2, None)],
}


def with_metrics(record: dict[str, Any]) -> dict[str, Any]:
    """Each block has its own multiple of the values."""
    record["metrics"] = [
        metric(name, record["block"] * value, **({"message_bytes": size} if size else {}))
        for name, value, size in VALUES[record["params"]["test"]]
    ]
    return record


@pytest.fixture(scope="module")
def analysis(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    folder: Path = tmp_path_factory.mktemp("runs") / "osu"
    return analysed(folder, CASES, blocks=3, edit=with_metrics)


def test_each_quantity_has_lengths_down_and_environments_across(analysis: Analysis) -> None:
    tables = osu_tables(analysis)
    assert [table.title.split(":")[0] for table in tables] == [
        "OSU bandwidth, MB/s",
        "OSU latency, µs",
        "OSU mean MPI_Init, ms",
    ]
    latency = tables[1]
    assert [column.environment for column in latency.columns[-2:]] == ["mpich", "openmpi"]
    rows = {row[0].text: [cell.text for cell in row[-2:]] for row in latency.rows}
    assert rows == {"1 B": ["4.0 ± 2.0"] * 2, "8 B": ["6.0 ± 3.0"] * 2}


def test_a_run_without_osu_has_no_such_table(analysis: Analysis, tmp_path: Path) -> None:
    other = analysed(tmp_path / "quick", blocks=1)
    assert not osu_tables(other)
