# SPDX-License-Identifier: Apache-2.0
"""Real clusters: they come up, keep what they promise, and leave nothing behind."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import virtual_cluster
from records.errors import AssayError
from virtual_cluster import host
from virtual_cluster.api import Cluster, processes_of
from virtual_cluster.command import main
from virtual_cluster.processes import Process
from virtual_cluster.spec import ClusterSpec
from virtual_cluster.tests.clusters import (
    NEEDS_CLUSTER,
    PATIENCE_S,
    as_user,
    on_nodes,
    sleepers,
    traces,
    wait_for,
    wait_until_idle,
)

pytestmark = NEEDS_CLUSTER


def test_jobs_run_beside_those_of_another_cluster_and_down_leaves_nothing(
    shared: Cluster, name: str
) -> None:
    links = host.run(["ip", "-o", "link"]).stdout.count("\n")
    cluster = virtual_cluster.up(ClusterSpec(name, nodes=4))
    assert set(on_nodes(cluster, "hostname")) == {"n1", "n2", "n3", "n4"}
    for one in (cluster, shared):
        assert as_user(one, "srun", "-N2", "id", "-un").split() == [f"assay-{one.name}"] * 2
    assert host.run(["ip", "-o", "link"]).stdout.count("\n") == links
    assert len(traces(name)) > 3
    assert processes_of(name)
    uid = cluster.site_facts()["uid"]
    # A process that leaves the cluster's networks.
    leave = "setsid unshare --user --map-root-user --net sleep 1000 >/dev/null 2>&1 &"
    as_user(cluster, "sh", "-c", leave)

    def left() -> list[str]:
        found = host.run(["ps", "-e", "-o", "uid=,stat=,args="]).stdout.splitlines()
        mine = [line for line in found if line.split()[0] == str(uid) and " Z" not in line]
        return [line for line in mine if "sleep 1000" in line]  # the next cluster may get the uid

    sleep = cluster.user_command(["srun", "--nodelist=n1,n2", "sleep", "100"])
    with subprocess.Popen(sleep, cwd="/", stderr=subprocess.DEVNULL):
        wait_for(lambda: all(sleepers(Path(f"/run/netns/assay-{name}-{n}")) for n in ("n1", "n2")))
        wait_for(lambda: any("unshare" not in line for line in left()))
        assert virtual_cluster.down(name)
    assert not left()
    assert traces(name) == {}
    assert not virtual_cluster.down(name)
    with pytest.raises(AssayError, match=f"assay cluster up --name {name}"):
        virtual_cluster.load(name)
    assert set(on_nodes(shared, "hostname")) == {"n1", "n2", "n3", "n4"}


def test_a_cluster_that_is_up_is_not_made_again_by_a_second_main_job_either(
    shared: Cluster,
) -> None:
    with pytest.raises(AssayError, match=f"assay cluster down --name {shared.name}"):
        virtual_cluster.up(ClusterSpec(shared.name))
    done = subprocess.run(
        [Path(__file__).resolve().parents[2] / "setup" / "demo.sh"],
        env={**os.environ, "CLUSTER": shared.name},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 2
    assert "is up already" in done.stderr
    assert set(on_nodes(shared, "hostname")) == {"n1", "n2", "n3", "n4"}


@pytest.mark.parametrize("stage", ["network", "munged", "slurmd on", "up after"])
def test_up_mends_what_a_killed_up_left(name: str, stage: str) -> None:
    killed_up(name, stage)
    if stage == "up after":
        state = json.loads(Path(f"/var/lib/assay/{name}/cluster.json").read_text())
        controller = Process(**state["processes"]["slurmctld"])
        os.kill(controller.pid, 9)
        wait_for(lambda: not controller.alive())
    said: list[str] = []
    cluster = virtual_cluster.up(ClusterSpec(name, nodes=2), said.append)
    assert "remains" in said[0]
    assert as_user(cluster, "srun", "-N2", "hostname").split() in (["n1", "n2"], ["n2", "n1"])


def killed_up(name: str, stage: str) -> None:
    """Begin to bring up a cluster, and kill that once it prints `stage`."""
    command = [sys.executable, "-m", "virtual_cluster", "up", "--name", name, "--nodes", "2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as up:
        assert up.stdout is not None
        while stage not in up.stdout.readline():
            assert up.poll() is None
        up.kill()


def test_down_removes_what_a_killed_up_left_however_long_that_takes(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed_up(name, "slurmd on")
    limits = []
    run = host.run

    def noted(argv: list[str], **how: Any) -> subprocess.CompletedProcess[str]:
        limits.extend([how["limited"]] if argv[0] == "rm" else [])
        return run(argv, **how)

    monkeypatch.setattr(host, "run", noted)
    assert virtual_cluster.down(name)
    assert limits == [False]
    wait_for(lambda: traces(name) == {})  # a daemon that was not recorded yet ends by itself


def test_an_up_that_fails_takes_down_what_it_made(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("virtual_cluster.slurm_conf.cgroup_conf", lambda: "CgroupPlugin=absent\n")
    with pytest.raises(AssayError, match=r"node n\d ended at once"):
        virtual_cluster.up(ClusterSpec(name, nodes=2))
    assert traces(name) == {}


def test_each_node_has_its_own_names_processes_ipc_and_shared_memory(shared: Cluster) -> None:
    spaces = "for s in net uts ipc pid mnt; do readlink /proc/self/ns/$s; done | tr '\\n' ' '"
    seen = [line.split() for line in on_nodes(shared, spaces)]
    names = ("net", "uts", "ipc", "pid", "mnt")
    ours = [str(Path(f"/proc/self/ns/{space}").readlink()) for space in names]
    for each in zip(*seen, ours, strict=True):
        assert len(set(each)) == 5
    on_nodes(shared, "echo x > /dev/shm/$(hostname); echo x > /tmp/$(hostname)")
    assert on_nodes(shared, "ls /dev/shm /tmp | grep -c ^n") == ["2"] * 4


def test_nodes_are_pinned_to_their_cores(shared: Cluster) -> None:
    cores = shared.site_facts()["cores"]
    for line in on_nodes(shared, "echo $(hostname) $(taskset -cp $$ | cut -d: -f2)"):
        node, affinity = line.split()
        assert affinity == ",".join(map(str, cores[node]))
    if len(host.usable_cores()) > 1:
        assert not set(cores["n1"]) & set(cores["n2"])


def test_batch_jobs_start_and_end_at_once(shared: Cluster) -> None:
    wait_until_idle(shared)
    job = as_user(shared, "sbatch", "--parsable", "-o", "out.%j", "--wrap", "hostname").strip()
    wait_for(lambda: "COMPLETED" in as_user(shared, "scontrol", "show", "job", "-o", job))
    output = Path(shared.site_facts()["work_dir"], f"out.{job}")
    assert output.read_text() == "n1\n"
    assert output.stat().st_uid == shared.site_facts()["uid"]
    jobs = as_user(shared, "scontrol", "show", "job", "-o").splitlines()
    behind = [" TimeLimit=00:01:00 " in line for line in jobs if "JobName=kick " in line]
    assert behind and all(behind)


def test_orphans_of_jobs_are_reaped(shared: Cluster) -> None:
    on_nodes(shared, "(setsid sleep 0.1 &) ; true")
    left = "ps -e -o stat=,comm= | grep -cE '^Z|sleep$' || true"
    wait_for(lambda: on_nodes(shared, left) == ["0"] * 4)


RECEIVE = """
import socket
with socket.create_server(("0.0.0.0", 5000)) as server:
    print("ready", flush=True)
    connection, _ = server.accept()
    while connection.recv(1 << 16):
        pass
    connection.sendall(b"x")
