# SPDX-License-Identifier: Apache-2.0
"""Kills at random moments of runs with every launcher, each resumed to its end: every case has in
every block one final record, all verifies, nothing is left running."""

import os
import random
import re
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

from assay.cli import main
from assay.tests.test_run_on_cluster import campaign, planned_keys, records_of, start, wait_for
from assay.tests.test_run_on_cluster import of_full as pytestmark
from virtual_cluster.api import revive
from virtual_cluster.state import load_state
from virtual_cluster.tests import clusters

__all__ = ["pytestmark"]
STARTUP = "  - check: startup\n    matrix: {ranks: [1, 2]}\n    fixed: {ranks_per_node: 1}"
PVM = "  - check: pvm_echo\n    matrix: {route: [direct, daemon]}\n    fixed: {sizes: [64]}"
#: One for each launcher of the distribution's libraries.
CASES = {"mpich": STARTUP, "openmpi": STARTUP, "lam": STARTUP, "lam-lamd": STARTUP, "pvm": PVM}
KILLS, RESUMES = 3, 8
#: What hosts run without a session or job.
OF_HOSTS = re.compile(r"sh -c (node=|sleep infinity)|sleep infinity|slurmd ")


def kill_driver(cluster, driver, chance):
    """SIGKILL, or a signal that asks it to end."""
    driver.send_signal(signal.Signals[chance.choice(("SIGKILL", "SIGTERM", "SIGINT", "SIGHUP"))])


def kill_controller(cluster, driver, chance):
    process = load_state(cluster.name).processes["slurmctld"]
    if process.alive():
        os.kill(process.pid, signal.SIGKILL)


def lose_work_folder(cluster, driver, chance):
    work = Path(cluster.site_facts()["work_dir"])
    for path in [path for path in work.iterdir() if not path.name.endswith(".gone")]:
        with suppress(FileNotFoundError):  # the driver removes it now
            path.rename(work / f"{path.name}.{time.time_ns()}.gone")


def ended(cluster, driver):
    """How a driver ended, and what it printed. Meanwhile the cluster is mended again: Slurm drains
    a node seconds after its controller was started anew, when that gives the number of a job that
    it forgot ("Duplicate jobid")."""
    for _ in range(20):
        with suppress(subprocess.TimeoutExpired):
            said, _ = driver.communicate(timeout=40)
            return driver.returncode, said
        revive(cluster.name)
    driver.kill()
    pytest.fail(f"a driver hangs: {driver.communicate()[0][-500:]}")


def unfinished(path):
    final = {(one.case_id, one.block) for one in records_of(path) if one.status != "lost"}
    return not {*planned_keys(path)} <= final


def is_good(status, said, path):
    """A signal before the driver heeds it, or after its last record, ends Python itself. What is
    mended before it is looked at is told as a matter of the set-up, and nothing was run."""
    by_signal = -status in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
    idle = not said or not unfinished(path)
    proof = status == 2 and ("Nothing was run" in said or "Nothing is recorded" in said)
    good = status in (0, 1, 4, -signal.SIGKILL) or (by_signal and idle) or proof
    return good and "Traceback" not in said


def left_running(cluster):
    """The command lines of all hosts that are not their own."""
    for pid in clusters.processes_of(cluster, "-f", "."):
        with suppress(OSError):  # it has ended meanwhile
            line = Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
            if line and not OF_HOSTS.match(line):
                yield line


def killed(cluster, folder, environment, chance, most):
    """Run a campaign to its end with so many kills at most; gives their number."""
    name = campaign(folder, environment, environment, 4, CASES[environment], launch_s=60)
    driver, kills = start(name, "--site", f"virtual:{cluster.name}"), 0
    (path,) = wait_for(lambda: [one.parent for one in folder.glob("results/*/*/plan.json")])
    wait_for((path / "provenance.json").exists)
    while kills < most and driver.poll() is None:
        time.sleep(chance.uniform(0.2, 2.0))
        chance.choice((kill_driver, kill_controller, lose_work_folder))(cluster, driver, chance)
        kills += 1
        time.sleep(chance.uniform(0.0, 1.5))
        if chance.random() < 0.8:
            revive(cluster.name)
    for _ in range(RESUMES):
        revive(cluster.name)
        status, said = ended(cluster, driver)
        assert is_good(status, said, path), (status, said[-1500:])
        if status in (0, 1) and not unfinished(path):
            break
        driver = start("--resume", str(path))
    assert status in (0, 1), f"not complete after {RESUMES} resumes: {said[-1500:]}"
    final = [(one.case_id, one.block) for one in records_of(path) if one.status != "lost"]
    assert sorted(final) == planned_keys(path)
    assert main(["verify", str(path)]) == 0
    wait_for(lambda: not [*left_running(cluster)] and not cluster.status()["jobs"])
    folders = [one.name for one in Path(cluster.site_facts()["work_dir"]).iterdir()]
    assert not [one for one in folders if path.name in one and not one.endswith(".gone")]
    path.parent.rename(folder / f"ended-{environment}")
    return kills


def test_kills_lose_no_launch_and_count_none_twice(folder):
    chance, kills = random.Random(2), 0  # noqa: S311
    with clusters.made("k", nodes=2) as cluster:
        for environment in chance.sample([*CASES], 3):
            if kills < KILLS:
                kills += killed(cluster, folder, environment, chance, KILLS - kills)
    assert kills >= 1
