# SPDX-License-Identifier: Apache-2.0
"""A short part of `bench chaos-kills`: a few seeded kills lose nothing."""

import os

import pytest

from bench.chaos_kills import chaos
from virtual_cluster import host

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root for a virtual cluster: run with sudo"),
    pytest.mark.skipif(bool(host.missing_programs()), reason="needs Slurm: run make packages"),
]


def test_kills_of_driver_scheduler_and_work_folder_lose_no_launch_and_count_none_twice():
    found = chaos(3, seed=2, kinds=("driver", "slurmctld", "work folder"), blocks=4)
    assert found.problems == []
    assert found.killed.total() >= 1
    assert found.launches >= 8
