# SPDX-License-Identifier: Apache-2.0
"""Nodes' tables and the echo's witness: numbers that follow from known records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from plugins.papers.sections import netpipe
from reports.analysis.run import Analysis
from reports.checks import node
from reports.checks.common.blocks import ratio_interval_cell
from reports.show.tables import Table
from reports.tests.synthetic import analysed, case, metric

CYCLE_S = 0.25e-9
CASES = [
    case("node", "mpich", {"ranks": 2}),
    case("echo", "mpich", {"placement": "between-nodes", "distance": 1}),
    case("echo", "mpich", {"transport": "tcp", "placement": "between-nodes", "distance": 1}),
    case("netpipe", "mpich", {"transport": "library", "placement": "between-nodes"}),
    case("netpipe", "mpich", {"transport": "tcp", "placement": "between-nodes"}),
]


def of_node(name: str) -> list[dict[str, Any]]:
    return [
        metric("stream_triad", 2e10, node=name),
        metric("linpack_100_rate", 5e9, node=name),
        metric("core_clock", 1 / CYCLE_S, node=name),
        metric("sieve_time", 1e-3, node=name),
    ]


def with_metrics(record: dict[str, Any]) -> dict[str, Any]:
    transport = record["params"].get("transport")
    if record["check"] == "node":
        record["metrics"] = [*of_node("n1"), *of_node("n2")]
    elif record["check"] == "echo" and transport == "tcp":
        record["metrics"] = [metric("half_round_trip", record["block"] * 4e-6, message_bytes=1)]
    elif record["check"] == "echo":
        # Slower from block to block; the ratio to a witness that is so too stays.
        record["metrics"] = [
            metric("half_round_trip", record["block"] * t, message_bytes=size)
            for size, t in ((0, 10e-6), (1, 10e-6), (8, 11e-6), (1024, 12e-6))
        ]
    else:
        time_s = record["block"] * (8e-6 if transport == "library" else 5e-6)
        record["metrics"] = [metric("netpipe_half_round_trip", time_s, message_bytes=1)]
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
    table = node.rates_table(analysis)
    assert "20.00 (20.00 … 20.00)" in row_of(table, "n2", "mpich")
    assert table and len(table.rows) == 2


def test_the_witness_is_paired_by_block(analysis: Analysis) -> None:
    row = row_of(netpipe.comparison_table(analysis), "1 B", "mpich", "library")
    assert row[5:] == ["1.250 (1.250 … 1.250)", "1.000 … 1.563", "2.500 (2.500 … 2.500)"]
    empty = row_of(netpipe.comparison_table(analysis), "1 KiB", "mpich")
    assert empty[4:] == ["–", "–", "–", "–"]


def test_tcp_alone_has_a_witness_of_its_own(analysis: Analysis) -> None:
    table = netpipe.comparison_table(analysis)
    row = row_of(table, "1 B", "mpich", "TCP alone")
    assert [text.partition(" ")[0] for text in row[3:5]] == ["8.0", "10.0"]
    assert row[5:] == ["0.8000 (0.8000 … 0.8000)", "0.640 … 1.000", "–"]
    assert table and len(table.rows) == 2 * 4  # two ways to carry, four lengths


def test_the_witness_ratio_has_an_interval_from_three_launches_on() -> None:
    # Of six ratios the exact interval nearest to 95 % goes from the least to the greatest.
    pairs = [(ratio, 1.0) for ratio in (0.9, 0.95, 1.0, 1.02, 1.1, 1.2)]
    cell = ratio_interval_cell(pairs)
    assert cell.text == "0.900 … 1.200"
    assert "96.9% interval of n = 6" in cell.title
    assert ratio_interval_cell(pairs[:2]).text == "–"


def test_without_such_checks_there_are_no_tables(tmp_path: Path) -> None:
    analysis = analysed(tmp_path / "quick", blocks=1)
    for make in (node.rates_table, netpipe.comparison_table):
        assert make(analysis) is None
