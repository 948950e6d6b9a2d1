# SPDX-License-Identifier: Apache-2.0
"""Real clusters whose nodes lose power, end, or are made slow."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from glob import iglob
from pathlib import Path

import pytest

import virtual_cluster
from records.errors import AssayError
from virtual_cluster import Cluster, api
from virtual_cluster.spec import ClusterSpec
from virtual_cluster.state import load_state
from virtual_cluster.tests.clusters import (
    NEEDS_CLUSTER,
    PATIENCE_S,
    as_user,
    made,
    sleepers,
    traces,
    wait_for,
)

pytestmark = NEEDS_CLUSTER
#: A job that keeps a core busy for some hundredths of a second.
BUSY = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"


@pytest.fixture(scope="module")
def pair() -> Iterator[Cluster]:
    """Two nodes on unlimited links, which each test leaves with power."""
    with made("p", nodes=2) as cluster:
        yield cluster


def test_a_node_without_power_comes_back(pair: Cluster) -> None:
    pair.kill_node("n2")
    assert [node["power"] for node in pair.status()["nodes"]] == [True, False]
    assert as_user(pair, "srun", "-w", "n1", "hostname") == "n1\n"
    with pytest.raises(AssayError, match="has no power"):
        pair.kill_node("n2")
    pair.restore_node("n2")
    assert as_user(pair, "srun", "-w", "n2", "hostname") == "n2\n"
    with pytest.raises(AssayError, match="nothing to restore"):
        pair.restore_node("n2")
    with pytest.raises(AssayError, match="no node 'n3'"):
        pair.kill_node("n3")


def test_what_has_ended_is_named_and_started_again_with_the_jobs_that_run(name: str) -> None:
    """On a new cluster: Slurm saves a job at once where it saved none in the last seconds."""
    cluster = virtual_cluster.up(ClusterSpec(name, nodes=2))
    waits = ["srun", "-N1", "-wn1", "sh", "-c", "sleep 1000; echo through"]
    with (
        subprocess.Popen(cluster.user_command(waits), cwd="/", stdout=subprocess.PIPE) as job,
        ExitStack() as whatever_happens,
    ):
        whatever_happens.callback(job.kill)
        inside = Path(f"/run/netns/assay-{name}-n1")
        wait_for(lambda: bool(sleepers(inside)))
        state = load_state(name)
        assert state is not None
        for part in ("munged", "n2"):
            os.kill(state.processes[part].pid, signal.SIGKILL)
        wait_for(lambda: not any(state.processes[part].alive() for part in ("munged", "n2")))
        remedy = f"assay cluster revive --name {name}"
        with pytest.raises(AssayError, match=remedy) as told:
            virtual_cluster.up(ClusterSpec(name))
        for part in ("its munged has ended", "node n2 has no power"):
            assert part in str(told.value)
        os.kill(state.processes["slurmctld"].pid, signal.SIGKILL)
        wait_for(lambda: not state.processes["slurmctld"].alive())
        with pytest.raises(AssayError, match=remedy) as told:
            virtual_cluster.load(name)
        assert told.value.status == 4
        assert api.revive(name) == ["munged", "slurmctld", "n2"]
        os.kill(sleepers(inside)[0], signal.SIGTERM)
        assert job.stdout is not None
        assert job.stdout.read() == b"through\n"
    assert sorted(as_user(cluster, "srun", "-N2", "hostname").split()) == ["n1", "n2"]
    cluster.kill_node("n2")  # the one that was revived
    assert api.revive(name) == ["n2"]
    assert api.revive(name) == []


def groups(name: str) -> list[Path]:
    """Control groups of this name; others are removed meanwhile, for which Path.glob raises."""
    return [Path(found) for found in iglob(f"/sys/fs/cgroup/**/{name}", recursive=True)]  # noqa: PTH207


def test_a_node_and_a_link_between_switches_are_made_slow_and_mended(name: str) -> None:
    cluster = virtual_cluster.up(ClusterSpec(name, nodes=2, network="gigabit", switches="2"))

    def rates(place: str, *devices: str) -> set[str]:
        enter = ["nsenter", f"--net=/run/netns/assay-{name}-{place}", "tc", "qdisc", "show", "dev"]
        shown = [
            subprocess.run([*enter, one], capture_output=True, text=True, check=True).stdout
            for one in devices
        ]
        return {text.split(" rate ")[1].split()[0] for text in shown}

    def throttled() -> bool:
        """Whether the kernel held back a busy job of the node."""
        as_user(cluster, "srun", "-wn2", "-n1", "sh", "-c", BUSY)
        found = [path / "cpu.stat" for path in groups(f"assay-{name}-n2")]
        return any("nr_throttled 0" not in path.read_text() for path in found if path.exists())

    assert rates("n2", "eth0") == rates("login", "u-s1", "d-s1") == {"1Gbit"}
    # A small share: on a loaded machine a job may not even get half a core.
    cluster.degrade("n2", cpu_share=0.1, link_share=0.5)
    assert rates("n2", "eth0") == {"500Mbit"}
    assert throttled()
    cluster.mend("n2")
    assert rates("n2", "eth0") == {"1Gbit"}
    assert not throttled()
    cluster.degrade("s1", link_share=0.5)
    assert rates("login", "u-s1", "d-s1") == {"500Mbit"}
    cluster.mend("s1")
    assert rates("login", "u-s1", "d-s1") == {"1Gbit"}
    with pytest.raises(AssayError, match="s1 is a switch"):
        cluster.degrade("s1", cpu_share=0.5)
    cluster.degrade("n1", cpu_share=0.5)
    virtual_cluster.down(name)
    assert not groups(f"assay-{name}-n*")


@pytest.mark.parametrize(
    ("cpu", "link", "told"),
    [
        (None, 0.5, "--network gigabit or fast-ethernet"),
        (None, None, "give --cpu SHARE"),
        (1.5, None, "from 0.01 to below 1"),
    ],
)
def test_what_cannot_be_made_slow_is_said(
    pair: Cluster, cpu: float | None, link: float | None, told: str
) -> None:
    with pytest.raises(AssayError, match=told):
        pair.degrade("n1", cpu, link)


def test_a_job_on_a_node_that_lost_power_is_a_node_failure(pair: Cluster) -> None:
    job = as_user(pair, "sbatch", "--parsable", "-N2", "--wrap", "srun sleep 1000").strip()
    shown = ["scontrol", "show", "job", "-o", job]
    wait_for(lambda: bool(sleepers(Path(f"/run/netns/assay-{pair.name}-n2"))))
    pair.kill_node("n2")
    pair.restore_node("n2")
    wait_for(lambda: "JobState=NODE_FAIL" in as_user(pair, *shown))


@pytest.mark.parametrize("isolated", [True, False])
def test_nothing_survives_a_power_cut(name: str, isolated: bool) -> None:
    cluster = virtual_cluster.up(ClusterSpec(name, nodes=2, isolated=isolated))
    started = subprocess.Popen(
        cluster.user_command(["srun", "-w", "n2", "sh", "-c", "setsid sleep 1000 & sleep 1000"]),
        cwd="/",
        stderr=subprocess.DEVNULL,
    )
    inside = Path(f"/run/netns/assay-{name}-n2")
    wait_for(lambda: len(sleepers(inside)) == 2)
    cluster.kill_node("n2")
    assert sleepers(inside) == []
    virtual_cluster.down(name)
    started.wait(PATIENCE_S)
    assert traces(name) == {}
