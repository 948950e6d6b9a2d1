# SPDX-License-Identifier: Apache-2.0
"""The step keeper: daemons of a step live until it is told to end, and leave nothing behind."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from checks.common.tests.program_runs import PATIENCE_S, built_alone, holds

#: A shell command that leaves a daemon (own session, parent gone) and writes its pid to $1.
DAEMON = 'setsid sh -c \'{trap} echo $$ > "$0"; while :; do sleep 0.1; done\' "$1" & {then}'
#: Makes a segment and a semaphore set, works on the latter, dies; writes both ids to its argument.
LEAVE_IPC = """
import ctypes, sys
c = ctypes.CDLL(None)
segment, semaphores = c.shmget(0, 4096, 0o1600), c.semget(0, 1, 0o1600)
c.semctl(semaphores, 0, 16, 1)
open(sys.argv[1], "w").write(f"{segment} {semaphores}")
"""


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> str:
    return built_alone(tmp_path_factory.mktemp("keeper"), "stepkeeper")


@pytest.fixture
def start(program, tmp_path):
    """Starts the keeper with a command; its ready file is `ready` in the test's folder."""
    return lambda *command: subprocess.Popen([program, str(tmp_path / "ready"), *command])


def pid_in(folder: Path) -> int:
    file = folder / "pid"
    assert holds(lambda: file.exists() and file.read_text().strip())
    return int(file.read_text())


@pytest.fixture
def start_daemon(start, tmp_path):
    """Starts the keeper with a command that leaves a daemon; the keeper, and the daemon's pid."""

    def run(then: str, trap: str = ""):
        script = DAEMON.format(trap=trap, then=then)
        return start("sh", "-c", script, "sh", str(tmp_path / "pid")), pid_in(tmp_path)

    return run


def test_it_stays_while_a_daemon_lives_and_ends_it_on_sigterm(start_daemon, tmp_path):
    stranger = subprocess.Popen(["sleep", "infinity"])
    process, daemon = start_daemon("exit 0")
    assert holds((tmp_path / "ready").exists)
    assert (tmp_path / "ready").read_text() == "0\n"
    assert process.poll() is None and alive(daemon)
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE_S) == 0
    assert not alive(daemon)
    assert stranger.poll() is None, "it does not descend from the keeper"
    stranger.kill()
    stranger.wait()


def test_a_daemon_that_ignores_sigterm_is_killed_after_a_while(start_daemon, tmp_path):
    process, daemon = start_daemon("exit 0", 'trap "" TERM;')
    assert holds((tmp_path / "ready").exists)
    begin = time.monotonic()
    process.send_signal(signal.SIGTERM)
    process.wait(PATIENCE_S)
    assert time.monotonic() - begin > 1.9
    assert not alive(daemon)


def test_a_command_that_fails_takes_its_daemon_with_it(start_daemon, tmp_path):
    process, daemon = start_daemon("while ! [ -s $1 ]; do sleep 0.05; done; exit 3")
    assert process.wait(PATIENCE_S) == 3
    assert (tmp_path / "ready").read_text() == "3\n"
    assert not alive(daemon)


def test_the_death_of_its_parent_ends_the_daemon(program, tmp_path):
    daemon = DAEMON.format(trap="", then="exit 0")
    words = [program, str(tmp_path / "ready"), daemon, str(tmp_path / "pid")]
    parent = subprocess.Popen(["sh", "-c", '"$0" "$1" sh -c "$2" sh "$3" & wait', *words])
    daemon = pid_in(tmp_path)
    assert holds((tmp_path / "ready").exists)
    parent.kill()
    parent.wait()
    assert holds(lambda: not alive(daemon))


def test_it_leaves_when_the_last_daemon_has_left(start):
    assert start("sh", "-c", "setsid sleep 0.3 & exit 0").wait(PATIENCE_S) == 0


def test_memory_and_semaphores_of_the_dead_are_removed(start, tmp_path):
    start(sys.executable, "-c", LEAVE_IPC, str(tmp_path / "ids")).wait(PATIENCE_S)
    for kind, left in zip(("shm", "sem"), (tmp_path / "ids").read_text().split(), strict=True):
        rows = Path(f"/proc/sysvipc/{kind}").read_text().splitlines()[1:]
        assert left not in {row.split()[1] for row in rows}


def test_a_missing_command_is_reported_by_the_exit_status(start):
    assert start().wait(PATIENCE_S) == 2
    assert start("/nothing").wait(PATIENCE_S) == 127
