# SPDX-License-Identifier: Apache-2.0
"""Real clusters whose nodes lose power, end, or are made slow; the end of a job ends all of its
processes, and none of another job on the node."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from records.errors import AssayError
from virtual_cluster import api, faults, host
from virtual_cluster.api import Cluster, state_of
from virtual_cluster.host import inside
from virtual_cluster.tests.clusters import (
    NEEDS_CLUSTER,
    booted,
    made,
    run_in,
    sleepers,
    spaces_of,
    traces,
    wait_for,
)

pytestmark = NEEDS_CLUSTER


@pytest.fixture(scope="module")
def pair() -> Iterator[Cluster]:
    """Two nodes on unlimited links, which each test leaves with power."""
    with made("p", nodes=2) as cluster:
        yield cluster


def test_a_node_without_power_comes_back(pair: Cluster) -> None:
    pair.kill_node("n2")
    assert [node["power"] for node in pair.status()["nodes"]] == [True, False]
    assert run_in(pair, "srun", "-w", "n1", "hostname") == "n1\n"
    with pytest.raises(AssayError, match="has no power"):
        pair.kill_node("n2")
    pair.restore_node("n2")
    assert run_in(pair, "srun", "-w", "n2", "hostname") == "n2\n"
    with pytest.raises(AssayError, match="nothing to restore"):
        pair.restore_node("n2")
    with pytest.raises(AssayError, match="no node 'n3'"):
        pair.kill_node("n3")


def test_what_has_ended_is_named_and_started_again_with_the_jobs_that_run(name: str) -> None:
    """On a new cluster: Slurm saves a job at once where it saved none in the last seconds."""
    cluster = api.up(booted(name, nodes=2))
    waits = ["srun", "-N1", "-wn1", "sh", "-c", "sleep 1000; echo through"]
    with (
        subprocess.Popen(cluster.user_command(waits), cwd="/", stdout=subprocess.PIPE) as job,
        ExitStack() as whatever_happens,
    ):
        whatever_happens.callback(job.kill)
        wait_for(lambda: bool(sleepers(cluster, "n1")))
        state = state_of(name)
        for part in ("munged", "n2"):
            os.kill(state.processes[part].pid, signal.SIGKILL)
        wait_for(lambda: not any(state.runs(part) for part in ("munged", "n2")))
        remedy = f"assay cluster revive --name {name}"
        with pytest.raises(AssayError, match=f"munged, n2 have ended; .*{remedy}"):
            api.up(booted(name))
        os.kill(state.processes["slurmctld"].pid, signal.SIGKILL)
        wait_for(lambda: not state.runs("slurmctld"))
        with pytest.raises(AssayError, match=remedy) as told:
            api.load(name)
        assert told.value.status == 4
        assert api.revive(name) == ["munged", "slurmctld", "n2"]
        kill = cluster.node_command("n1", ["kill", str(sleepers(cluster, "n1")[0])])
        subprocess.run(kill, check=True)
        assert job.stdout is not None
        assert job.stdout.read() == b"through\n"
    assert sorted(run_in(cluster, "srun", "-N2", "hostname").split()) == ["n1", "n2"]
    cluster.kill_node("n2")  # the one that was revived
    assert api.revive(name) == ["n2"]
    assert api.revive(name) == []


def test_a_node_and_a_link_between_switches_are_made_slow_and_mended(name: str) -> None:
    cluster = api.up(booted(name, nodes=2, network="gigabit", switches="2"))

    def rates(place: str, *devices: str) -> set[str]:
        enter = cluster.admin_command(["tc", "qdisc", "show", "dev"], place)
        shown = [host.run([*enter, one]).stdout for one in devices]
        return {text.split(" rate ")[1].split()[0] for text in shown}

    def rounds() -> int:
        """How often a busy loop of a second's processor time at full speed comes round."""
        count = "import time; n, t = 0, time.monotonic() + 1\nwhile time.monotonic() < t: n += 1\n"
        return int(run_in(cluster, "srun", "-wn2", "python3", "-c", f"{count}print(n)"))

    assert rates("n2", "eth0") == rates("login", "u-s1", "d-s1") == {"1Gbit"}
    before = rounds()
    cluster.degrade("n2", cpu_share=0.02, link_share=0.5)
    assert rates("n2", "eth0") == {"500Mbit"}
    assert rounds() < before / 5
    cluster.mend("n2")
    assert rates("n2", "eth0") == {"1Gbit"}
    assert rounds() > before / 5
    cluster.degrade("s1", link_share=0.5)
    assert rates("login", "u-s1", "d-s1") == {"500Mbit"}
    cluster.mend("s1")
    assert rates("login", "u-s1", "d-s1") == {"1Gbit"}
    with pytest.raises(AssayError, match="s1 is a switch"):
        cluster.degrade("s1", cpu_share=0.5)
    cluster.degrade("n1", cpu_share=0.5)
    spaces = spaces_of(name)
    api.down(name)
    wait_for(lambda: traces(name, spaces) == {})


