# SPDX-License-Identifier: Apache-2.0
"""What is remembered of a cluster; its processes are neither forgotten nor mistaken."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from records.errors import AssayError, InfrastructureError
from virtual_cluster import api, host
from virtual_cluster import state as states
from virtual_cluster.host import Process, boot_id
from virtual_cluster.spec import ClusterSpec
from virtual_cluster.state import State, cluster_lock, load_state, locked_state
from virtual_cluster.tests.clusters import wait_for


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "assay"


def saved() -> State:
    state = State(ClusterSpec("x", nodes=2), "up", "boot", cores={"n1": [0], "n2": [1]})
    states.folders("x").make(["n1", "n2"])
    state.record("slurmctld", Process(12, 34))
    return state


def test_a_state_reads_back_as_it_was_written_and_a_broken_one_counts_as_none(root: Path) -> None:
    assert load_state("x") is None
    state = saved()
    assert load_state("x") == state
    for text in ("", "{", "[]", "{}", '{"schema": 1, "spec": {"name": "A"}}'):
        (root / "x" / "cluster.json").write_text(text)
        assert load_state("x") is None


def test_two_commands_on_one_cluster_exclude_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("records.waiting.CLUSTER_LOCK_S", 0.05)
    with (
        cluster_lock("x"),
        pytest.raises(AssayError, match="another `assay cluster` command"),
        cluster_lock("x"),
    ):
        pass
    with cluster_lock("x"), cluster_lock("y"):
        pass


def test_what_another_command_recorded_meanwhile_is_not_lost() -> None:
    known = saved()
    with locked_state("x") as state:
        state.record("n1", Process(56, 78))
    with locked_state("x") as state:
        state.record("n2", Process(90, 12))
    assert load_state("x") != known
    assert set(state.processes) == {"slurmctld", "n1", "n2"}
    with pytest.raises(AssayError, match="no cluster y; it was taken down"), locked_state("y"):
        pass


def test_the_lock_goes_to_the_commands_of_its_holder() -> None:
    with (
        cluster_lock("x"),
        subprocess.Popen(
            ["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, close_fds=False
        ) as command,
    ):
        assert command.stdin and command.stdout
        command.stdin.write(b"begun")
        assert command.stdout.read(5) == b"begun"
        opened = [link.readlink().name for link in Path(f"/proc/{command.pid}/fd").iterdir()]
        assert "x.lock" in opened


def test_a_number_of_a_namespace_may_be_anothers_once_its_process_has_ended(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel gives it again at once; what lives there is no part of the cluster."""
    asked: list[set[int]] = []

    def end(_: Process, spaces: set[int]) -> bool:
        asked.append(spaces)
        return True

    monkeypatch.setattr(host, "end", end)
    state = saved()
    state.boot_id = boot_id()
    with subprocess.Popen(["sleep", "infinity"]) as child, subprocess.Popen(["true"]) as ended:
        for number, (name, pid) in enumerate((("holder", child.pid), ("n1", ended.pid)), 1):
            ticks = host.start_ticks(pid, "")
            assert ticks is not None
            state.record(name, Process(pid, ticks, number))
        assert state.processes["n1"].is_left()  # not reaped yet, so it has its number
        ended.wait()
        api.down("x")
        child.kill()
    assert asked == [{1}]
    assert not root.exists()


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "infinity"]) as child:
        yield child
        child.kill()


def identity(child: subprocess.Popen[bytes]) -> Process:
    ticks = host.start_ticks(child.pid)
    assert ticks is not None
    return Process(child.pid, ticks)


def test_a_recorded_process_is_ended(sleeper: subprocess.Popen[bytes]) -> None:
    recorded = identity(sleeper)
    assert recorded.alive()
    assert host.end(recorded)
    assert sleeper.wait(60) == -9


def test_a_stranger_with_a_reused_id_is_not_touched(sleeper: subprocess.Popen[bytes]) -> None:
    stale, nobody = Process(sleeper.pid, identity(sleeper).start_ticks - 1), Process(2**22 + 1, 5)
    assert not stale.alive()
    assert host.end(stale)
    assert host.end(nobody)
    assert sleeper.poll() is None


SCRIPT = """\
. {gate}
touch {proof}
ready
exec sleep infinity
"""


def script_in(folder: Path) -> list[str]:
    """A script that leaves a proof once it goes on."""
    gate = Path(host.__file__).with_name("gate.sh")
    (folder / "script").write_text(SCRIPT.format(gate=gate, proof=folder / "ran"))
    return ["sh", str(folder / "script")]


def test_the_identity_is_recorded_before_the_program_goes_on(tmp_path: Path) -> None:
    seen, ran = list[bool](), tmp_path / "ran"
    words, log = script_in(tmp_path), tmp_path / "log"
    process = host.start([], words, log, lambda _: seen.append(ran.exists()))
    assert seen == [False]
    assert ran.exists()
    assert host.end(process)


def test_a_program_whose_starter_is_killed_before_recording_never_goes_on(tmp_path: Path) -> None:
    code = (
        "import os, signal, pathlib\n"
        "from virtual_cluster import host as processes\n"
        f"processes.start([], {script_in(tmp_path)!r}, pathlib.Path({str(tmp_path / 'log')!r}),\n"
        "    lambda p: (print(p.pid, flush=True), os.kill(os.getpid(), signal.SIGKILL)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == -9
    wait_for(lambda: host.start_ticks(int(done.stdout)) is None)
    assert not (tmp_path / "ran").exists()


def test_what_fails_before_it_is_ready_says_so(tmp_path: Path) -> None:
    script = script_in(tmp_path)
    Path(script[1]).write_text(Path(script[1]).read_text().replace("ready", "echo no disk; exit 1"))
    told = r"before it was ready; the end of log:\n  no disk"
    with pytest.raises(InfrastructureError, match=told):
        host.start([], script, tmp_path / "log", lambda _: None)
