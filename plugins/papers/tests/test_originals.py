# SPDX-License-Identifier: Apache-2.0
"""The lattice program: digits of ours and the original."""

from itertools import product
from typing import Any

import pytest

from plugins.papers.originals import AGREE, NUMBERS, comparison_table, differences, digits_table
from plugins.papers.paired import ratio_interval_cell
from reports.analysis.run import analyse
from reports.load.loading import load_run
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


def lattice_case(environment, ranks, program, **more):
    params = {**LATTICE, "ranks": ranks, "implementation": program, **more}
    return case("su3_rmd", environment, params, ranks)


CASES = [lattice_case(*one) for one in product(("mpich", "lam"), (1, 2), ("assay", "milc"))]


def judged(folder, change=None, cases=CASES):
    """The last cell of each line of the table, by ranks and environment; nothing without one."""

    def printed(record):
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
    table = digits_table(analyse(load_run(folder)))
    return {(row[2].text, row[3].text): row[-1] for row in table.rows} if table else {}


def is_original(record):
    return record["params"]["implementation"] == "milc"


@pytest.mark.parametrize("below_digits", [0.0, 4e-8])
def test_equal_printed_digits_of_all_launches_agree(tmp_path, below_digits):
    def change(record, lines):
        lines[0][0] += below_digits * is_original(record)

    found = judged(tmp_path, change)
    assert found.keys() == {(ranks, name) for ranks in "12" for name in ("mpich", "lam")}
    assert {cell.text for cell in found.values()} == {AGREE}


@pytest.mark.parametrize("block", [1, 3])
def test_one_digit_in_one_launch_is_named(tmp_path, block):
    def change(record, lines):
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


def test_a_case_without_the_original_is_judged_by_nothing(tmp_path):
    """Nor is one of another seed, or on another number of ranks."""
    cases = [
        *CASES[:2],
        lattice_case("mpich", 2, "assay"),
        lattice_case("lam", 1, "assay"),
        lattice_case("lam", 1, "milc", seed=1),
    ]
    found = {place: cell.text for place, cell in judged(tmp_path / "both", cases=cases).items()}
    assert found == {("1", "mpich"): AGREE, ("2", "mpich"): "–", ("1", "lam"): "–"}
    assert not judged(tmp_path / "ours", cases=[lattice_case("lam", 1, "assay")])


def test_a_number_that_one_lacks_differs():
    ours = {(1, 0): {"1.000000e+00"}, (1, 1): {"2.000000e+00"}}
    assert differences(ours, ours) == []
    assert differences(ours, {(1, 0): {"1.000000e+00"}}) == [((1, 1), ["2.000000e+00"], [])]
    varied = {**ours, (1, 0): {"1.000000e+00", "1.000001e+00"}}
    assert [place for place, *_ in differences(varied, varied)] == [(1, 0)]


ALIKE: tuple[Any, ...] = (
    ("echo", {"placement": "between-nodes"}, "half_round_trip_loop", {}, 3e-6),
    ("osu", {"test": "osu_latency"}, "osu_latency", {}, 2e-6),
    ("streams", {"window": 64}, "window_rate", {"direction": "one-way"}, 1e8),
    ("osu", {"test": "osu_bw"}, "osu_bandwidth", {}, 2e8),
    ("collectives", {}, "collective_time", {"operation": "allreduce"}, 8e-6),
    ("osu", {"test": "osu_allreduce"}, "osu_latency", {}, 4e-6),
    # Of other windows, and on one node: not measured alike.
    ("streams", {"window": 32}, "window_rate", {"direction": "one-way"}, 1e6),
    ("echo", {"placement": "within-node"}, "half_round_trip_loop", {}, 1e-7),
)


def test_ours_stands_beside_what_the_suite_measures_alike(tmp_path):
    cases = [case(check, "mpich", params) for check, params, *_ in ALIKE]
    values = {item["id"]: one[2:] for item, one in zip(cases, ALIKE, strict=True)}

    def measured(record):
        name, at, value = values[record["case_id"]]
        return record | {"metrics": [metric(name, record["block"] * value, **at, message_bytes=8)]}

    analysis = analysed(tmp_path / "run", cases, blocks=6, edit=measured)
    found = [[cell.text for cell in row] for row in comparison_table(analysis).rows]
    assert [(row[0], row[2], row[7]) for row in found] == [
        ("one-way time, loop timed, µs", "8 B", "1.000 … 2.250"),
        ("bandwidth of windows, MB/s", "8 B", "0.250 … 1.000"),
        ("allreduce, µs", "8 B", "1.000 … 4.000"),
    ]
    assert found[2][6].startswith("2.0")
    assert found[0][4:6] == ["10.5 (3.0 … 18.0)", "7.0 (2.0 … 12.0)"]


def test_the_witness_ratio_has_an_interval_from_three_launches_on():
    # Of six ratios the exact interval nearest to 95 % goes from the least to the greatest.
    pairs = [(ratio, 1.0) for ratio in (0.9, 0.95, 1.0, 1.02, 1.1, 1.2)]
    cell = ratio_interval_cell(pairs)
    assert cell.text == "0.900 … 1.200"
    assert "96.9% interval of n = 6" in cell.title
    assert ratio_interval_cell(pairs[:2]).text == "–"
