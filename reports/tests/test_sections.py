# SPDX-License-Identifier: Apache-2.0
"""Sections of single checks: a node's rates, scaling, pairs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reports.analysis.run import Analysis
from reports.checks.alltoall_pairs import METRICS, matrices
from reports.checks.sections import rates_table
from reports.checks.su3_rmd import strong_scaling, weak_scaling
from reports.show.draw import svg_of
from reports.show.tables import Table
from reports.tests import synthetic
from reports.tests.synthetic import analysed, case


def made(folder: Path, cases: list[dict[str, Any]], metrics: Any) -> Analysis:
    """Three launches of each case, with the metrics that `metrics` gives its parameters."""
    return analysed(
        folder, cases, blocks=3, edit=lambda one: one | {"metrics": [*metrics(one["params"])]}
    )


def texts(table: Table | None, *columns: int) -> list[list[str]]:
    assert table is not None
    return [[row[place].text for place in columns] for row in table.rows]


def test_a_line_a_node_and_environment(tmp_path: Path) -> None:
    rates = {"stream_triad": 2e10, "linpack_100_rate": 5e9, "core_clock": 4e9, "sieve_time": 1e-3}

    def metrics(_: Any) -> Iterator[dict[str, Any]]:
        for node in ("n1", "n2"):
            yield from (synthetic.metric(name, rate, node=node) for name, rate in rates.items())

    table = rates_table(made(tmp_path, [case("node", "mpich", {"ranks": 2})], metrics))
    assert texts(table, 0, 1, 3) == [
        [node, "mpich", "20.00 (20.00 … 20.00)"] for node in ("n1", "n2")
    ]


#: Lattice length in t, ranks and program time: twice as fast on two ranks less a fifth.
SCALED = {(8, 1): 1.0, (8, 2): 0.625, (16, 2): 1.25}


def test_one_lattice_scales_strongly_and_equal_sites_a_rank_weakly(tmp_path: Path) -> None:
    fixed = {"nx": 4, "ny": 4, "nz": 4, "trajectories": 50, "ranks_per_node": 1}
    cases = [case("su3_rmd", "lam", {**fixed, "nt": t, "ranks": p}, p) for t, p in SCALED]

    def metrics(params: dict[str, Any]) -> Iterator[dict[str, Any]]:
        time = SCALED[params["nt"], params["ranks"]]
        values = {"program_time": time, "launch": time + 1, "communication_share": 0.2}
        yield from (synthetic.metric(*item) for item in values.items())

    scaled = made(tmp_path, cases, metrics)
    strong, weak = (texts(table(scaled), 0, 2, -2, -1) for table in (strong_scaling, weak_scaling))
    assert strong == [["4³ × 8", "1", "1.00", "100.0 %"], ["4³ × 8", "2", "1.60", "80.0 %"]]
    assert weak == [["4³ × 8", "1", "512", "100.0 %"], ["4³ × 16", "2", "512", "80.0 %"]]


def test_each_pair_stands_in_the_matrix_and_a_slow_one_is_outlined(tmp_path: Path) -> None:
    rates = {("n1", "n2"): 12e6, ("n1", "n3"): 11.9e6, ("n2", "n3"): 9e6}

    def metrics(_: Any) -> Iterator[dict[str, Any]]:
        for (node, peer), rate in rates.items():
            yield synthetic.metric("pair_bandwidth", rate, node=node, peer=peer)
            yield synthetic.metric("pair_latency", 100 / rate, node=node, peer=peer)

    pairs = case("alltoall_pairs", "lam", {"ranks": 3, "turns": True}, 3)
    pictures = [matrices(made(tmp_path, [pairs], metrics), metric) for metric in METRICS]
    rate, latency = (picture.panels[0] for picture in pictures if picture)
    assert "3 pairs from 9.00 to 12.0 MB/s; 1 pair outlined" in rate.alt
    assert svg_of(rate).count("#b3261e") == 2
    assert svg_of(rate).count(">11.9<") == 2
    assert "0 pairs outlined" in latency.alt
    assert "#b3261e" not in svg_of(latency)


def test_a_run_without_such_checks_has_none_of_it(tmp_path: Path) -> None:
    other = analysed(tmp_path, synthetic.quick_cases(("mpich",)), blocks=1)
    assert [matrices(other, metric) for metric in METRICS] == [None, None]
    assert rates_table(other) is None
