# SPDX-License-Identifier: Apache-2.0
"""The lattice program: digits of ours and the original, what scales with what."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from reports.analysis.run import analyse
from reports.checks.su3_rmd.digits import NUMBERS, differences
from reports.checks.su3_rmd.tables import AGREE, digits_table, strong_scaling, weak_scaling
from reports.load.loading import load_run
from reports.show.tables import Cell, Table
from reports.tests.synthetic import analysed, case, changed, metric, write_run

LATTICE = {"nx": 4, "ny": 4, "nz": 4, "nt": 8, "seed": 8352, "keep_measurements": True}
KIND = {"unit": "1", "better": "higher"}
METRICS = [{"name": name, **KIND, "definition": name, "measured": False} for name in NUMBERS]
CHECK = {"name": "su3_rmd", "title": "su3_rmd", "deciding": "program_time", "shown": "rate"}
#: The first two lines of measurements of the original's sample.
LINES = (
    (2.946865e00, 3.346524e-04, 2.975384e00, 2.975037e00),
    (2.887389e00, 8.270037e-04, 2.951300e00, 2.949240e00),
)
Change = Callable[[dict[str, Any], list[list[float]]], None]


def lattice_case(environment: str, ranks: int, program: str, **more: Any) -> dict[str, Any]:
    params = {**LATTICE, "ranks": ranks, "implementation": program, **more}
    return case("su3_rmd", environment, params, ranks)


CASES = [lattice_case(*one) for one in product(("mpich", "lam"), (1, 2), ("assay", "milc"))]


def table_of(folder: Path, change: Change | None, cases: list[dict[str, Any]]) -> Table | None:

    def printed(record: dict[str, Any]) -> dict[str, Any]:
        lines = [list(line) for line in LINES]
        if change:
            change(record, lines)
        metrics = [
            {"name": name, **KIND, "value": value, "at": {"measurement": n}}
            for n, line in enumerate(lines, start=1)
            for name, value in zip(NUMBERS, line, strict=True)
        ]
        return record | {"metrics": metrics}

    write_run(folder, cases, blocks=3, edit=printed)
    changed(folder / "plan.json", schema=2, metrics=METRICS, checks=[CHECK])
    return digits_table(analyse(load_run(folder)))


def judged(
    folder: Path, change: Change | None = None, cases: list[dict[str, Any]] = CASES
) -> dict[tuple[str, str], Cell]:
    """The last cell of each line of the table, by ranks and environment."""
    table = table_of(folder, change, cases)
    assert table is not None
    return {(row[2].text, row[3].text): row[-1] for row in table.rows}


def is_original(record: dict[str, Any]) -> bool:
    return bool(record["params"]["implementation"] == "milc")


def test_equal_digits_of_all_launches_agree(tmp_path: Path) -> None:
    found = judged(tmp_path)
    assert found.keys() == {(ranks, name) for ranks in "12" for name in ("mpich", "lam")}
    assert {cell.text for cell in found.values()} == {AGREE}


@pytest.mark.parametrize("block", [1, 3])
def test_one_digit_in_one_launch_is_named(tmp_path: Path, block: int) -> None:
    def change(record: dict[str, Any], lines: list[list[float]]) -> None:
        here = (record["environment"], record["params"]["ranks"], record["block"])
        if is_original(record) and here == ("lam", 2, block):
            lines[1][2] += 1e-6

    found = judged(tmp_path, change)
    cell = found.pop(("2", "lam"))
    assert cell.text == (
        "differ first in measurement 2, plaquette in space: ours 2.951300e+00, the original"
        " 2.951300e+00 and 2.951301e+00"
    )
    assert cell.badges == ("digits differ",)
    assert cell.title == "1 number differs of 8"
    assert {other.text for other in found.values()} == {AGREE}


def test_what_is_below_the_printed_digits_is_no_difference(tmp_path: Path) -> None:
    def change(record: dict[str, Any], lines: list[list[float]]) -> None:
        lines[0][0] += 4e-8 * is_original(record)

    assert {cell.text for cell in judged(tmp_path, change).values()} == {AGREE}


def test_a_case_without_the_original_is_judged_by_nothing(tmp_path: Path) -> None:
    """Nor is one of another seed, or on another number of ranks."""
    cases = [
        *CASES[:2],
        lattice_case("mpich", 2, "assay"),
        lattice_case("lam", 1, "assay"),
        lattice_case("lam", 1, "milc", seed=1),
    ]
    found = {place: cell.text for place, cell in judged(tmp_path, cases=cases).items()}
    assert found == {("1", "mpich"): AGREE, ("2", "mpich"): "–", ("1", "lam"): "–"}


def test_a_run_of_ours_alone_has_no_such_table(tmp_path: Path) -> None:
    assert table_of(tmp_path, None, [lattice_case("lam", 1, "assay")]) is None


def test_a_number_that_one_lacks_differs() -> None:
    ours = {(1, 0): {"1.000000e+00"}, (1, 1): {"2.000000e+00"}}
    assert differences(ours, ours) == []
    assert differences(ours, {(1, 0): {"1.000000e+00"}}) == [((1, 1), ["2.000000e+00"], [])]
    varied = {**ours, (1, 0): {"1.000000e+00", "1.000001e+00"}}
    assert [place for place, *_ in differences(varied, varied)] == [(1, 0)]


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
