# SPDX-License-Identifier: Apache-2.0
"""Processes are neither forgotten nor mistaken."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from records.errors import InfrastructureError
from virtual_cluster import host
from virtual_cluster.host import Process
from virtual_cluster.tests.clusters import wait_for


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
    seen: list[bool] = []
    process = host.start(
        [],
        script_in(tmp_path),
        tmp_path / "log",
        lambda _: seen.append((tmp_path / "ran").exists()),
    )
    assert seen == [False]
    assert (tmp_path / "ran").exists()
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
    with pytest.raises(
        InfrastructureError, match=r"before it was ready; the end of log:\n  no disk"
    ):
        host.start([], script, tmp_path / "log", lambda _: None)
