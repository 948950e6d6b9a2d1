# SPDX-License-Identifier: Apache-2.0
"""A run inside a job of the user's, on a virtual cluster whose switches make a tree: nodes some
hops apart, a harness that is killed, a step that holds all CPUs."""

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from assay.tests.test_run_on_cluster import (
    PING_PONG,
    campaign,
    finish,
    planned_keys,
    pytestmark,
    records_of,
    run,
    start,
    the_run,
    wait_for,
)
from virtual_cluster import up
from virtual_cluster.host import tries
from virtual_cluster.spec import ClusterSpec

__all__ = ["pytestmark"]
CLUSTER = f"t-i{os.getpid()}"
SITE = f"virtual:{CLUSTER}"
HOPS = (
    "  - check: echo\n    matrix: {hops: [1, 2, 3]}\n"
    "    fixed: {sizes: [8], iterations: 10, warmup: 2}\n"
)
#: Lasts until there is a file `go`.
HELD = """\
  - name: held
    command: sh -c 'until [ -e {go} ]; do sleep 0.1; done; echo went on at 1'
    fixed: {{ranks: 2}}
    ranks_per_node: 1
    metrics: {{went: {{find: '^went on at (.)$', unit: '1', of: first, better: lower}}}}
"""


@pytest.fixture(scope="module")
def cluster():
    made = up(ClusterSpec(CLUSTER, nodes=4, switches="2"), lambda _: None)
    yield made
    made.down(lambda _: None)


def slurm(cluster, *argv):
    command = cluster.user_command(list(argv))
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    return found.stdout + found.stderr


@pytest.fixture
def in_job(cluster, monkeypatch):
    """Puts this process into a new job of these nodes."""
    jobs = []

    def entered(nodes):
        words = ["salloc", "--no-shell", "--exclusive", f"--nodelist={nodes}"]
        jobs.append(re.search(r"job allocation (\d+)", slurm(cluster, *words))[1])
        monkeypatch.setenv("SLURM_JOB_ID", jobs[-1])
        monkeypatch.setenv("SLURM_CLUSTER_NAME", "assay-" + CLUSTER)
        return jobs[-1]

    yield entered
    for job in jobs:
        slurm(cluster, "scancel", job)


@pytest.mark.full
def test_launches_lie_as_far_apart_as_asked_and_say_so(cluster, folder):
    status, output = run(campaign(folder, "apart", "mpich", 1, HOPS), "--site", SITE)
    assert status == 0, output
    found = {r.params["hops"]: r for r in records_of(the_run(folder, "apart"))}
    assert [found[hops].status for hops in (1, 2, 3)] == ["ok", "skipped", "ok"]
    assert found[1].nodes == ["n1", "n2"]
    # n3 has n1's core on a machine of two cores; n4 has another one.
    assert found[3].nodes[0] == "n1"
    assert found[3].nodes[1] in {"n3", "n4"}
    for hops in (1, 3):
        measured = [metric.value for metric in found[hops].metrics if metric.name == "hops"]
        assert measured == [hops]
        assert "oversubscribed" not in found[hops].flags


@pytest.mark.full
def test_an_allocation_has_nodes_so_far_apart_as_asked(cluster, folder, in_job):
    name = campaign(folder, "hops", "mpich", 1, HOPS)
    status, output = run(name, "--site", SITE, "--in-one-job")
    assert status == 0, output
    found = {r.params["hops"]: r for r in records_of(the_run(folder, "hops"))}
    assert [found[hops].status for hops in (1, 2, 3)] == ["ok", "skipped", "ok"]
    job = in_job("n1,n2")
    status, output = run(name, "--site", SITE)
    assert status == 2, output
    assert f"two nodes 3 hops apart; job {job}" in output
    assert len(list((folder / "results/hops").iterdir())) == 1, "nothing was run"


def steps(cluster, job):
    """The steps of the job that a run has begun, by their names."""
    listed = slurm(cluster, "squeue", "-hs", f"--jobs={job}", "--format=%i %j").splitlines()
    rows = (line.split() for line in listed)
    return {row[1]: row[0] for row in rows if row[1].startswith("assay-")}


def ranks(cluster, job):
    """Those of a launch's ranks; the proof of the environments names no run."""
    found = (name for name in steps(cluster, job) if not name.startswith("assay-by-hand."))
    return [name for name in found if ".ranks-of-" in name]


def test_steps_of_a_harness_that_is_killed_end(cluster, folder, in_job):
    job = in_job("n[1-4]")
    go = Path(cluster.site_facts()["work_dir"], "go")
    name = campaign(folder, "killed", "mpich", 2, HELD.format(go=go))
    process = start(name, "--site", SITE)
    wait_for(lambda: ranks(cluster, job))
    process.send_signal(signal.SIGKILL)
    finish(process)
    # The launch's own step ends at once.
    assert any(len(steps(cluster, job)) <= 1 for _ in tries(60, 0.1))
    left = {*steps(cluster, job).values()}
    path = the_run(folder, "killed")
    process = start("--resume", str(path))
    wait_for(lambda: not left & {*steps(cluster, job).values()})
    go.touch()
    status, output = finish(process)
    assert status == 0, output
    assert steps(cluster, job) == {}
    records = records_of(path)
    assert sorted((r.case_id, r.block) for r in records) == planned_keys(path)
    assert {r.status for r in records} == {"ok"}


def test_a_step_that_holds_all_cpus_does_not_keep_ranks_from_theirs(cluster, folder, in_job):
    job = in_job("n[1-4]")
    words = ["srun", f"--jobid={job}", "-N4", "--ntasks-per-node=1", "sleep", "1000"]
    shell = subprocess.Popen(cluster.user_command(words))
    try:
        wait_for(lambda: "sleep" in slurm(cluster, "squeue", "-hs", f"--jobs={job}", "--format=%j"))
        name = campaign(folder, "beside", "mpich, openmpi", 1, PING_PONG)
        status, output = run(name, "--site", SITE)
    finally:
        shell.terminate()
        shell.wait()
    assert status == 0, output
    assert {r.status for r in records_of(the_run(folder, "beside"))} == {"ok"}
