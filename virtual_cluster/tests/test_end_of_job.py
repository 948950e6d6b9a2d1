# SPDX-License-Identifier: Apache-2.0
"""The end of a job ends all of its processes, and none of another job on the node."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from virtual_cluster.api import Cluster
from virtual_cluster.tests.clusters import NEEDS_CLUSTER, made, run_in, wait_for

pytestmark = NEEDS_CLUSTER

#: The times that processes sleep, in seconds, tell them apart.
KEPT, CHILD, LEFT = "9001", "9002", "9003"
#: A daemon whose keeper adopts it, as those of LAM and PVM, and a child in a session of its own.
OTHER = f"""\
setsid sleep {CHILD} &
exec python3 -c '
import ctypes, subprocess, time
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
subprocess.run(["sh", "-c", "setsid sleep {KEPT} &"])
time.sleep(9000)'
"""
#: What a job leaves behind.
LEFTOVERS = {
    "names another job": "env SLURM_JOB_ID={other} SLURM_JOBID={other} sleep {left}",
    "names no job": "env -i /bin/sleep {left}",
    "has namespaces of its own": "unshare --user --map-root-user --net --pid --fork sleep {left}",
}


@pytest.fixture(scope="module", params=["latency", "spinner"])
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    with made("e", nodes=1, cpus_per_node=2, awake=request.param) as found:
        yield found


def running(cluster: Cluster, pattern: str) -> int:
    """The number of processes in the node whose command line has this end."""
    command = cluster.node_command("n1", ["pgrep", "-fc", f"{pattern}$"])
    return int(subprocess.run(command, capture_output=True, text=True, check=False).stdout)


def sleeping(cluster: Cluster, seconds: str) -> bool:
    return running(cluster, f" {seconds}") > 0


def submitted(cluster: Cluster, *words: str) -> str:
    return run_in(cluster, "sbatch", "--parsable", "-n1", "--output=/dev/null", *words).strip()


@pytest.mark.parametrize("left", LEFTOVERS.values(), ids=LEFTOVERS)
def test_the_end_of_a_job_ends_all_of_it_and_nothing_of_another(
    cluster: Cluster, left: str
) -> None:
    other = submitted(cluster, "--wrap", OTHER)
    try:
        wait_for(lambda: sleeping(cluster, KEPT) and sleeping(cluster, CHILD))
        go = Path(cluster.site_facts()["work_dir"], f"go.{other}")
        start = f"setsid {left.format(other=other, left=LEFT)} </dev/null >/dev/null 2>&1 &"
        script = f"{start}\nuntil [ -e {go} ]; do sleep 0.1; done"
        job = submitted(cluster, "--wrap", script)
        wait_for(lambda: sleeping(cluster, LEFT))
        go.touch()
        shown = ("scontrol", "show", "job", job)
        wait_for(lambda: "JobState=COMPLETED" in run_in(cluster, *shown))
        wait_for(lambda: not sleeping(cluster, LEFT))
        assert sleeping(cluster, KEPT)
        assert sleeping(cluster, CHILD)
    finally:
        run_in(cluster, "scancel", other)
    wait_for(lambda: not sleeping(cluster, KEPT) and not sleeping(cluster, CHILD))


def test_cores_stay_awake_as_long_as_a_job_runs(cluster: Cluster) -> None:
    latency = cluster.site_facts()["awake"] == "latency"
    if latency and not os.access("/dev/cpu_dma_latency", os.W_OK):
        pytest.skip("/dev/cpu_dma_latency: not to be written to by this user")

    spinning = cluster.node_command("n1", ["ps", "-C", "assay-spinner", "-o", "stat="])

    def held(jobs: int) -> bool:
        if latency:
            return running(cluster, "tail -f /dev/null") == jobs
        shown = subprocess.run(spinning, capture_output=True, text=True, check=False).stdout.split()
        going = [one for one in shown if "T" not in one]
        return len(shown) == 2 and len(going) == (2 if jobs else 0)

    wait_for(lambda: held(0))
    jobs = [submitted(cluster, "--wrap", "sleep 9004") for _ in range(2)]
    wait_for(lambda: held(2))
    run_in(cluster, "scancel", jobs[0])
    wait_for(lambda: held(1))
    run_in(cluster, "scancel", jobs[1])
    wait_for(lambda: held(0))
