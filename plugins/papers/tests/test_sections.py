# SPDX-License-Identifier: Apache-2.0
"""Our echo against NetPIPE; PVM's protocols, whose order is judged by intervals."""

import numpy as np
import pytest

from plugins.papers.sections import netpipe
from plugins.papers.sections import pvm_echo as pvm
from reports.checks.sections import check_parts
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


def test_a_run_without_them_has_no_such_table(tmp_path):
    other = analysed(tmp_path / "run", quick_cases(("mpich",)))
    for make in (netpipe.comparison_table, pvm.order_table, pvm.steps_table):
        assert make(other) is None


SHORT = (0, 256, 512, 1024)
LONG = (65536, 800000)
#: α in s, β in s a byte: half a round trip of m bytes takes α + β·m.
LAWS = {"psend": (20e-6, 1e-8), "InPlace": (20e-6, 1e-8), "Raw": (30e-6, 2e-8)}
LAWS["Default"] = (30e-6, 4e-8)


def echoed(record):
    """A record of pvm_echo with its times; those of InPlace scatter."""
    params, rng, metrics = record["params"], np.random.default_rng(record["block"]), []
    for construct, (alpha, beta) in LAWS.items():
        for size in params["sizes"]:
            half = alpha + beta * size
            if construct == "InPlace":
                half *= 1 + 0.01 * rng.standard_normal()
            times = {"half_round_trip": half, "send_time": half / 4}
            times |= {} if construct == "psend" else {"pack_time": 3e-6}
            at = {"construct": construct, "message_bytes": size}
            metrics += [metric(name, time_s, **at) for name, time_s in times.items()]
    metrics += [metric("copy_time", m * 1e-10, message_bytes=m) for m in params["sizes"] if m]
    return record | {"metrics": metrics}


@pytest.fixture
def make_run(tmp_path):
    at = {"placement": "between-nodes", "route": "direct"}
    cases = [case("pvm_echo", "pvm", {**at, "sizes": [*sizes]}) for sizes in (SHORT, LONG)]
    return lambda blocks=4: analysed(tmp_path / "run", cases, blocks=blocks, edit=echoed)


def test_the_order_is_judged_by_its_interval(make_run):
    rows = texts(pvm.order_table(make_run()))
    long = next(row for row in rows if row[3].startswith("800"))
    assert "not resolved at n = 4" in long[4]
    assert long[5].startswith("2.00 (2.00 … 2.00): as in 1995")
    assert "as in 1995" in long[6]
    assert long[7].startswith("2.00 (")


def test_an_order_is_never_read_from_two_launches(make_run):
    rows = texts(pvm.order_table(make_run(blocks=2)))
    assert all("not resolved at n = 2" in cell for row in rows for cell in row[4:])


def test_a_reversed_order_is_said(make_run, monkeypatch):
    monkeypatch.setitem(LAWS, "Raw", (5e-6, 1e-9))
    rows = texts(pvm.order_table(make_run()))
    assert all(row[5].endswith("reversed") for row in rows)


def test_steps_show_what_packs_and_what_a_copy_costs(make_run):
    rows = texts(pvm.steps_table(make_run()))
    assert [row[2] for row in rows[:4]] == list(LAWS)
    assert rows[0][3] == "–"
    assert rows[1][3].startswith("3.0")


def test_the_report_holds_the_tables(make_run):
    parts = check_parts(make_run())
    anchors = {table.anchor for part in parts for table in part.tables}
    assert {"table-pvm-order", "table-pvm-steps"} <= anchors
