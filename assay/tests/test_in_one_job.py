# SPDX-License-Identifier: Apache-2.0
"""Launches as steps of the job that assay runs in, on a real virtual cluster: placed, cut off,
resumed."""

import itertools
import re
import signal
import subprocess
from pathlib import Path

import pytest

from assay.plan.times import interval
from assay.run import start as beginning
from assay.sites.loading import load_site
from assay.tests.test_run_on_cluster import (
    FOUR_NODES,
    PING_PONG,
    SITE,
    STARTUP,
    campaign,
    finish,
    planned_keys,
    pytestmark,  # noqa: F401  what these tests need
    records_of,
    run,
    start,
    the_run,
    wait_for,
    wait_for_records,
)
from virtual_cluster.tests.clusters import run_in as slurm

#: Lasts until there is a file `go`; its two ranks make files `go.HOST`.
HELD = """\
  - name: held
    command: >-
      sh -c 'touch {go}.$(hostname); until [ -e {go} ]; do sleep 0.1; done; echo went on at 1'
    fixed: {{ranks: 2}}
    ranks_per_node: 1
    metrics: {{went: {{find: '^went on at (.)$', unit: '1', of: first, better: lower}}}}
"""


def jobs(cluster):
    return slurm(cluster, "squeue", "--noheader", "--format=%i").split()


@pytest.fixture
def in_job(cluster, monkeypatch):

    def entered(*options):
        words = ["salloc", "--no-shell", "--exclusive", *options]
        said = slurm(cluster, "sh", "-c", '"$0" "$@" 2>&1', *words)
        job = re.search(r"job allocation (\d+)", said)[1]
        monkeypatch.setenv("SLURM_JOB_ID", job)
        monkeypatch.setenv("SLURM_CLUSTER_NAME", f"assay-{cluster.name}")
        return job

    yield entered
    slurm(cluster, "scancel", "--me")
    wait_for(lambda: not jobs(cluster))


def steps(cluster, job):
    listed = slurm(cluster, "squeue", "-hs", f"--jobs={job}", "--format=%i %j").splitlines()
    rows = (line.split() for line in listed)
    return {row[1]: row[0] for row in rows if row[1].startswith("assay-")}


def ranks(cluster, job):
    """Those of a launch's ranks; the proof of the environments names no run."""
    found = (name for name in steps(cluster, job) if not name.startswith("assay-by-hand."))
    return [name for name in found if ".ranks-of-" in name]


def jobs_of(records):
    return {r.job_id.partition(".")[0] for r in records}


def test_launches_are_steps_of_one_job_on_nodes_drawn_by_the_seed(cluster, folder, in_job):
    name = campaign(folder, "steps", "mpich, lam", 2, PING_PONG + FOUR_NODES)
    job = in_job("--nodes=4")
    status, output = run(name, "--site", SITE)
    assert status == 0, output
    assert f"steps of job {job}" in output
    records = records_of(the_run(folder, "steps"))
    assert {r.status for r in records} == {"ok"}
    assert jobs_of(records) == {job}
    assert len({r.job_id for r in records}) == len(records) == 8
    assert {len(r.nodes) for r in records} == {2, 4}
    assert jobs(cluster) == [job]
    look = ["srun", f"--jobid={job}", "-N4", "sh", "-c", "ls /tmp | grep ^assay || true"]
    wait_for(lambda: slurm(cluster, *look) == "")  # the last step's folder on another node


def test_a_job_that_is_cancelled_loses_nothing(cluster, folder, in_job, monkeypatch):
    job = in_job("--nodes=4")
    process = start(campaign(folder, "cut", "mpich", 12, STARTUP), "--site", SITE)
    path = wait_for_records(folder, "cut", 2)
    slurm(cluster, "scancel", job)
    status, output = finish(process)
    assert status == 3, output
    assert re.search(r"serves no more launches: allocation \d+ (was cancelled|ended;)", output), (
        output
    )
    monkeypatch.delenv("SLURM_JOB_ID")
    status, output = run("--resume", str(path))
    assert status == 0, output
    records = [r for r in records_of(path) if r.status != "lost"]
    assert sorted((r.case_id, r.block) for r in records) == planned_keys(path)
    assert {r.status for r in records} == {"ok"}
    assert len(jobs_of(records)) > 1
    assert jobs(cluster) == []


def test_launches_of_one_node_run_side_by_side_those_of_several_alone(folder, in_job, monkeypatch):
    def two_at_a_time(name):
        site = load_site(name)
        site.description = site.description.model_copy(update={"concurrency": 2})
        return site

    monkeypatch.setattr(beginning, "load_site", two_at_a_time)
    cases = STARTUP + "    fixed: {ranks_per_node: 1}\n"
    # The same of two environments follows each other in every order that a seed draws.
    name = campaign(folder, "pairs", "mpich, openmpi", 4, cases)
    in_job("--nodes=4")
    beginning.start_run(name, SITE, live=False)
    records = records_of(the_run(folder, "pairs"))
    assert {r.status for r in records} == {"ok"}
    spans = {(r.case_id, r.block): (r, interval(r.started_at, r.ended_at)) for r in records}
    beside = set()
    for (one, (first, (began, ended))), (other, (second, (begins, ends))) in itertools.permutations(
        spans.items(), 2
    ):
        if began < ends and begins < ended:
            assert not set(first.nodes) & set(second.nodes)
            assert len(first.nodes) == len(second.nodes) == 1
            beside.add((one, other))
    assert beside
    # Two that run side by side may begin in either order: each step's own clock says when.
    begun = sorted(spans, key=lambda key: (spans[key][1][0], key[1]))
    for before, after in itertools.pairwise(begun):
        assert before[1] <= after[1] or (before, after) in beside


def test_steps_of_a_harness_that_is_killed_end(cluster, folder, in_job):
    job = in_job("--nodes=4")
    go = Path(cluster.site_facts()["work_dir"], "go")
    process = start(campaign(folder, "killed", "mpich", 2, HELD.format(go=go)), "--site", SITE)
    # Slurm ends no step whose srun was killed before its ranks were begun.
    wait_for(lambda: len([*go.parent.glob("go.*")]) == 2)
    process.send_signal(signal.SIGKILL)
    finish(process)
    # The launch's own step ends at once.
    wait_for(lambda: len(steps(cluster, job)) <= 1)
    left = {*steps(cluster, job).values()}
    path = the_run(folder, "killed")
    process = start("--resume", str(path))
    wait_for(lambda: not left & {*steps(cluster, job).values()} or process.poll() is not None)
    go.touch()
    status, output = finish(process)
    assert status == 0, output
    assert steps(cluster, job) == {}
    records = records_of(path)
    assert sorted((r.case_id, r.block) for r in records) == planned_keys(path)
    assert {r.status for r in records} == {"ok"}


def test_a_step_that_holds_all_cpus_does_not_keep_ranks_from_theirs(cluster, folder, in_job):
    job = in_job("--nodes=4")
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
