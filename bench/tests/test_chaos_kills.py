# SPDX-License-Identifier: Apache-2.0
"""A short part of `bench chaos-kills`: a few seeded kills lose nothing."""

import os
import subprocess
from collections import Counter

import pytest

from bench import chaos_kills
from bench.chaos_kills import Chaos, chaos
from records.run_directory import RunDirectory
from virtual_cluster import host

_NEEDED = (
    (os.geteuid() != 0, "needs root for a virtual cluster: run with sudo"),
    (bool(host.missing_programs()), "needs Slurm: run make packages"),
)


@pytest.mark.parametrize(("script", "problems"), [("echo >>$0; sleep 0.4;", 0), ("sleep 0.4;", 1)])
def test_a_driver_hangs_when_it_adds_no_record_however_long_the_run_is(
    tmp_path, monkeypatch, script, problems
):
    monkeypatch.setattr(chaos_kills, "_PATIENCE_S", 2.0)
    monkeypatch.setattr(chaos_kills, "_LOOKS", 2)
    run, found = RunDirectory(tmp_path), Chaos.__new__(Chaos)
    found.problems, found.ended, found._log = [], Counter(), tmp_path / "log"
    mended = []
    monkeypatch.setattr(found, "_mend", lambda: mended.append(True))
    found._log.touch()
    argv = ["sh", "-c", script * 10, str(run.records_file)]
    found._driver = subprocess.Popen(argv)
    found._wait(run)
    assert len(found.problems) == problems
    assert bool(mended) == bool(problems)


@pytest.mark.cluster
@pytest.mark.skipif(_NEEDED[0][0], reason=_NEEDED[0][1])
@pytest.mark.skipif(_NEEDED[1][0], reason=_NEEDED[1][1])
def test_kills_of_driver_scheduler_and_work_folder_lose_no_launch_and_count_none_twice():
    found = chaos(3, seed=2, kinds=("driver", "slurmctld", "work folder"), blocks=4)
    assert found.problems == []
    assert found.killed.total() >= 1
    assert found.launches >= 8
