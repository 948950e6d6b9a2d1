# SPDX-License-Identifier: Apache-2.0
"""Sections of checks: found by name, generic for unknown checks."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from assay.documents.report import build_report
from reports.analysis.run import Analysis, analyse
from reports.checks.alltoall_pairs import METRICS as METRICS_OF_PAIRS
from reports.checks.alltoall_pairs import matrices
from reports.checks.sections import CheckPart, check_parts, own_section, rates_table
from reports.checks.su3_rmd import strong_scaling, weak_scaling
from reports.load.loading import load_run
from reports.show.draw import svg_of
from reports.show.tables import Table
from reports.tests import synthetic
from reports.tests.synthetic import analysed, case, changed, write_run

TIME = {"unit": "s", "better": "lower", "definition": "a time"}
METRICS: list[dict[str, Any]] = [
    {"name": "halo_time", **TIME, "title": "halo exchange"},
    {"name": "halo_rate", "unit": "bytes/s", "better": "higher", "definition": "bytes over time"},
    {"name": "setup_time", **TIME},
    {"name": "lay", "unit": "1", "better": "lower", "definition": "where", "measured": False},
]
CHECK = {"name": "halo", "title": "Halo exchange", "deciding": "halo_time", "shown": ""}
SIZES, RANKS, PATTERNS = (8, 1024, 65536), (2, 4, 8), ("faces", "edges")
ENVIRONMENTS = ("mpich", "lam")


def metric(name: str, value: float, **at: int) -> dict[str, Any]:
    known = next(one for one in METRICS if one["name"] == name)
    return {
        "name": name,
        "unit": known["unit"],
        "better": known["better"],
        "value": value,
        "at": at,
    }


def measured(record: dict[str, Any]) -> dict[str, Any]:
    """`lam` takes twice as long; each block a percent longer than the one before."""
    base = (2 if record["environment"] == "lam" else 1) * (1 + 0.01 * record["block"])
    metrics = [metric("setup_time", 0.12 * base), metric("lay", 1.0)]
    for size in SIZES:
        time_s = base * record["params"]["ranks"] * (1e-5 + size * 1e-9)
        metrics.append(metric("halo_time", time_s, face_bytes=size))
        metrics.append(metric("halo_rate", size / time_s, face_bytes=size))
    return record | {"metrics": metrics}


def halo_run(folder: Path, cases: list[dict[str, Any]], blocks: int) -> Path:
    """A check that Assay does not know: its metrics and its title stand in its plan."""
    write_run(folder, cases, blocks=blocks, edit=measured)
    changed(folder / "plan.json", schema=2, metrics=METRICS, checks=[CHECK])
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    cases = [
        case("halo", name, {"ranks": ranks, "nodes": ranks // 2, "pattern": pattern}, ranks)
        for name, ranks, pattern in product(ENVIRONMENTS, RANKS, PATTERNS)
    ]
    return halo_run(tmp_path_factory.mktemp("generic") / "run", cases, 4)


@pytest.fixture(scope="module")
def analysis(run: Path) -> Analysis:
    return analyse(load_run(run))


@pytest.fixture(scope="module")
def generic(analysis: Analysis) -> CheckPart:
    (part,) = check_parts(analysis)
    return part


def test_each_metric_stands_against_its_first_axis(generic: CheckPart) -> None:
    # `nodes` varies in step with `ranks`; `lay` is not measured.
    assert [picture.title for picture in generic.pictures] == [
        "Halo exchange against face bytes",
        "Halo rate against face bytes",
        "Setup time against ranks",
    ]


def test_a_panel_holds_what_one_axis_varies_and_a_line_an_environment(generic: CheckPart) -> None:
    sizes, _, ranks = generic.pictures
    assert [len(sizes.panels), len(ranks.panels)] == [6, 2]  # ranks × patterns, patterns
    assert sizes.environments == list(ENVIRONMENTS)
    # Of 2 ranks and faces: (1e-5 + 65536e-9)·2·1.025 s in mpich.
    alt = next(p.alt for p in sizes.panels if "2 ranks" in p.alt and "faces" in p.alt)
    assert "mpich 20.5 to 155 µs; lam 41.0 to 310 µs" in alt
    assert "KiB" in svg_of(sizes.panels[0])  # sizes on a logarithmic axis of bytes
    assert "kB" not in svg_of(ranks.panels[0])


def test_environments_stand_side_by_side_with_their_spread(generic: CheckPart) -> None:
    table = generic.tables[0]
    assert table.title == "Halo exchange, µs: mean ± s"
    rates = next(one for one in generic.tables if one.title.startswith("Halo rate"))
    assert rates.title.endswith("/s: arithmetic mean of rates ± s")
    assert [column.title for column in table.columns[:4]] == [
        "face bytes",
        "ranks",
        "nodes",
        "pattern",
    ]
    assert [column.environment for column in table.columns] == ["", "", "", "", *ENVIRONMENTS]
    assert [column.numeric for column in table.columns] == [True, True, True, False, True, True]
    assert len(table.rows) == len(SIZES) * len(RANKS) * len(PATTERNS)
    row = next(r for r in table.rows if [c.text for c in r[:4]] == ["8 B", "2", "1", "faces"])
    assert [cell.text for cell in row[4:]] == ["20.52 ± 0.26", "41.03 ± 0.52"]
    assert row[4].title.startswith("n = 4, mean 2.0516")


@pytest.mark.full
def test_the_page_shows_an_unknown_check_whole(run: Path, tmp_path: Path) -> None:
    files = build_report(run, tmp_path / "report", ("html", "md")).files
    page, text = (Path(files[name]).read_text() for name in ("html", "md"))
    for anchor in (
        "check-halo",
        "picture-halo-halo-time-face-bytes",
        "table-halo-halo-rate-side-by-side",
    ):
        assert f'id="{anchor}"' in page
    assert "| 8 B | 2 | 1 | faces | 20.52 ± 0.26 | 41.03 ± 0.52 |" in text


def test_a_metric_without_an_axis_shows_environments_beside_each_other(tmp_path: Path) -> None:
    cases = [case("halo", name, {"ranks": 2}) for name in ENVIRONMENTS]
    (part,) = check_parts(analyse(load_run(halo_run(tmp_path, cases, 3))))
    assert [picture.title for picture in part.pictures][-1] == "Setup time"
    (panel,) = part.pictures[-1].panels
    assert "mpich 122 to 122 ms; lam 245 to 245 ms" in panel.alt
    (row,) = part.tables[2].rows
    assert [cell.text for cell in row] == ["2 ranks", "122.4 ± 1.2", "244.8 ± 2.4"]


def test_our_sections_are_the_modules_named_as_checks() -> None:
    assert own_section("hpl") is not None
    assert own_section("su3_rmd") is not None
    for name in ("halo", "sections", "common", "../hpl", "os", ""):
        assert own_section(name) is None


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
    pictures = [matrices(made(tmp_path, [pairs], metrics), metric) for metric in METRICS_OF_PAIRS]
    rate, latency = (picture.panels[0] for picture in pictures if picture)
    assert "3 pairs from 9.00 to 12.0 MB/s; 1 pair outlined" in rate.alt
    assert svg_of(rate).count("#b3261e") == 2
    assert svg_of(rate).count(">11.9<") == 2
    assert "0 pairs outlined" in latency.alt
    assert "#b3261e" not in svg_of(latency)


def test_a_run_without_such_checks_has_none_of_it(tmp_path: Path) -> None:
    other = analysed(tmp_path, synthetic.quick_cases(("mpich",)), blocks=1)
    assert [matrices(other, metric) for metric in METRICS_OF_PAIRS] == [None, None]
    assert rates_table(other) is None
