# SPDX-License-Identifier: Apache-2.0
"""An allocation that another job preempts, and launches as long as the longest job, on a real
virtual cluster."""

import os
import re

import pytest

from assay.tests.test_in_one_job import jobs, slurm
from assay.tests.test_run_on_cluster import (
    STARTUP,
    campaign,
    finish,
    planned_keys,
    pytestmark,  # noqa: F401  what these tests need
    records_of,
    start,
    the_run,
    wait_for_records,
)
from virtual_cluster import ClusterSpec, up
from virtual_cluster import slurm_conf as configuration

CLUSTER = f"t-p{os.getpid()}"
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
    name = campaign(folder, "preempted", "mpich", 40, STARTUP, launch_s=60)
    process = start(name, "--site", SITE, "--in-one-job", "--time", "0:10:00")
    path = wait_for_records(folder, "preempted", 2)
    slurm(cluster, "sbatch", "--partition=first", "--nodes=2", "--exclusive", "--wrap=sleep 1")
    status, output = finish(process)
    assert status == 0, output
    assert re.search(r"allocation \d+ (is being|was) preempted", output), output
    assert {r.status for r in records_of(path)} <= {"ok", "lost"}, output
    records = [r for r in records_of(path) if r.status == "ok"]
    assert sorted((r.case_id, r.block) for r in records) == planned_keys(path)
    # Another one for each that is said to be over; on a slow machine also for want of time.
    over = set(re.findall(r"allocation (\d+)", output))
    assert len({r.job_id.partition(".")[0] for r in records}) == 1 + len(over), output
    assert jobs(cluster) == []


def test_launches_that_may_last_longer_than_any_job_have_an_allocation(cluster, folder):
    name = campaign(folder, "capped", "mpich", 1, STARTUP, launch_s=3600)
    status, output = finish(start(name, "--site", SITE, "--in-one-job"))
    assert status == 0, output
    path = the_run(folder, "capped")
    assert [r.status for r in records_of(path)] == ["ok"] * len(planned_keys(path))
    assert len({r.job_id.partition(".")[0] for r in records_of(path)}) == 1
