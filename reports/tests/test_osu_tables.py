# SPDX-License-Identifier: Apache-2.0
"""The table of OSU benchmarks: one quantity a benchmark, the spread of its launches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reports.analysis.run import Analysis
from reports.checks import osu as osu_tables
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
    _, *makers = osu_tables.SECTION.tables
    tables = [table for make in makers if (table := make(analysis))]
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
    assert osu_tables.comparison_table(analysis) is None  # the suite alone
    other = analysed(tmp_path / "quick", blocks=1)
    assert not any(make(other) for make in osu_tables.SECTION.tables)


_ALLREDUCE = {"operation": "allreduce"}
ALIKE: tuple[tuple[str, dict[str, Any], str, dict[str, str], float], ...] = (
    ("echo", {"placement": "between-nodes"}, "half_round_trip_loop", {}, 3e-6),
    ("osu", {"test": "osu_latency"}, "osu_latency", {}, 2e-6),
    ("streams", {"window": 64}, "window_rate", {"direction": "one-way"}, 1e8),
    ("osu", {"test": "osu_bw"}, "osu_bandwidth", {}, 2e8),
    ("collectives", {"operations": ["allreduce"]}, "collective_time", _ALLREDUCE, 8e-6),
    ("osu", {"test": "osu_allreduce"}, "osu_latency", {}, 4e-6),
    # Of other windows, and on one node: not measured alike.
    ("streams", {"window": 32}, "window_rate", {"direction": "one-way"}, 1e6),
    ("echo", {"placement": "within-node"}, "half_round_trip_loop", {}, 1e-7),
)


def test_ours_stands_beside_what_the_suite_measures_alike(tmp_path: Path) -> None:
    cases = [case(check, "mpich", params) for check, params, *_ in ALIKE]
    values = {item["id"]: one[2:] for item, one in zip(cases, ALIKE, strict=True)}

    def measured(record: dict[str, Any]) -> dict[str, Any]:
        name, at, value = values[record["case_id"]]
        return record | {"metrics": [metric(name, record["block"] * value, **at, message_bytes=8)]}

    analysis = analysed(tmp_path / "run", cases, blocks=6, edit=measured)
    table = osu_tables.comparison_table(analysis)
    assert table is not None
    found = [[cell.text for cell in row] for row in table.rows]
    assert [(row[0], row[2], row[7]) for row in found] == [
        ("one-way time, loop timed, µs", "8 B", "1.000 … 2.250"),
        ("bandwidth of windows, MB/s", "8 B", "0.250 … 1.000"),
        ("allreduce, µs", "8 B", "1.000 … 4.000"),
    ]
    assert found[2][6].startswith("2.0")
    assert found[0][4:6] == ["10.5 (3.0 … 18.0)", "7.0 (2.0 … 12.0)"]
