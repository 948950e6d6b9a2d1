# SPDX-License-Identifier: Apache-2.0
"""What Slurm's commands answer."""

from checks.common import slurm_answers
from checks.common.slurm_answers import most_steps


def test_steps_of_a_job_are_limited_where_slurm_says_so(monkeypatch):
    text = "MaxStepCount            = 40000\nMaxTasksPerNode         = 512\n"
    monkeypatch.setattr(slurm_answers, "_settings", lambda: text)
    assert most_steps() == 40000
    monkeypatch.setattr(slurm_answers, "_settings", lambda: "")
    assert most_steps() is None
