# SPDX-License-Identifier: Apache-2.0
"""What Slurm's commands answer."""

import time
from subprocess import CompletedProcess

import pytest

from checks.common.slurm import commands as slurm_answers
from checks.common.slurm.commands import left_s, most_steps, slurm_seconds
from checks.common.slurm.text import seconds_of


def test_steps_of_a_job_are_limited_where_slurm_says_so(monkeypatch):
    text = "MaxStepCount            = 40000\nMaxTasksPerNode         = 512\n"
    monkeypatch.setattr(slurm_answers, "_settings", lambda: text)
    assert most_steps() == 40000
    monkeypatch.setattr(slurm_answers, "_settings", lambda: "")
    assert most_steps() is None


def test_settings_that_slurm_did_not_tell_are_asked_for_again(monkeypatch):
    answers = [
        CompletedProcess([], 124, "", "scontrol did not answer within 15 s"),
        CompletedProcess([], 0, "MaxStepCount            = 40000\n", ""),
    ]
    slurm_answers._answered_settings.cache_clear()
    monkeypatch.setattr(slurm_answers, "said", lambda _: answers.pop(0))
    try:
        assert most_steps() is None
        assert most_steps() == 40000
        assert most_steps() == 40000, "what was told is kept"
    finally:
        slurm_answers._answered_settings.cache_clear()


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("00:00:05", 5.0),
        ("04:00:00", 14400.0),
        ("7-00:00:30", 604830.0),
        ("UNLIMITED", None),
        ("Partition_Limit", None),
        ("INVALID", None),
        ("", None),
    ],
)
def test_durations_are_read_as_slurm_prints_them(said, seconds):
    assert seconds_of(said) == seconds


def test_a_job_ends_by_its_limit_whatever_the_clock_says_in_autumn():
    end = "2026-10-25T02:30:00"
    told = {"TimeLimit": "1-00:00:00", "RunTime": "00:10:00", "EndTime": end}
    by_date = pytest.approx(slurm_seconds(end) - time.time(), abs=5)
    assert left_s(told) == 86400 - 600
    assert left_s(told | {"TimeLimit": "Partition_Limit"}) == by_date
    assert left_s(told | {"RunTime": "INVALID"}) == by_date
    assert left_s({"TimeLimit": "UNLIMITED", "RunTime": "00:10:00", "EndTime": "Unknown"}) is None
