# SPDX-License-Identifier: Apache-2.0
"""Real clusters: they come up, keep what they promise, and leave nothing behind."""

from __future__ import annotations

import json
import os
import pwd
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import virtual_cluster
from records.errors import AssayError, InfrastructureError
from virtual_cluster import api, host
from virtual_cluster.api import Cluster, processes_of
from virtual_cluster.command import main
from virtual_cluster.spec import ClusterSpec
from virtual_cluster.state import load_state

LACKING = [*host.missing_capabilities(), *host.missing_programs()]
REASON = "needs root" if os.geteuid() != 0 else ", ".join(LACKING)
pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(bool(REASON), reason=f"a virtual cluster cannot be made here: {REASON}"),
]
#: What a test waits for comes soon, or late on a loaded machine, or never.
PATIENCE_S = 300.0
#: A job that keeps a core busy for some hundredths of a second.
BUSY = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"


@pytest.fixture(scope="module")
def shared() -> Iterator[Cluster]:
    """A cluster that tests use without changing it."""
    name = f"t-s{os.getpid()}"
    try:
        yield virtual_cluster.up(ClusterSpec(name, nodes=4, network="fast-ethernet"))
    finally:
        virtual_cluster.down(name)


@pytest.fixture
def name() -> Iterator[str]:
    """Name of a cluster that is taken down whatever happens."""
    name = f"t-o{os.getpid()}"
    yield name
    virtual_cluster.down(name)


