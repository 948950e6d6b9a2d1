# SPDX-License-Identifier: Apache-2.0
"""An allocation that another job preempts, and launches as long as the longest job, on a real
virtual cluster."""

import re
from pathlib import Path

import pytest

from assay.tests.test_in_one_job import HELD, jobs, ranks
from assay.tests.test_run_on_cluster import (
    STARTUP,
    campaign,
    finish,
    own_name,
    planned_keys,
    pytestmark,  # noqa: F401  what these tests need
    records_of,
    start,
    the_run,
    wait_for,
)
from virtual_cluster import ClusterSpec, up
from virtual_cluster import slurm_conf as configuration
from virtual_cluster.tests.clusters import run_in as slurm

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
        made = up(ClusterSpec(CLUSTER, nodes=2, network="unlimited"), lambda _: None)
    yield made
    made.down(lambda _: None)


def test_what_a_preemption_ends_is_lost_and_run_again(cluster, folder):
    go = Path(cluster.site_facts()["work_dir"], "go")
    name = campaign(folder, "preempted", "mpich", 2, HELD.format(go=go), launch_s=300)
    process = start(name, "--site", SITE, "--in-one-job", "--time", "0:10:00")
    first = wait_for(lambda: [job for job in jobs(cluster) if ranks(cluster, job)])
    slurm(cluster, "sbatch", "--partition=first", "--nodes=2", "--exclusive", "--wrap=sleep 1")
    wait_for(lambda: any(job not in first and ranks(cluster, job) for job in jobs(cluster)))
    go.touch()
    status, output = finish(process)
    assert status == 0, output
    assert re.search(r"allocation \d+ (is being|was) preempted", output), output
    path = the_run(folder, "preempted")
    assert {r.status for r in records_of(path)} <= {"ok", "lost"}, output
    records = [r for r in records_of(path) if r.status == "ok"]
    assert sorted((r.case_id, r.block) for r in records) == planned_keys(path)
    assert not set(first) & {r.job_id.partition(".")[0] for r in records}, output
    assert jobs(cluster) == []


def test_launches_that_may_last_longer_than_any_job_have_an_allocation(cluster, folder):
    name = campaign(folder, "capped", "mpich", 1, STARTUP, launch_s=3600)
    status, output = finish(start(name, "--site", SITE, "--in-one-job"))
    assert status == 0, output
    path = the_run(folder, "capped")
    assert [r.status for r in records_of(path)] == ["ok"] * len(planned_keys(path))
    assert len({r.job_id.partition(".")[0] for r in records_of(path)}) == 1
