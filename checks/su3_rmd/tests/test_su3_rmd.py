# SPDX-License-Identifier: Apache-2.0
"""The lattice application: its layout rule; what of its output and the original's is believed."""

from pathlib import Path

import pytest

from assay.sites.site import SiteFacts
from checks.common import json_lines
from checks.common.registry import CHECKS
from checks.common.sources import CHECKS as FOLDER
from checks.su3_rmd import Su3RmdParameters, divides, fitting_counts
from checks.su3_rmd.run import read_original, read_own

DATA = FOLDER / "su3_rmd" / "src" / "proof" / "data"
DOUBLE = (DATA / "su3_rmd.4x4x4x8.double.out").read_text()
SINGLE = (DATA / "su3_rmd.4x4x4x8.single.lam.2ranks.out").read_text()
ORIGINAL: dict[str, object] = {"nx": 4, "ny": 4, "nz": 4, "nt": 8, "ranks": 1, "trajectories": 10}
ORIGINAL |= {"warmups": 0, "seed": 8352, "implementation": "milc"}
STAMPS = "".join(
    f'{{"assay":"stamp","name":"launch_{edge}","at":{at}}}\n'
    for edge, at in (("begin", 1), ("end", 2))
)


def reading_of_original(text, **asked):
    output = json_lines.parse(STAMPS + text, {})
    return read_original(Su3RmdParameters(**ORIGINAL | asked), output, text)


OUTPUT = (Path(__file__).parents[1] / "samples" / "mpich.2ranks.out").read_text()
ASKED = {"nx": 8, "ny": 8, "nz": 8, "nt": 16, "ranks": 2, "trajectories": 20, "precision": "single"}


def parse(text):
    return json_lines.parse(text, CHECKS["su3_rmd"].metrics_by_name)


def reading(text, **asked):
    return read_own(Su3RmdParameters(**ASKED | asked), parse(text), text)


def test_real_output_gives_times_and_rate():
    found = reading(OUTPUT)
    assert found.wrong is None
    values = {metric.name: metric.value for metric in found.metrics}
    work = 8**3 * 16 * (21 * 4 * 17112 + 21 * 5616 + 20 * 2592)
    assert values["rate"] * values["program_time"] == pytest.approx(work, rel=1e-4)
    assert values["launch"] > values["program_time"]
    assert 0 <= values["communication_share"] < 1
    assert values["cpu_time"] / 2 <= values["rank_cpu_time"] <= values["cpu_time"]


def test_a_run_with_another_plaquette_is_no_answer():
    for read, text in ((reading, OUTPUT), (reading_of_original, DOUBLE)):
        assert read(text, plaquette=0.594, plaquette_tolerance=0.01).wrong


@pytest.mark.parametrize("original", [False, True])
def test_measurements_are_kept_as_they_were_printed_where_they_are_asked_for(original):
    read, text = (reading_of_original, DOUBLE) if original else (reading, OUTPUT)
    assert all(metric.at is None for metric in read(text).metrics)
    kept = [m for m in read(text, keep_measurements=True).metrics if m.at is not None]
    lines = [line.split() for line in text.splitlines() if line.startswith("GMES")]
    numbers = [f"{metric.value:e}" for metric in kept]
    assert numbers == [number for words in lines for number in (*words[1:3], *words[4:])]
    assert [metric.at["measurement"] for metric in kept[::4]] == list(range(1, len(lines) + 1))


@pytest.mark.parametrize(
    ("lattice", "ranks", "fits"),
    [
        *(((4, 4, 4, 8), 1, True), ((4, 4, 4, 8), 3, False), ((4, 4, 4, 8), 512, True)),
        *(((4, 4, 4, 8), 1024, False), ((6, 6, 6, 12), 3, True), ((6, 6, 6, 12), 5, False)),
    ],
)
def test_the_original_s_layout_rule(lattice, ranks, fits):
    assert divides(lattice, ranks) is fits


def test_a_rank_count_that_cannot_cut_the_lattice_is_skipped_with_counts_that_can():
    check = CHECKS["su3_rmd"]
    params = check.parameters(nx=4, ny=4, nz=4, nt=8, ranks=3, trajectories=1)
    site = SiteFacts("s", 8, 1, 2**34, {})
    reason = check.infeasible(params, check.layout(params, 1), site)
    assert "3 ranks cannot cut the lattice 4×4×4×8" in reason
    assert reason.endswith("; 1, 2, 4, 8, 16, 32, 64, 128 ranks can")


def test_counts_that_fit_are_found_at_once_for_any_rank_count():
    assert fitting_counts((1024, 1024, 1024, 1024), 999_983)[-1] == 2**19
    assert fitting_counts((6, 6, 6, 12), 5) == [1, 2, 3, 4, 6, 8, 9, 12]


@pytest.mark.parametrize(
    ("text", "asked", "time_s"),
    [(DOUBLE, {}, 3.342295e-02), (SINGLE, {"ranks": 2, "precision": "single"}, 4.282403e-02)],
)
def test_a_real_output_gives_time_and_rate_and_says_whose_program_it_was(text, asked, time_s):
    found = reading_of_original(text, **asked)
    assert found.wrong is None
    assert found.flags == ["MILC su3_rmd, version 7"]
    values = {metric.name: metric.value for metric in found.metrics}
    assert values["program_time"] == time_s
    work = 4**3 * 8 * (10 * 4 * 17112 + 10 * 5616 + 10 * 2592)
    assert values["rate"] * time_s == pytest.approx(work)
    assert values["site_step_time"] == pytest.approx(time_s / (4**3 * 8 * 40))
    assert values["launch"] == 1
