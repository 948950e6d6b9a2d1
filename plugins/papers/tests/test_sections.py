# SPDX-License-Identifier: Apache-2.0
"""Our echo against NetPIPE: numbers that follow from known records."""

import pytest

from plugins.papers.sections import netpipe
from reports.tests.synthetic import analysed, case, metric, quick_cases

CASES = [
    case("echo", "mpich", {"placement": "between-nodes", "distance": 1}),
    case("socket_echo", "mpich", {"transport": "tcp", "placement": "between-nodes", "distance": 1}),
    case("netpipe", "mpich", {"transport": "library", "placement": "between-nodes"}),
    case("netpipe", "mpich", {"transport": "tcp", "placement": "between-nodes"}),
]


def values(record):
    """Metrics of a record."""
    params, block = record["params"], record["block"]
    tcp = params.get("transport") == "tcp"
    if record["check"] == "netpipe":
        time_s = block * (5e-6 if tcp else 8e-6)
        return [metric("netpipe_half_round_trip", time_s, message_bytes=1)]
    # Slower from block to block; the ratio to a witness that is so too stays.
    times = ((1, 4e-6),) if tcp else ((0, 10e-6), (1, 10e-6), (8, 11e-6), (1024, 12e-6))
    return [metric("half_round_trip", block * time_s, message_bytes=size) for size, time_s in times]


@pytest.fixture(scope="module")
def analysis(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sections") / "run"
    return analysed(folder, CASES, blocks=3, edit=lambda r: r | {"metrics": values(r)})


def texts(table):
    return [[cell.text for cell in row] for row in table.rows]


def row_of(table, *begin):
    return next(row for row in texts(table) if row[: len(begin)] == list(begin))


def test_the_witness_is_paired_by_block(analysis):
    row = row_of(netpipe.comparison_table(analysis), "1 B", "mpich", "library")
    assert row[5:] == ["1.250 (1.250 … 1.250)", "1.000 … 1.563", "2.500 (2.500 … 2.500)"]
    empty = row_of(netpipe.comparison_table(analysis), "1 KiB", "mpich")
    assert empty[4:] == ["–", "–", "–", "–"]


def test_tcp_alone_has_a_witness_of_its_own(analysis):
    table = netpipe.comparison_table(analysis)
    row = row_of(table, "1 B", "mpich", "TCP alone")
    assert [text.partition(" ")[0] for text in row[3:5]] == ["8.0", "10.0"]
    assert row[5:] == ["0.8000 (0.8000 … 0.8000)", "0.640 … 1.000", "–"]
    assert len(table.rows) == 2 * 4  # two ways to carry, four lengths


def test_a_run_without_them_has_none(tmp_path):
    other = analysed(tmp_path / "run", quick_cases(("mpich",)))
    assert netpipe.comparison_table(other) is None