"""
SEND = """
import socket, sys, time
link = socket.create_connection((sys.argv[1], 5000))
start = time.monotonic()
link.sendall(b"x" * 8_000_000)
link.shutdown(socket.SHUT_WR)
link.recv(1)
print(8_000_000 / (time.monotonic() - start))
"""


def test_a_fast_ethernet_link_carries_what_fast_ethernet_carries(shared: Cluster) -> None:
    enter = [f"nsenter --net=/run/netns/assay-{shared.name}-{n}".split() for n in ("n1", "n2")]
    receiver = [*enter[0], sys.executable, "-c", RECEIVE]
    with subprocess.Popen(receiver, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        server.stdout.readline()
        sender = [*enter[1], sys.executable, "-c", SEND, shared.site_facts()["addresses"]["n1"]]
        rate = float(subprocess.run(sender, capture_output=True, text=True, check=True).stdout)
    assert rate < 12.5e6


def test_the_command_line_shows_and_enters_the_cluster(
    shared: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    wait_until_idle(shared)
    assert main(["status", "--json", "--name", shared.name]) == 0
    status = json.loads(capsys.readouterr().out)
    schema = Path(__file__).parents[2] / "docs/schemas/cluster-status.schema.json"
    jsonschema.validate(status, json.loads(schema.read_text()))
    assert [node["state"] for node in status["nodes"]] == ["idle"] * 4
    assert main(["status", "--name", shared.name]) == 0
    assert "network fast-ethernet" in capsys.readouterr().out
    shell = [sys.executable, "-m", "virtual_cluster", "shell", "--name", shared.name]
    for words, expected in ((["n3", "--", "hostname"], "n3"), (["--", "id", "-u"], None)):
        done = subprocess.run([*shell, *words], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == (expected or str(shared.site_facts()["uid"]))