def test_nothing_survives_a_power_cut_which_is_a_failure_of_a_jobs_node(pair: Cluster) -> None:
    script = "srun sh -c 'setsid sleep 1000 & sleep 1000'"
    job = run_in(pair, "sbatch", "--parsable", "-N2", "--wrap", script).strip()
    wait_for(lambda: len(sleepers(pair, "n2")) == 2)
    spaces_of(pair.name)
    space = state_of(pair.name).processes["n2"].space
    pair.kill_node("n2")
    assert inside({space}) == []
    pair.restore_node("n2")
    shown = ["scontrol", "show", "job", "-o", job]
    wait_for(lambda: "JobState=NODE_FAIL" in run_in(pair, *shown))


def test_a_slurmd_that_a_job_has_ended_is_started_again(pair: Cluster) -> None:
    run_in(pair, "srun", "-wn1", "pkill", "-KILL", "slurmd")
    assert run_in(pair, "srun", "-wn1", "hostname") == "n1\n"
    subprocess.run(pair.user_command(["srun", "-wn1", "sh", "-c", "kill -9 -1"]), check=False)
    assert run_in(pair, "srun", "-wn1", "hostname") == "n1\n"


def test_the_throttle_holds_a_share_and_lets_go(pair: Cluster) -> None:
    """Without control groups, as for a caller who may write none."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(faults, "_GROUPS", ())
        pair.degrade("n1", cpu_share=0.1)
        pair.degrade("n1", cpu_share=0.05)
        busy = ["srun", "-wn1", "sh", "-c", "while true; do true; done"]
        job = subprocess.Popen(pair.user_command(busy))
        wait_for(lambda: loop_of(pair)[0] == "T")
        stopped_at = int(loop_of(pair)[11])
        wait_for(lambda: int(loop_of(pair)[11]) > stopped_at)
        wait_for(lambda: loop_of(pair)[0] == "T")
        pair.mend("n1")
        assert "throttle-n1" not in state_of(pair.name).processes
        wait_for(lambda: loop_of(pair)[0] == "R")
    job.kill()
    job.wait()


def loop_of(cluster: Cluster) -> list[str]:
    """Fields of /proc/ID/stat of the busy loop in n1, from the state on; "" before it runs."""
    for pid in inside({state_of(cluster.name).processes["n1"].space}):
        with suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            if words[1:3] == [b"-c", b"while true; do true; done"]:
                return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return [""]


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
    return int(host.run(command, check=False).stdout)


def sleeping(cluster: Cluster, seconds: str) -> bool:
    return running(cluster, f" {seconds}") > 0


def submitted(cluster: Cluster, *words: str) -> str:
    return run_in(cluster, "sbatch", "--parsable", "-n1", "--output=/dev/null", *words).strip()


@pytest.mark.parametrize("left", LEFTOVERS.values(), ids=LEFTOVERS)
def test_the_end_of_a_job_ends_all_of_it_and_nothing_of_another(cluster: Cluster, left) -> None:
    other = submitted(cluster, "--wrap", OTHER)
    try:
        wait_for(lambda: sleeping(cluster, KEPT) and sleeping(cluster, CHILD))
        go = Path(cluster.site_facts()["work_dir"], f"go.{other}")
        start = f"setsid {left.format(other=other, left=LEFT)} </dev/null >/dev/null 2>&1 &"
        job = submitted(cluster, "--wrap", f"{start}\nuntil [ -e {go} ]; do sleep 0.1; done")
        wait_for(lambda: sleeping(cluster, LEFT))
        go.touch()
        wait_for(lambda: "JobState=COMPLETED" in run_in(cluster, "scontrol", "show", "job", job))
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
        shown = host.run(spinning, check=False).stdout.split()
        going = [one for one in shown if "T" not in one]
        return len(shown) == 2 and len(going) == (2 if jobs else 0)

    wait_for(lambda: held(0))
    jobs = [submitted(cluster, "--wrap", "sleep 9004") for _ in range(2)]
    wait_for(lambda: held(2))
    run_in(cluster, "scancel", jobs[0])
    wait_for(lambda: held(1))
    run_in(cluster, "scancel", jobs[1])
    wait_for(lambda: held(0))
