# SPDX-License-Identifier: Apache-2.0
"""A limit on all jobs together is one on this job, where no other job has run for long."""

import pytest

from checks.common.slurm import commands as slurm_answers
from checks.common.slurm.commands import Alone


@pytest.mark.parametrize(
    ("verdict", "running", "private", "never"),
    [
        ("mine", "", "none", True),
        ("mine", "", "jobs,usage", True),
        ("mine", "17\n", "none", False),
        ("mine", None, "none", False),
        ("shared", "", "none", True),
        ("shared", "", "jobs,usage", False),
        ("shared", "17\n", "none", False),
        ("waits", "", "none", False),
    ],
)
def test_a_shared_limit_never_clears_where_nobody_else_runs(
    monkeypatch, verdict, running, private, never
):
    monkeypatch.setattr(slurm_answers, "ALONE_S", -1.0)

    def output(command):
        return f"PrivateData = {private}\n" if command[0] == "scontrol" else running

    assert Alone(output).long_enough(verdict) is never


def test_a_reason_that_may_be_old_is_given_time():
    alone = Alone(lambda _: "")
    assert [alone.long_enough("mine") for _ in range(3)] == [False] * 3
