# SPDX-License-Identifier: Apache-2.0
"""What Slurm's commands answer."""

import pytest

from checks.common import slurm_answers
from checks.common.slurm_answers import out_of_steps

SAID = "srun: error: Unable to create step for job 7: Step limit reached for this job"


@pytest.fixture
def settings(monkeypatch):
    text = "MaxStepCount            = 40000\nMaxTasksPerNode         = 512\n"
    monkeypatch.setattr(slurm_answers, "_settings", lambda: text)


@pytest.mark.usefixtures("settings")
@pytest.mark.parametrize(
    ("step", "told", "believed"),
    [
        ("7.39990", SAID, True),
        ("7.39990", "srun: error: Unable to create step for job 7: Job is pending", False),
        ("7.12", SAID, False),  # a program's own words
        ("7", SAID, False),  # a launch that is a job of its own
    ],
)
def test_a_job_gets_no_more_steps_where_it_has_had_about_as_many(step, told, believed):
    assert out_of_steps(step, told) is believed
