# SPDX-License-Identifier: Apache-2.0
"""Processes are neither forgotten nor mistaken."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from virtual_cluster import processes
from virtual_cluster.processes import Process
from virtual_cluster.tests.clusters import wait_for


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "infinity"]) as child:
        yield child
        child.kill()


def identity(child: subprocess.Popen[bytes]) -> Process:
    ticks = processes.start_ticks(child.pid)
    assert ticks is not None
    return Process(child.pid, ticks)


def test_a_recorded_process_is_ended(sleeper: subprocess.Popen[bytes]) -> None:
    recorded = identity(sleeper)
    assert recorded.alive()
    assert processes.end([recorded]) == []
    assert sleeper.wait(60) == -9


def test_a_stranger_with_a_reused_id_is_not_touched(sleeper: subprocess.Popen[bytes]) -> None:
    stale, nobody = Process(sleeper.pid, identity(sleeper).start_ticks - 1), Process(2**22 + 1, 5)
    assert not stale.alive()
    assert processes.end([stale, nobody]) == []
    assert sleeper.poll() is None


def test_a_name_with_parentheses_and_spaces_is_parsed(tmp_path: Path) -> None:
    program = tmp_path / "a) S 1 (b"
    program.symlink_to("/bin/sleep")
    with subprocess.Popen([str(program), "infinity"]) as child:
        start = processes.start_ticks(child.pid)
        child.kill()
    assert start is not None
    assert start > 1


def test_the_identity_is_recorded_before_the_program_runs(tmp_path: Path) -> None:
    proof = tmp_path / "ran"
    seen: list[bool] = []
    process = processes.start(
        ["touch", str(proof)], tmp_path / "log", lambda _: seen.append(proof.exists())
    )
    wait_for(lambda: not process.alive())
    assert seen == [False]
    assert proof.exists()


def test_a_program_whose_starter_is_killed_before_recording_never_runs(tmp_path: Path) -> None:
    proof = tmp_path / "ran"
    code = (
        "import os, signal, pathlib\n"
        "from virtual_cluster import processes\n"
        f"processes.start(['touch', {str(proof)!r}], pathlib.Path({str(tmp_path / 'log')!r}),\n"
        "    lambda p: (print(p.pid, flush=True), os.kill(os.getpid(), signal.SIGKILL)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == -9
    wait_for(lambda: processes.start_ticks(int(done.stdout)) is None)
    assert not proof.exists()


def test_ancestors_include_this_process_and_its_parent() -> None:
    assert {os.getpid(), os.getppid()} <= processes.ancestors()


def test_processes_in_a_network_are_found_beside_files_that_are_no_namespace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plain").touch()
    others = [tmp_path / "plain", tmp_path / "absent"]
    assert processes.inside_network(others) == []
    mine, ended = Process(os.getpid(), 1), Process(2**22 + 1, 5)
    monkeypatch.setattr(processes, "_running", lambda: [mine, ended])
    assert processes.inside_network([*others, Path("/proc/self/ns/net")]) == [mine]
