# SPDX-License-Identifier: Apache-2.0
"""The end of a job ends all of its processes, and none of another job on the node."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from virtual_cluster.api import Cluster
from virtual_cluster.network import namespace_file
from virtual_cluster.processes import inside_network
from virtual_cluster.tests.clusters import NEEDS_CLUSTER, as_user, made, wait_for

pytestmark = NEEDS_CLUSTER

#: Where the kernel is asked not to let cores sleep.
AWAKE = Path("/dev/cpu_dma_latency")
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
#: What a job leaves behind, with what it says of itself: `other` is the id of the job beside it.
DISGUISES = {
    "names the other job": "env SLURM_JOB_ID={other} SLURM_JOBID={other} sleep {left}",
    "names no job": "env -i /bin/sleep {left}",
    "names a shell": "env ASSAY_CLUSTER_SHELL=n1 sleep {left}",
    "has the title of a slurmstepd": "bash -c 'exec -a \"slurmstepd: [{other}.0]\" sleep {left}'",
    "has a parent of that name": "./slurmstepd -c 'sleep {left}; :'",
    "has a network of its own": "unshare --user --map-root-user --net sleep {left}",
}


@pytest.fixture(scope="module", params=[True, False], ids=["isolated", "not isolated"])
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    with made("e", nodes=1, cpus_per_node=2, isolated=request.param) as found:
        yield found


def sleeping(cluster: Cluster, seconds: str) -> bool:
    """Whether a process of the jobs' user sleeps so long."""
    uid = cluster.site_facts()["uid"]
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (folder / "cmdline").read_bytes().split(b"\0")
            if folder.stat().st_uid == uid and words[1:2] == [seconds.encode()]:
                return True
    return False


def submitted(cluster: Cluster, *words: str) -> str:
    return as_user(cluster, "sbatch", "--parsable", "-n1", "--output=/dev/null", *words).strip()


@pytest.mark.parametrize("disguise", DISGUISES)
def test_the_end_of_a_job_ends_all_of_it_and_nothing_of_another(
    cluster: Cluster, disguise: str
) -> None:
    left = DISGUISES[disguise]
    if "unshare" in left:
        if not cluster._state.spec.isolated:
            pytest.skip("where nodes share all processes, their network tells whose they are")
        if as_user(cluster, "sh", "-c", "unshare --user --net true 2>&1 || echo no"):
            pytest.skip("this kernel gives users no network namespaces")
    other = submitted(cluster, "--wrap", OTHER)
    try:
        wait_for(lambda: sleeping(cluster, KEPT) and sleeping(cluster, CHILD))
        go = Path(cluster.site_facts()["work_dir"], f"go.{other}")
        start = f"setsid {left.format(other=other, left=LEFT)} </dev/null >/dev/null 2>&1 &"
        script = f"cp /bin/sh slurmstepd\n{start}\nuntil [ -e {go} ]; do sleep 0.1; done"
        job = submitted(cluster, "--wrap", script)
        wait_for(lambda: sleeping(cluster, LEFT))
        go.touch()
        shown = ("scontrol", "show", "job", job)
        wait_for(lambda: "JobState=COMPLETED" in as_user(cluster, *shown))
        wait_for(lambda: not sleeping(cluster, LEFT))
        assert sleeping(cluster, KEPT)
        assert sleeping(cluster, CHILD)
    finally:
        as_user(cluster, "scancel", other)
    wait_for(lambda: not sleeping(cluster, KEPT) and not sleeping(cluster, CHILD))


def test_cores_stay_awake_as_long_as_a_job_runs(cluster: Cluster) -> None:
    try:
        os.close(os.open(AWAKE, os.O_WRONLY))
    except OSError as error:
        pytest.skip(f"the kernel cannot be asked here: {error}")

    def held(times: int) -> bool:
        inside = inside_network([namespace_file(cluster._state.spec.name, "n1")])
        files = [os.path.realpath(f"/proc/{one.pid}/fd/3") for one in inside]
        return files.count(str(AWAKE)) == times

    jobs = [submitted(cluster, "--wrap", "sleep 9004") for _ in range(2)]
    wait_for(lambda: held(2))
    as_user(cluster, "scancel", jobs[0])
    wait_for(lambda: held(1))
    as_user(cluster, "scancel", jobs[1])
    wait_for(lambda: held(0))