def as_user(cluster: Cluster, *argv: str) -> str:
    done = subprocess.run(
        cluster.user_command(argv),
        cwd=cluster.site_facts()["work_dir"],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def on_nodes(cluster: Cluster, script: str) -> list[str]:
    """What the script prints on each of the four nodes, in their order."""
    lines = as_user(cluster, "srun", "--label", "-N4", "sh", "-c", script).splitlines()
    return [line.split(":", 1)[1].strip() for line in sorted(lines)]


def traces(name: str) -> dict[str, list[str]]:
    """Everything on the machine that bears the name of a cluster."""
    mine = f"assay-{name}"
    folder = f"/assay/{name}"
    commands = {}
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            commands[entry.parent.name] = entry.read_bytes().decode(errors="replace")
        except OSError:
            continue
    netns = Path("/run/netns")
    mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    links = host.run(["ip", "-o", "link"]).stdout.splitlines()
    found = {
        "processes": [f"{pid} {c}" for pid, c in commands.items() if mine in c or folder in c],
        "namespaces": [p.name for p in netns.glob(f"{mine}-*")] if netns.exists() else [],
        "mounts": [line for line in mounts if mine in line or folder in line],
        "links": [line for line in links if mine in line],
        "users": [entry.pw_name for entry in pwd.getpwall() if entry.pw_name == mine],
        "files": [str(path) for path in Path("/var/lib/assay").glob(f"{name}*")],
    }
    return {kind: things for kind, things in found.items() if things}


def test_jobs_run_on_all_nodes_and_down_leaves_nothing(name: str) -> None:
    links = host.run(["ip", "-o", "link"]).stdout.count("\n")
    cluster = virtual_cluster.up(ClusterSpec(name, nodes=4))
    assert set(on_nodes(cluster, "hostname")) == {"n1", "n2", "n3", "n4"}
    assert host.run(["ip", "-o", "link"]).stdout.count("\n") == links
    assert len(traces(name)) > 3
    assert processes_of(name)
    with subprocess.Popen(
        cluster.user_command(["srun", "--nodelist=n1,n2", "sleep", "100"]),
        cwd="/",
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ):
        wait_for(lambda: all(sleepers(Path(f"/run/netns/assay-{name}-{n}")) for n in ("n1", "n2")))
        assert virtual_cluster.down(name)
    assert traces(name) == {}
    assert not virtual_cluster.down(name)
    with pytest.raises(AssayError, match=f"assay cluster up --name {name}"):
        virtual_cluster.load(name)


def test_a_cluster_that_is_up_is_not_made_again(shared: Cluster) -> None:
    with pytest.raises(AssayError, match=f"assay cluster down --name {shared.name}"):
        virtual_cluster.up(ClusterSpec(shared.name))
    assert set(on_nodes(shared, "hostname")) == {"n1", "n2", "n3", "n4"}


def test_a_second_main_job_leaves_the_first_ones_cluster_alone(shared: Cluster) -> None:
    script = Path(__file__).resolve().parents[2] / "setup" / "demo.sh"
    done = subprocess.run(
        [script],
        env={**os.environ, "CLUSTER": shared.name},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 2
    assert "is up already" in done.stderr
    assert as_user(shared, "sinfo", "--noheader", "--format=%D").strip() == "4"


def test_two_clusters_run_side_by_side(shared: Cluster, name: str) -> None:
    other = virtual_cluster.up(ClusterSpec(name, nodes=2))
    assert as_user(other, "srun", "-N2", "id", "-un").split() == [f"assay-{name}"] * 2
    assert as_user(shared, "srun", "-N2", "id", "-un").split() == [f"assay-{shared.name}"] * 2
    virtual_cluster.down(name)
    assert len(on_nodes(shared, "hostname")) == 4


@pytest.mark.parametrize("stage", ["network", "munged", "slurmd on", "up after"])
def test_up_mends_what_a_killed_up_left(name: str, stage: str) -> None:
    killed_up(name, stage)
    if stage == "up after":
        state = json.loads(Path(f"/var/lib/assay/{name}/cluster.json").read_text())
        pid = state["processes"]["slurmctld"]["pid"]
        os.kill(pid, 9)
        wait_for(lambda: not Path(f"/proc/{pid}/exe").exists())
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


def wait_for(condition: Callable[[], bool]) -> None:
    assert any(condition() for _ in host.tries(PATIENCE_S, 0.02))


def test_down_removes_what_a_killed_up_left(name: str) -> None:
    killed_up(name, "slurmd on")
    assert virtual_cluster.down(name)
    assert traces(name) == {}


def test_an_up_that_fails_takes_down_what_it_made(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("virtual_cluster.lifecycle.cgroup_conf", lambda: "CgroupPlugin=absent\n")
    with pytest.raises(AssayError, match=r"node n\d ended at once"):
        virtual_cluster.up(ClusterSpec(name, nodes=2))
    assert traces(name) == {}


def test_a_node_without_power_comes_back(name: str) -> None:
    cluster = virtual_cluster.up(ClusterSpec(name, nodes=2))
    cluster.kill_node("n2")
    assert [node["power"] for node in cluster.status()["nodes"]] == [True, False]
    assert as_user(cluster, "srun", "-w", "n1", "hostname") == "n1\n"
    with pytest.raises(AssayError, match="has no power"):
        cluster.kill_node("n2")
    cluster.restore_node("n2")
    assert as_user(cluster, "srun", "-w", "n2", "hostname") == "n2\n"
    with pytest.raises(AssayError, match="nothing to restore"):
        cluster.restore_node("n2")
    with pytest.raises(AssayError, match="no node 'n3'"):
        cluster.kill_node("n3")


def test_what_has_ended_is_named_and_started_again_with_the_jobs_that_run(name: str) -> None:
    cluster = virtual_cluster.up(ClusterSpec(name, nodes=2))
    with subprocess.Popen(
        cluster.user_command(["srun", "-N1", "-wn1", "sh", "-c", "sleep 3; echo through"]),
        cwd="/",
        stdout=subprocess.PIPE,
    ) as job:
        wait_for(lambda: bool(sleepers(Path(f"/run/netns/assay-{name}-n1"))))
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
        assert job.stdout is not None
        assert job.stdout.read() == b"through\n"
    assert as_user(cluster, "srun", "-N2", "hostname").split() in (["n1", "n2"], ["n2", "n1"])
    cluster.kill_node("n2")  # the one that was revived
    assert api.revive(name) == ["n2"]
    assert api.revive(name) == []


def test_a_node_is_made_slow_and_mended(name: str) -> None:
    cluster = virtual_cluster.up(ClusterSpec(name, nodes=2, network="fast-ethernet"))

    def link_rate() -> str:
        enter = ["nsenter", f"--net=/run/netns/assay-{name}-n2", "tc", "qdisc", "show"]
        said = subprocess.run([*enter, "dev", "eth0"], capture_output=True, text=True, check=True)
        return said.stdout.split(" rate ")[1].split()[0]

    def throttled() -> bool:
        """Whether the kernel held back a busy job of the node."""
        as_user(cluster, "srun", "-wn2", "-n1", "sh", "-c", BUSY)
        found = list(Path("/sys/fs/cgroup").glob(f"**/assay-{name}-n2/cpu.stat"))
        return any("nr_throttled 0" not in path.read_text() for path in found)

    assert link_rate() == "100Mbit"
    # A small share: on a loaded machine a job may not even get half a core.
    cluster.degrade("n2", cpu_share=0.1, link_share=0.5)
    assert link_rate() == "50Mbit"
    assert throttled()
    cluster.mend("n2")
    assert link_rate() == "100Mbit"
    assert not throttled()
    cluster.degrade("n1", cpu_share=0.5)
    virtual_cluster.down(name)
    assert not list(Path("/sys/fs/cgroup").glob(f"**/assay-{name}-n*"))


def test_the_link_between_switches_is_made_slow_and_mended(name: str) -> None:
    cluster = virtual_cluster.up(ClusterSpec(name, nodes=2, network="gigabit", switches="2"))

    def rates() -> set[str]:
        login = ["ip", "netns", "exec", f"assay-{name}-login", "tc", "qdisc", "show", "dev"]
        shown = [
            subprocess.run([*login, end], capture_output=True, text=True, check=True).stdout
            for end in ("u-s1", "d-s1")
        ]
        return {text.split(" rate ")[1].split()[0] for text in shown}

    cluster.degrade("s1", link_share=0.5)
    assert rates() == {"500Mbit"}
    cluster.mend("s1")
    assert rates() == {"1Gbit"}
    with pytest.raises(AssayError, match="s1 is a switch"):
        cluster.degrade("s1", cpu_share=0.5)


@pytest.mark.parametrize(
    ("network", "cpu", "link", "told"),
    [
        ("unlimited", None, 0.5, "--network gigabit or fast-ethernet"),
        ("unlimited", None, None, "give --cpu SHARE"),
        ("unlimited", 1.5, None, "from 0.01 to below 1"),
    ],
)
def test_what_cannot_be_made_slow_is_said(
    name: str, network: str, cpu: float | None, link: float | None, told: str
) -> None:
    cluster = virtual_cluster.up(ClusterSpec(name, nodes=1, network=network))
    with pytest.raises(AssayError, match=told):
        cluster.degrade("n1", cpu, link)


def test_a_job_on_a_node_that_lost_power_is_a_node_failure(name: str) -> None:
    cluster = virtual_cluster.up(ClusterSpec(name, nodes=2))
    script = Path(cluster.site_facts()["work_dir"]) / "job.sh"
    script.write_text("#!/bin/sh\nsrun sleep 1000\n")
    job = as_user(cluster, "sbatch", "--parsable", "-N2", str(script)).strip()
    shown = ["scontrol", "show", "job", "-o", job]
    wait_for(lambda: "JobState=RUNNING" in as_user(cluster, *shown))
    cluster.kill_node("n2")
    cluster.restore_node("n2")
    wait_for(lambda: "JobState=NODE_FAIL" in as_user(cluster, *shown))


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


def sleepers(namespace: Path) -> list[int]:
    pids = host.run(["ip", "netns", "pids", namespace.name]).stdout.split()
    return [int(p) for p in pids if Path(f"/proc/{p}/comm").read_text() == "sleep\n"]


def test_jobs_belong_to_an_ordinary_user(shared: Cluster) -> None:
    assert as_user(shared, "srun", "id", "-u").strip() == str(shared.site_facts()["uid"])
    assert shared.site_facts()["uid"] != 0


@pytest.fixture
def private(tmp_path: Path) -> Path:
    """A folder that anybody could read, but for the private one that it lies in."""
    shown = tmp_path / "private" / "a b" / "shown"
    shown.mkdir(parents=True)
    for file in (shown / "text.py", shown.parent / "other"):
        file.write_text("text")
    (tmp_path / "private").chmod(0o700)
    return shown


def status_of(command: list[str]) -> int:
    return subprocess.run(command, cwd="/", capture_output=True, check=False).returncode


def test_a_command_sees_what_it_reads_below_private_folders_and_nothing_else(
    shared: Cluster, private: Path
) -> None:
    cat, other = ["cat", str(private / "text.py")], ["cat", str(private.parent / "other")]
    link = private.parent.parent / "link"
    link.symlink_to(private)
    assert status_of(shared.user_command(cat)) == 1
    assert status_of(shared.user_command(cat, reads=[private])) == 0
    assert status_of(shared.user_command(["cat", str(link / "text.py")], reads=[link])) == 0
    assert status_of(shared.user_command(other, reads=[private])) == 1
    assert status_of(shared.user_command(["srun", *cat], reads=[private])) == 1
    private.chmod(0o777)
    written = shared.user_command(["touch", str(private / "new")], reads=[private])
    assert status_of(written) == 1
    assert str(private) not in Path("/proc/self/mountinfo").read_text()


def test_jobs_see_what_is_shown_below_tmp_and_nothing_else_and_cannot_change_it(
    shared: Cluster, private: Path
) -> None:
    text, other = private / "text.py", private.parent / "other"

    def in_job(*argv: str) -> int:
        return status_of(shared.user_command(["srun", "-N2", *argv]))

    assert in_job("cat", str(text)) != 0
    shared.show([private])
    assert in_job("cat", str(text)) == 0
    assert in_job("cat", str(other)) != 0
    private.chmod(0o777)
    assert in_job("touch", str(private / "new")) != 0
    assert not (private / "new").exists()
    # A folder made anew under the same name, and a node that was without power.
    private.rename(private.parent / "away")
    private.mkdir()
    text.write_text("anew")
    shared.show([private])
    node = shared.site_facts()["nodes"][0]
    shared.kill_node(node)
    shared.restore_node(node)
    assert in_job("grep", "anew", str(text)) == 0


def test_nothing_is_shown_through_a_link_that_a_job_has_made(shared: Cluster) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as top:
        folder = Path(top, "shown")
        folder.mkdir()
        link = ["srun", "-w", shared.site_facts()["nodes"][0], "ln", "-s", "/etc", top]
        assert status_of(shared.user_command(link)) == 0
        with pytest.raises(InfrastructureError, match="is in the way"):
            shared.show([folder])
    assert not Path("/etc/shown").exists()


@pytest.mark.parametrize(("name", "mode"), [("text.py", 0o600), ("", 0o711)])
def test_a_file_that_the_jobs_user_may_not_read_is_named(
    shared: Cluster, private: Path, name: str, mode: int
) -> None:
    (private / name).chmod(mode)
    with pytest.raises(InfrastructureError, match="chmod -R go") as caught:
        shared.user_command(["true"], reads=[private])
    assert str(private / name).rstrip("/") in str(caught.value)


def test_a_command_has_no_capability_whatever_it_reads(shared: Cluster, private: Path) -> None:
    for reads in ([], [private]):
        command = shared.user_command(["cat", "/proc/self/status"], reads=reads)
        status = subprocess.run(command, cwd="/", capture_output=True, text=True, check=True).stdout
        rights = [line.split()[1] for line in status.splitlines() if line.startswith("Cap")]
        assert {int(mask, 16) for mask in rights[:3]} == {0}  # inheritable, permitted, effective
        assert "NoNewPrivs:\t1" in status


def test_commands_start_with_a_clean_environment(
    shared: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SURPRISE", "1")
    command = shared.user_command(["env"], env={"GIVEN": "a b"})
    done = subprocess.run(command, capture_output=True, text=True, cwd="/", check=True)
    assert "GIVEN=a b" in done.stdout.splitlines()
    assert "SURPRISE" not in done.stdout


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
    seen = on_nodes(shared, "echo $(hostname) $(taskset -cp $$ | cut -d: -f2)")
    for line in seen:
        node, affinity = line.split()
        assert affinity == ",".join(map(str, cores[node]))
    if len(host.usable_cores()) > 1:
        assert not set(cores["n1"]) & set(cores["n2"])


def test_batch_jobs_start_and_end_at_once(shared: Cluster) -> None:
    script = Path(shared.site_facts()["work_dir"]) / "job.sh"
    script.write_text("#!/bin/sh\nhostname\n")
    job = as_user(shared, "sbatch", "--parsable", "-o", "out.%j", str(script)).strip()
    wait_for(lambda: "COMPLETED" in as_user(shared, "scontrol", "show", "job", "-o", job))
    output = Path(shared.site_facts()["work_dir"]) / f"out.{job}"
    assert output.read_text() == "n1\n"
    assert output.stat().st_uid == shared.site_facts()["uid"]


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
    enter = [
        f"nsenter --net=/run/netns/assay-{shared.name}-{node}".split() for node in ("n1", "n2")
    ]
    receiver = [*enter[0], sys.executable, "-c", RECEIVE]
    with subprocess.Popen(receiver, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        server.stdout.readline()
        sender = [*enter[1], sys.executable, "-c", SEND, shared.site_facts()["addresses"]["n1"]]
        rate = float(subprocess.run(sender, capture_output=True, text=True, check=True).stdout)
    assert 2e6 < rate < 12.5e6  # more than the next slower kind, even on a loaded machine


def test_the_command_line_shows_and_enters_the_cluster(
    shared: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["status", "--json", "--name", shared.name]) == 0
    status = json.loads(capsys.readouterr().out)
    assert [node["state"] for node in status["nodes"]] == ["idle"] * 4
    assert main(["status", "--name", shared.name]) == 0
    assert "network fast-ethernet" in capsys.readouterr().out
    shell = [sys.executable, "-m", "virtual_cluster", "shell", "--name", shared.name]
    for words, expected in ((["n3", "--", "hostname"], "n3"), (["--", "id", "-u"], None)):
        done = subprocess.run([*shell, *words], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == (expected or str(shared.site_facts()["uid"]))
