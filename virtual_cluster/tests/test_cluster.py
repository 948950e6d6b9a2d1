# SPDX-License-Identifier: Apache-2.0
"""Real clusters: they come up, keep what they promise, and leave nothing behind; where none can be
made, one sentence says why, and what helps."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from records.errors import AssayError
from virtual_cluster import api, host, namespaces
from virtual_cluster.api import Cluster, state_of
from virtual_cluster.command import main
from virtual_cluster.tests.clusters import (
    NEEDS_CLUSTER,
    PATIENCE_S,
    booted,
    on_nodes,
    received,
    run_in,
    send,
    sleepers,
    spaces_of,
    traces,
    wait_for,
    wait_until_idle,
)

pytestmark = NEEDS_CLUSTER
COMMAND = [sys.executable, "-m", "virtual_cluster.command"]


#: Each leaves a process that tries to outlive the cluster.
ESCAPES = {
    "session": "setsid sleep 1000 &",
    "double fork": "(setsid sh -c 'sleep 1000 & sleep 1000 &' &)",
    "ignored signals": "trap '' HUP INT TERM; setsid sh -c 'sleep 1000; sleep 1000' &",
    "namespaces": "setsid unshare --user --map-root-user --net --pid --fork sleep 1000 &",
}


def test_jobs_run_beside_those_of_another_cluster_and_down_leaves_nothing(
    shared: Cluster, name: str
) -> None:
    links = host.run(["ip", "-o", "link"]).stdout.count("\n")
    mounts = Path("/proc/self/mountinfo").read_text()
    cluster = api.up(booted(name, nodes=4))
    assert set(on_nodes(cluster, "hostname")) == {"n1", "n2", "n3", "n4"}
    for one in (cluster, shared):
        assert run_in(one, "srun", "-N2", "id", "-un").split() == ["assay"] * 2
    assert host.run(["ip", "-o", "link"]).stdout.count("\n") == links
    assert Path("/proc/self/mountinfo").read_text() == mounts
    spaces = spaces_of(name)
    assert len(traces(name, spaces)) > 1
    for escape in ESCAPES.values():
        quiet = f"exec </dev/null >/dev/null 2>&1; {escape}"
        run_in(cluster, "sh", "-c", quiet)
        subprocess.run(cluster.node_command("n1", ["sh", "-c", quiet]), check=True)
        run_in(cluster, "sbatch", "-N2", "-t", "10", "--wrap", f"srun sh -c {quiet!r}; sleep 1000")
    wait_for(lambda: len(sleepers(cluster, "n1")) > 4)
    with subprocess.Popen(cluster.user_command(["sleep", "1000"])) as entered:
        assert api.down(name)
        assert entered.wait(PATIENCE_S) != 0
    wait_for(lambda: traces(name, spaces) == {})  # what has died is reaped by others
    assert not api.down(name)
    with pytest.raises(AssayError, match=f"assay cluster up --name {name}"):
        api.load(name)
    assert set(on_nodes(shared, "hostname")) == {"n1", "n2", "n3", "n4"}


@pytest.mark.parametrize("where", ["login", "n1"])
def test_a_command_that_was_stopped_does_not_hold_up_the_end(name: str, where: str) -> None:
    """`nsenter` stops with its child, and what has not been reaped holds a PID namespace."""
    cluster = api.up(booted(name, nodes=1))
    spaces = spaces_of(name)
    stops = ["sh", "-c", "kill -STOP $$; true"]
    command = cluster.user_command(stops) if where == "login" else cluster.node_command("n1", stops)
    with subprocess.Popen(command) as entered:
        stat = Path(f"/proc/{entered.pid}/stat")
        wait_for(lambda: stat.read_text().rpartition(")")[2].split()[0] == "T")
        assert api.down(name)
        entered.wait(PATIENCE_S)
    wait_for(lambda: traces(name, spaces) == {})


def test_what_a_job_can_reach_is_its_clusters_own(name: str, tmp_path: Path) -> None:
    """`rm -rf` of a wrong variable harms nothing but what jobs have made."""
    cluster = api.up(booted(name, nodes=2))
    shown, kept = tmp_path / "shown", tmp_path / "kept"
    for folder in (shown, kept):
        folder.mkdir()
        (folder / "text").touch()
    cluster.show([shown])
    look = "for f in {0}/text {1}/text {2} /etc/shadow; do ! cat $f >/dev/null || echo $f; done"
    seen = run_in(cluster, "srun", "sh", "-c", look.format(shown, kept, Path(__file__)))
    assert seen.split() == [f"{shown}/text"]
    work = Path(cluster.site_facts()["work_dir"])
    (work / "text").touch()
    command = ["srun", "-wn1", "sh", "-c", "rm -rf --no-preserve-root / 2>/dev/null; kill -9 -1"]
    subprocess.run(cluster.user_command(command), capture_output=True, check=False)
    assert (shown / "text").exists()
    assert (kept / "text").exists()
    assert not (work / "text").exists()
    wait_until_idle(cluster)
    write = f"hostname; for f in /x /usr/x {shown}/x; do ! touch $f || echo $f; done"
    assert run_in(cluster, "sbatch", "-wn1", "-W", "-o", f"{work}/out", "--wrap", write)
    first, *others = (work / "out").read_text().splitlines()
    assert first == "n1"
    assert not [line for line in others if line.startswith("/")]


def test_jobs_and_sessions_have_no_capability(shared: Cluster) -> None:
    for command in (["cat"], ["srun", "cat"]):
        status = run_in(shared, *command, "/proc/self/status")
        rights = [line.split()[1] for line in status.splitlines() if line.startswith("Cap")]
        assert {int(mask, 16) for mask in rights[:3]} == {0}  # inheritable, permitted, effective


def test_folders_are_shown_at_their_own_paths_read_only_also_anew(
    shared: Cluster, tmp_path: Path
) -> None:
    folder, link = tmp_path / "a b", tmp_path / "link"
    folder.mkdir()
    link.symlink_to(folder)
    (folder / "text").write_text("first")
    with tempfile.TemporaryDirectory(dir=Path.home()) as other:
        Path(other, "text").write_text("first")
        shared.show([link, Path(other), folder])
        texts = [str(path / "text") for path in (folder, link, Path(other))]
        assert run_in(shared, "srun", "-N2", "cat", *texts) == "first" * 6
        # A folder made anew under the same name, and a node that was without power.
        folder.rename(tmp_path / "away")
        folder.mkdir()
        (folder / "text").write_text("anew")
        shared.show([folder])
        node = shared.site_facts()["nodes"][0]
        shared.kill_node(node)
        shared.restore_node(node)
        assert run_in(shared, "srun", "-N2", "cat", *texts[::2]) == "anewfirst" * 2
    with pytest.raises(AssayError, match="lies in it"):
        shared.show([Path(shared.site_facts()["state_dir"]).parent])


def test_a_cluster_that_is_up_is_not_made_again(shared: Cluster) -> None:
    with pytest.raises(AssayError, match=f"assay cluster down --name {shared.name}"):
        api.up(booted(shared.name))
    assert set(on_nodes(shared, "hostname")) == {"n1", "n2", "n3", "n4"}


@pytest.mark.parametrize("stage", ["network", "slurmd on", "up after"])
def test_up_mends_what_a_killed_up_left(name: str, stage: str) -> None:
    words = [*COMMAND, "up", "--name", name, "--nodes", "2"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as killed:
        assert killed.stdout is not None
        while stage not in killed.stdout.readline():
            assert killed.poll() is None
        killed.kill()
    if stage == "up after":
        state = state_of(name)
        os.kill(state.processes["slurmctld"].pid, 9)
        wait_for(lambda: not state.runs("slurmctld"))
    said: list[str] = []
    cluster = api.up(booted(name, nodes=2), said.append)
    assert "remains" in said[0]
    assert run_in(cluster, "srun", "-N2", "hostname").split() in (["n1", "n2"], ["n2", "n1"])


def test_an_up_that_fails_takes_down_what_it_made(name: str, monkeypatch) -> None:
    monkeypatch.setattr("virtual_cluster.daemons.CGROUP_CONF", "CgroupPlugin=absent\n")
    with pytest.raises(AssayError, match=r"node n\d ended at once"):
        api.up(booted(name, nodes=2))
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
    job = run_in(shared, "sbatch", "--parsable", "-o", "out.%j", "--wrap", "hostname").strip()
    wait_for(lambda: "COMPLETED" in run_in(shared, "scontrol", "show", "job", "-o", job))
    output = Path(shared.site_facts()["work_dir"], f"out.{job}")
    assert output.read_text() == "n1\n"
    assert output.stat().st_uid == os.geteuid()
    jobs = run_in(shared, "scontrol", "show", "job", "-o").splitlines()
    behind = [" TimeLimit=00:01:00 " in line for line in jobs if "JobName=kick " in line]
    assert behind and all(behind)
    refused = shared.user_command(["sbatch", "--partition=none", "--wrap", "hostname"])
    assert subprocess.run(refused, capture_output=True, check=False).returncode


def test_the_command_line_shows_and_enters_the_cluster(shared: Cluster, capsys) -> None:
    wait_until_idle(shared)
    assert main(["status", "--name", shared.name]) == 0
    shown = capsys.readouterr().out
    assert "network fast-ethernet" in shown
    assert shown.count(" idle ") == 4
    shell = [*COMMAND, "shell", "--name", shared.name]
    for words, expected in ((["n3", "--", "hostname"], "n3"), (["--", "id", "-un"], "assay")):
        done = subprocess.run([*shell, *words], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == expected


def test_commands_start_with_a_clean_environment_and_the_callers_time_zone(
    shared: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SURPRISE", "1")
    monkeypatch.setenv("TZ", "<+1345>-13:45")
    assert run_in(shared, "date", "+%z").strip() == "+1345"
    command = shared.user_command(["env"], env={"GIVEN": "a b"})
    done = subprocess.run(command, capture_output=True, text=True, cwd="/", check=True)
    assert "GIVEN=a b" in done.stdout.splitlines()
    assert "SURPRISE" not in done.stdout


def test_a_fast_ethernet_link_carries_no_more_than_fast_ethernet(shared: Cluster) -> None:
    before, begun = received(shared, "eth0", "n1"), time.monotonic()
    send(shared, "n2", "n1", megabytes=50)
    came = received(shared, "eth0", "n1") - before
    assert 0 < came / (time.monotonic() - begun) < 12.5e6


SCRIPT = "trap 'sleep 1; echo caught; exit 3' INT; echo begun; while :; do sleep 0.1; done"


def test_what_a_terminal_interrupts_is_the_command_alone(shared: Cluster) -> None:
    words = [*COMMAND, "shell", "--name", shared.name, "--", "sh", "-c", SCRIPT]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "begun\n"
        os.killpg(run.pid, signal.SIGINT)
        assert run.stdout.read() == "caught\n"
    assert run.returncode == 3


ASK = [sys.executable, "-c", "from virtual_cluster import namespaces; print(namespaces.refusal())"]


def told(first: str) -> str:
    """What the trial says after these words in namespaces."""
    words = ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--mount-proc"]
    words += ["sh", "-e", "-c", f'{first}; exec "$@"', "sh", *ASK]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


def test_nothing_is_refused_here_and_nothing_is_left() -> None:
    links, mounts = Path("/proc/net/dev").read_text().count(":"), Path("/proc/self/mountinfo")
    before = mounts.read_text()
    assert namespaces.refusal() == ""
    assert mounts.read_text() == before
    assert Path("/proc/net/dev").read_text().count(":") == links


@pytest.mark.parametrize("limit", ["max_user_namespaces", "max_net_namespaces"])
def test_no_namespaces_left(limit: str) -> None:
    said = told(f"echo 0 >/proc/sys/user/{limit}")
    assert said.startswith("the kernel gives no further namespaces; run, as root: sysctl -w")
    assert f"user.{limit}=10000" in said
    assert "No space left on device" in said


def test_a_masked_proc() -> None:
    said = told("mount --bind /dev/null /proc/version")
    assert "this container hides parts of /proc" in said
    assert "systempaths=unconfined" in said


def test_apparmor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "restrict").write_text("1\n")
    monkeypatch.setattr(namespaces, "_APPARMOR", tmp_path / "restrict")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    refused = "write failed /proc/self/uid_map: Operation not permitted"
    done = subprocess.CompletedProcess([], 1, "", f"unshare: {refused}\n")
    monkeypatch.setattr(namespaces, "run", lambda *_, **__: done)
    assert "kernel.apparmor_restrict_unprivileged_userns=0" in namespaces.refusal()
    assert refused in namespaces.refusal()


def test_slurm_knows_the_tree_and_messages_go_through_it(name: str) -> None:
    cluster = api.up(booted(name, nodes=4, network="gigabit", switches="2"))
    before = received(cluster, "d-s1")
    send(cluster, "n1", "n2")
    near = received(cluster, "d-s1") - before
    send(cluster, "n1", "n3")
    far = received(cluster, "d-s1") - before - near
    assert far > 100_000
    assert near < far / 5
    told = run_in(cluster, "scontrol", "show", "topology")
    assert "SwitchName=s2 Level=0 LinkSpeed=1 Nodes=n[3-4]" in told.replace("n3,n4", "n[3-4]")
    assert sorted(run_in(cluster, "srun", "--nodelist=n1,n4", "hostname").split()) == ["n1", "n4"]
