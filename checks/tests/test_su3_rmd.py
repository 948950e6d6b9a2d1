# SPDX-License-Identifier: Apache-2.0
"""The lattice application: its layout rule, and what of its output is believed."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from campaigns.site_facts import SiteFacts
from checks.adapters import json_lines
from checks.catalogue import CHECKS
from checks.catalogue.su3_rmd import divides
from checks.su3_rmd import Su3RmdCheck

OUTPUT = (Path(__file__).parent / "data" / "su3_rmd" / "mpich.2ranks.out").read_text()
KNOBS = {"trajectories": 20, "precision": "single"}


def reading(text, **knobs):
    stand_in = SimpleNamespace(**{**KNOBS, **knobs})
    stand_in._wrong_answer = lambda answer, text: Su3RmdCheck._wrong_answer(stand_in, answer, text)
    return Su3RmdCheck.read(stand_in, json_lines.parse(text), text)


def refused(text):
    try:
        return reading(text).wrong is not None
    except json_lines.OutputError:
        return True


def test_real_output_gives_times_and_rate():
    found = reading(OUTPUT)
    assert found.wrong is None
    values = {metric.name: metric.value for metric in found.metrics}
    work = 8**3 * 16 * (21 * 4 * 17112 + 21 * 5616 + 20 * 2592)
    assert values["rate"] * values["program_time"] == pytest.approx(work, rel=1e-4)
    assert values["launch"] > values["program_time"]
    assert 0 <= values["communication_share"] < 1


@pytest.mark.parametrize(
    ("found", "instead"),
    [
        ('"measurements":20', '"measurements":19'),
        ("RUNNING COMPLETED", "RUNNING"),
        ('"key":"answer"', '"key":"question"'),
        ('"deviation_from_su3":', '"deviation_from_su3":0.5,"was":'),
        ('"name":"rate"', '"name":"site_step_time","at":{"no":1}'),
    ],
)
def test_a_wrong_or_cut_answer_is_refused(found, instead):
    assert found in OUTPUT
    assert refused(OUTPUT.replace(found, instead))


def test_an_answer_in_single_precision_is_not_one_in_double():
    assert "deviate" in reading(OUTPUT, precision="double").wrong


@pytest.mark.parametrize(
    ("lattice", "ranks", "fits"),
    [
        ((4, 4, 4, 8), 1, True),
        ((4, 4, 4, 8), 3, False),
        ((4, 4, 4, 8), 512, True),
        ((4, 4, 4, 8), 1024, False),
        ((6, 6, 6, 12), 3, True),
        ((6, 6, 6, 12), 5, False),
    ],
)
def test_the_original_s_layout_rule(lattice, ranks, fits):
    assert divides(lattice, ranks) is fits


def test_a_rank_count_that_cannot_cut_the_lattice_is_skipped_with_counts_that_can():
    check = CHECKS["su3_rmd"]
    params = check.parameters(nx=4, ny=4, nz=4, nt=8, ranks=3, trajectories=1)
    site = SiteFacts("s", False, 8, 1, 2**34, {})
    reason = check.infeasible(params, check.layout(params, 1), site)
    assert "3 ranks cannot cut the lattice 4×4×4×8" in reason
    assert "1, 2, 4 ranks can" in reason
