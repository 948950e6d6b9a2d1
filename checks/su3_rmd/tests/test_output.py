# SPDX-License-Identifier: Apache-2.0
"""The original su3_rmd's text: real outputs are read, and nothing cut or doubled is."""

import pytest

from checks.common import json_lines
from checks.common.sources import CHECKS
from checks.su3_rmd import Su3RmdParameters
from checks.su3_rmd import output as milc
from checks.su3_rmd.run import read_original

DATA = CHECKS / "su3_rmd" / "src" / "proof" / "data"
DOUBLE = (DATA / "su3_rmd.4x4x4x8.double.out").read_text()
SINGLE = (DATA / "su3_rmd.4x4x4x8.single.lam.2ranks.out").read_text()
ASKED: dict[str, object] = {"nx": 4, "ny": 4, "nz": 4, "nt": 8, "ranks": 1, "trajectories": 10}
ASKED |= {"warmups": 0, "seed": 8352, "implementation": "milc"}
STAMPS = "".join(
    f'{{"assay":"stamp","name":"launch_{edge}","at":{at}}}\n'
    for edge, at in (("begin", 1), ("end", 2))
)


def reading(text, **asked):
    output = json_lines.parse(STAMPS + text, {})
    return read_original(Su3RmdParameters(**ASKED | asked), output, text)


@pytest.mark.parametrize(
    ("text", "asked", "time_s"),
    [(DOUBLE, {}, 3.342295e-02), (SINGLE, {"ranks": 2, "precision": "single"}, 4.282403e-02)],
)
def test_a_real_output_gives_time_and_rate_and_says_whose_program_it_was(text, asked, time_s):
    found = reading(text, **asked)
    assert found.wrong is None
    assert found.flags == ["MILC su3_rmd, version 7"]
    values = {metric.name: metric.value for metric in found.metrics}
    assert values["program_time"] == time_s
    work = 4**3 * 8 * (10 * 4 * 17112 + 10 * 5616 + 10 * 2592)
    assert values["rate"] * time_s == pytest.approx(work)
    assert values["site_step_time"] == pytest.approx(time_s / (4**3 * 8 * 40))
    assert values["launch"] == 1


def test_measurements_are_kept_as_they_were_printed_where_they_are_asked_for():
    assert all(metric.at is None for metric in reading(DOUBLE).metrics)
    kept = [m for m in reading(DOUBLE, keep_measurements=True).metrics if m.at is not None]
    numbers = [f"{metric.value:e}" for metric in kept]
    lines = [line.split() for line in DOUBLE.splitlines() if line.startswith("GMES")]
    assert numbers == [number for words in lines for number in (*words[1:3], *words[4:])]
    assert [metric.at for metric in kept[::4]] == [{"measurement": n} for n in range(1, 11)]


def test_more_measurements_than_a_record_keeps_are_refused():
    with pytest.raises(ValueError, match="allowed are at most 100"):
        Su3RmdParameters(**ASKED | {"trajectories": 101}, keep_measurements=True)


def test_every_cut_output_is_refused():
    lines = DOUBLE.splitlines(keepends=True)
    end = next(i for i, line in enumerate(lines) if line.startswith("Time ="))
    again = DOUBLE.replace("RUNNING COMPLETED", "RUNNING COMPLETED\nRUNNING COMPLETED")
    for text in (again, *("".join(lines[:length]) for length in range(end + 1))):
        with pytest.raises(json_lines.OutputError):
            milc.parse(text)


def test_a_run_with_another_plaquette_is_no_answer():
    assert reading(DOUBLE, plaquette=0.594, plaquette_tolerance=0.01).wrong is not None


def test_what_the_original_cannot_choose_is_refused():
    with pytest.raises(ValueError, match="milc has no communication"):
        Su3RmdParameters(**ASKED, communication="ssend")
