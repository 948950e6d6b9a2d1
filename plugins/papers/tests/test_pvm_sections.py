# SPDX-License-Identifier: Apache-2.0
"""PVM's protocols in the report: known laws come out again, the order is judged by intervals."""

from __future__ import annotations

import pytest

from plugins.papers.sections import pvm_echo as pvm
from reports.checks.sections import check_parts
from reports.tests import synthetic

SHORT = (0, 256, 512, 1024)
LONG = (65536, 800000)
#: α in s, β in s a byte: half a round trip of m bytes takes α + β·m.
LAWS = {"psend": (20e-6, 1e-8), "InPlace": (20e-6, 1e-8), "Raw": (30e-6, 2e-8)}
LAWS["Default"] = (30e-6, 4e-8)


def _echo(item, rng, drift):
    metrics = []
    for construct, (alpha, beta) in LAWS.items():
        for size in item["params"]["sizes"]:
            half = (alpha + beta * size) * drift
            if construct == "InPlace":
                half *= 1 + 0.01 * rng.standard_normal()
            at = {"construct": construct, "message_bytes": size}
            for name in ("half_round_trip", "half_round_trip_mean"):
                metrics.append(synthetic.metric(name, half, **at))
            metrics.append(synthetic.metric("send_time", half / 4, **at))
            if construct != "psend":
                metrics.append(synthetic.metric("pack_time", 3e-6, **at))
    sizes = [size for size in item["params"]["sizes"] if size]
    metrics += [synthetic.metric("copy_time", m * 1e-10, message_bytes=m) for m in sizes]
    return metrics


def _case(check, environment, sizes, **params):
    params = {"placement": "between-nodes", "sizes": list(sizes), **params}
    return synthetic.case(check, environment, params)


@pytest.fixture
def make_run(tmp_path, monkeypatch):
    monkeypatch.setitem(synthetic.METRICS, "pvm_echo", _echo)

    def make(blocks=4):
        cases = [
            _case("pt2pt", "lam", [], constructs=["Send/Recv", "Ssend/Recv"]),
            *(_case("pvm_echo", "pvm", sizes, route="direct") for sizes in (SHORT, LONG)),
        ]
        return synthetic.analysed(tmp_path / f"run-{blocks}", cases, blocks=blocks)

    return make


def texts(table):
    return [[cell.text for cell in row] for row in table.rows]


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


def test_a_run_without_pvm_has_none_of_it(tmp_path):
    cases = [_case("pt2pt", "lam", SHORT[1:], constructs=["Send/Recv"])]
    analysis = synthetic.analysed(tmp_path / "run", cases)
    assert pvm.order_table(analysis) is pvm.steps_table(analysis) is None


def test_the_report_holds_the_tables(make_run):
    parts = check_parts(make_run())
    anchors = {table.anchor for part in parts for table in part.tables}
    assert {"table-pvm-order", "table-pvm-steps"} <= anchors
