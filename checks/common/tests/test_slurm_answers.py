# SPDX-License-Identifier: Apache-2.0
"""Answers of Slurm's commands."""

import time

import pytest

from checks.common.slurm.commands import left_s, run_here, seconds_of, slurm_seconds


def test_a_command_that_is_not_there_has_a_status():
    assert run_here(["no-such-command"]).status == 127


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("00:00:05", 5.0),
        ("30", 1800.0),
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


def test_a_job_ends_by_its_limit_whatever_the_clock_says_in_autumn(monkeypatch):
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now)
    end = "2026-10-25T02:30:00"
    told = {"TimeLimit": "1-00:00:00", "RunTime": "00:10:00", "EndTime": end}
    by_date = pytest.approx(slurm_seconds(end) - now)
    assert left_s(told) == 86400 - 600
    assert left_s(told | {"TimeLimit": "Partition_Limit"}) == by_date
    assert left_s(told | {"RunTime": "INVALID"}) == by_date
    assert left_s({"TimeLimit": "UNLIMITED", "RunTime": "00:10:00", "EndTime": "Unknown"}) is None
