# SPDX-License-Identifier: Apache-2.0
"""A job that assay runs in and another job preempts, on a real virtual cluster."""

import re
from pathlib import Path

import pytest

from assay.tests.test_in_one_job import HELD, in_job, jobs, ranks
from assay.tests.test_run_on_cluster import (
    campaign,
    finish,
    own_name,
    planned_keys,
    pytestmark,
    records_of,
    run,
    start,
    the_run,
    wait_for,
)
from virtual_cluster import daemons as configuration
from virtual_cluster.api import down, up
from virtual_cluster.tests.clusters import booted
from virtual_cluster.tests.clusters import run_in as slurm

__all__ = ["in_job", "pytestmark"]
CLUSTER = own_name("p")
SITE = f"virtual:{CLUSTER}"
#: Jobs of partition `first` preempt those of `all`, which are signalled and get a time of grace.
#: Nothing in it may last longer than twelve minutes.
SETTINGS = """
EnforcePartLimits=ALL
PreemptType=preempt/partition_prio
PreemptMode=CANCEL
PartitionName=all MaxTime=12 GraceTime=8 PriorityTier=1 Nodes=ALL Default=YES OverSubscribe=NO
PartitionName=first PriorityTier=9 Nodes=ALL OverSubscribe=NO PreemptMode=OFF
"""


@pytest.fixture(scope="module")
def cluster():
    written = configuration.slurm_conf

    def with_preemption(*told):
        return re.sub("PartitionName=all .*\n", "", written(*told)) + SETTINGS

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(configuration, "slurm_conf", with_preemption)
        made = up(booted(CLUSTER, nodes=2, network="unlimited"), lambda _: None)
    yield made
    down(CLUSTER)


def test_what_a_preemption_ends_is_lost_and_run_again(cluster, folder, in_job, monkeypatch):
    go = Path(cluster.site_facts()["work_dir"], "go")
    name = campaign(folder, "preempted", "mpich", 2, HELD.format(go=go), launch_s=300)
    job = in_job("--nodes=2", "--time=0:10:00")
    process = start(name, "--site", SITE)
    wait_for(lambda: ranks(cluster, job))
    slurm(cluster, "sbatch", "--partition=first", "--nodes=2", "--exclusive", "--wrap=sleep 1")
    status, output = finish(process)
    assert status == 3, output
    assert re.search(r"serves no more launches: allocation \d+ (is being|was) preempted", output)
    monkeypatch.delenv("SLURM_JOB_ID")
    go.touch()
    path = the_run(folder, "preempted")
    status, output = run("--resume", str(path))
    assert status == 0, output
    records = [r for r in records_of(path) if r.status == "ok"]
    assert {r.status for r in records_of(path)} <= {"ok", "lost"}, output
    assert sorted((r.case_id, r.block) for r in records) == planned_keys(path)
    assert job not in {r.job_id.partition(".")[0] for r in records}, output
    assert jobs(cluster) == []
