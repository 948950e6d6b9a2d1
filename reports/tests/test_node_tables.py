# SPDX-License-Identifier: Apache-2.0
"""Nodes' tables: numbers that follow from known records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reports.analysis.run import Analysis
from reports.checks.benchmarks import rates_table
from reports.show.tables import Table
from reports.tests.synthetic import analysed, case, metric

CYCLE_S = 0.25e-9
CASES = [
    case("node", "mpich", {"ranks": 2}),
]


def of_node(name: str) -> list[dict[str, Any]]:
    return [
        metric("stream_triad", 2e10, node=name),
        metric("linpack_100_rate", 5e9, node=name),
        metric("core_clock", 1 / CYCLE_S, node=name),
        metric("sieve_time", 1e-3, node=name),
    ]


def with_metrics(record: dict[str, Any]) -> dict[str, Any]:
    record["metrics"] = [*of_node("n1"), *of_node("n2")]
    return record


@pytest.fixture(scope="module")
def analysis(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    folder: Path = tmp_path_factory.mktemp("runs") / "nodes"
    return analysed(folder, CASES, blocks=3, edit=with_metrics)


def row_of(table: Table | None, *begin: str) -> list[str]:
    assert table is not None
    found = [[cell.text for cell in row] for row in table.rows]
    return next(texts for texts in found if texts[: len(begin)] == list(begin))


def test_a_line_a_node_and_environment(analysis: Analysis) -> None:
    table = rates_table(analysis)
    assert "20.00 (20.00 … 20.00)" in row_of(table, "n2", "mpich")
    assert table and len(table.rows) == 2


def test_without_such_checks_there_are_no_tables(tmp_path: Path) -> None:
    analysis = analysed(tmp_path / "quick", blocks=1)
    assert rates_table(analysis) is None
