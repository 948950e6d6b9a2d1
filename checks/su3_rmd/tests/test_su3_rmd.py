# SPDX-License-Identifier: Apache-2.0
"""The lattice application: its layout rule; what of its output and the original's is believed."""

from dataclasses import replace

import pytest

from checks.common.tests.good_outputs import samples
from checks.su3_rmd import divides, fitting_counts

#: Our program's launch, and the original's in both precisions.
GOOD = {one.name.split()[1]: one for one in samples() if one.definition.name == "su3_rmd"}


def outcome(name, **asked):
    """Of a good launch, had it been asked otherwise."""
    sample = GOOD[name]
    return replace(sample, params=sample.params.model_copy(update=asked)).outcome(sample.text)


def test_real_output_gives_times_and_rate():
    values = {metric.name: metric.value for metric in outcome("mpich.2ranks").metrics}
    work = 8**3 * 16 * (21 * 4 * 17112 + 21 * 5616 + 20 * 2592)
    assert values["rate"] * values["program_time"] == pytest.approx(work, rel=1e-4)
    assert values["launch"] > values["program_time"]
    assert 0 <= values["communication_share"] < 1
    assert values["cpu_time"] / 2 <= values["rank_cpu_time"] <= values["cpu_time"]


@pytest.mark.parametrize("name", GOOD)
def test_a_run_with_another_plaquette_is_no_answer(name):
    found = outcome(name, plaquette=0.594, plaquette_tolerance=0.01)
    assert "it must lie within 0.594 ± 0.01" in found.reason


@pytest.mark.parametrize("name", GOOD)
def test_measurements_are_kept_as_they_were_printed_where_they_are_asked_for(name):
    assert all(metric.at is None for metric in outcome(name).metrics)
    kept = [m for m in outcome(name, keep_measurements=True).metrics if m.at is not None]
    lines = [line.split() for line in GOOD[name].text.splitlines() if line.startswith("GMES")]
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


def test_counts_that_fit_are_found_at_once_for_any_rank_count():
    assert fitting_counts((1024, 1024, 1024, 1024), 999_983)[-1] == 2**19
    assert fitting_counts((6, 6, 6, 12), 5) == [1, 2, 3, 4, 6, 8, 9, 12]


@pytest.mark.parametrize(
    ("name", "time_s"), [("original.double", 3.342295e-02), ("original.single", 4.282403e-02)]
)
def test_a_real_output_gives_time_and_rate_and_says_whose_program_it_was(name, time_s):
    found = outcome(name)
    assert "MILC su3_rmd, version 7" in found.flags
    values = {metric.name: metric.value for metric in found.metrics}
    assert values["program_time"] == time_s
    work = 4**3 * 8 * (10 * 4 * 17112 + 10 * 5616 + 10 * 2592)
    assert values["rate"] * time_s == pytest.approx(work)
    assert values["site_step_time"] == pytest.approx(time_s / (4**3 * 8 * 40))
    assert values["launch"] == pytest.approx(1)
