# SPDX-License-Identifier: Apache-2.0
"""Clocks of driver, session, jobs and ranks are set while a run goes on, also over midnight."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from assay.tests.test_run_on_cluster import (
    ASSAY,
    SITE,
    campaign,
    planned_keys,
    records_of,
    wait_for_records,
)
from assay.tests.test_run_on_cluster import of_full as needs_cluster
from checks.common.tests.clock_setting import SetClock

pytestmark = [*needs_cluster, pytest.mark.usefixtures("cluster")]

HOUR_S, DAY_S = 3600.0, 86400.0
#: assay whose session, and the jobs that it hands in, have the variables of the driver's clock.
_ASSAY = (
    "import sys; sys.executable = sys.argv.pop(1);from assay.cli.main import main; sys.exit(main())"
)
_PYTHON = '#!/bin/sh\nexport {variables}\nexec {python} "$@"\n'
LAUNCHES = "  - check: startup\n    fixed: {ranks: 2, ranks_per_node: 1}\n" + (
    "  - check: pt2pt\n    fixed: {sizes: [1000], iterations: 10, warmup: 2}\n"
)


@pytest.fixture
def clock(cluster):
    """A clock whose files nodes see."""
    place = Path(cluster.site_facts()["work_dir"], "clock-of-a-test")
    place.mkdir()
    yield SetClock(place)
    shutil.rmtree(place)


def start(clock, *words):
    python = clock.file.with_name("python")
    variables = " ".join(f"{name}='{value}'" for name, value in clock.variables.items())
    python.write_text(_PYTHON.format(variables=variables, python=sys.executable))
    python.chmod(0o755)
    return subprocess.Popen(
        [sys.executable, "-c", _ASSAY, str(python), "run", *words],
        env={**os.environ, **clock.variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def said(*words):
    told = subprocess.run([ASSAY, *words], capture_output=True, text=True, check=False)
    assert "Traceback" not in told.stdout + told.stderr
    return told


def test_a_run_during_which_the_clock_is_set_both_ways_is_complete_and_consistent(folder, clock):
    file = campaign(folder, "clock", "mpich, lam", 4, LAUNCHES, launch_s=60)
    process = start(clock, file, "--site", SITE)
    for done, seconds in ((2, HOUR_S), (5, 0.0), (8, -DAY_S), (11, -HOUR_S)):
        run = wait_for_records(folder, "clock", done)
        clock.set_by(seconds)
        status = json.loads(said("status", str(run), "--json").stdout)
        assert status["left_s"] >= 0
    output, _ = process.communicate(timeout=1800)
    assert process.returncode == 0, output
    records = records_of(run)
    kept = {record.status for record in records}
    assert kept <= {"ok", "lost"}
    assert all("clock" in record.reason for record in records if record.status == "lost")
    assert all(record.started_at <= record.ended_at for record in records)
    assert sorted((r.case_id, r.block) for r in records if r.status == "ok") == planned_keys(run)
    assert said("verify", str(run)).returncode == 0
    assert said("report", str(run)).returncode == 0


def test_a_clock_set_between_a_run_and_its_resumption_changes_nothing(folder, clock):
    file = campaign(folder, "resumed", "mpich", 3, LAUNCHES, launch_s=60)
    process = start(clock, file, "--site", SITE)
    run = wait_for_records(folder, "resumed", 2)
    process.kill()
    process.communicate()
    clock.set_by(-DAY_S)
    process = start(clock, "--resume", str(run))
    output, _ = process.communicate(timeout=1800)
    assert process.returncode == 0, output
    final = [(r.case_id, r.block) for r in records_of(run) if r.status == "ok"]
    assert sorted(final) == planned_keys(run)
    assert said("verify", str(run)).returncode == 0
