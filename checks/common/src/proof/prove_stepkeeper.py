# SPDX-License-Identifier: Apache-2.0
"""Prove the step keeper with small programs. usage: prove_stepkeeper.py STEPKEEPER"""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

#: What is waited for comes at once, or late on a loaded machine, or never.
PATIENCE_S = 120
#: A shell command that leaves a daemon (own session, parent gone) and writes its pid to $1.
DAEMON = 'setsid sh -c \'{trap} echo $$ > "$0"; while :; do sleep 0.1; done\' "$1" & {then}'
#: Makes a segment and a semaphore set, works on the latter, dies; writes both ids to $1.
LEAVE_IPC = """
import ctypes, sys
c = ctypes.CDLL(None)
segment, semaphores = c.shmget(0, 4096, 0o1600), c.semget(0, 1, 0o1600)
c.semctl(semaphores, 0, 16, 1)
open(sys.argv[1], "w").write(f"{segment} {semaphores}")
"""


#: What was proved so far.
RESULTS: list[bool] = []


def _prove(what: str, holds: bool) -> None:
    print(f"{'right' if holds else 'WRONG':6} step keeper: {what}")
    RESULTS.append(holds)


def _wait_for(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def _read_pid(file: Path) -> int:
    if not _wait_for(lambda: file.exists() and file.read_text().strip() != ""):
        raise RuntimeError(f"{file}: no number in it after {PATIENCE_S} s")
    return int(file.read_text())


def _start(keeper: str, folder: Path, *command: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([keeper, str(folder / "ready"), *command])


def _start_daemon(
    keeper: str, folder: Path, then: str, trap: str = ""
) -> tuple[subprocess.Popen[bytes], int]:
    script = DAEMON.format(
        trap=trap, then=then.replace("WAIT", "while ! [ -s $1 ]; do sleep 0.05; done")
    )
    process = _start(keeper, folder, "sh", "-c", script, "sh", str(folder / "pid"))
    return process, _read_pid(folder / "pid")


def ends_daemon_on_signal(keeper: str, folder: Path) -> None:
    """SIGTERM reaches the daemon."""
    process, daemon = _start_daemon(keeper, folder, "exit 0")
    ready = folder / "ready"
    _prove("ready file appears", _wait_for(ready.exists))
    _prove("ready file holds the status", ready.read_text() == "0\n")
    _prove("stays while a daemon lives", process.poll() is None and _alive(daemon))
    process.send_signal(signal.SIGTERM)
    _prove("leaves with 0 on SIGTERM", process.wait(PATIENCE_S) == 0)
    _prove("daemon ended on SIGTERM", not _alive(daemon))


def kills_daemon_that_ignores(keeper: str, folder: Path) -> None:
    """A daemon that ignores SIGTERM is killed after a while."""
    process, daemon = _start_daemon(keeper, folder, "exit 0", 'trap "" TERM;')
    _wait_for((folder / "ready").exists)
    begin = time.monotonic()
    process.send_signal(signal.SIGTERM)
    process.wait(PATIENCE_S)
    seconds = time.monotonic() - begin
    _prove(f"SIGKILL not before 2 s (found {seconds:.1f} s)", seconds > 1.9)
    _prove("daemon that ignores SIGTERM ended", not _alive(daemon))


def ends_on_failed_command(keeper: str, folder: Path) -> None:
    """A command that fails takes its daemon with it."""
    process, daemon = _start_daemon(keeper, folder, "WAIT; exit 3")
    _prove("takes the failed command's status", process.wait(PATIENCE_S) == 3)
    _prove("ready file holds that status", (folder / "ready").read_text() == "3\n")
    _prove("daemon of a failed command ended", not _alive(daemon))


def ends_with_parent(keeper: str, folder: Path) -> None:
    """The death of the keeper's parent ends the daemon."""
    script = DAEMON.format(trap="", then="exit 0")
    inner = '"$0" "$1" sh -c "$2" sh "$3" & wait'
    parent = subprocess.Popen(
        ["sh", "-c", inner, keeper, str(folder / "ready"), script, str(folder / "pid")]
    )
    daemon = _read_pid(folder / "pid")
    _wait_for((folder / "ready").exists)
    parent.kill()
    parent.wait()
    _prove("daemon ended when the parent died", _wait_for(lambda: not _alive(daemon)))


def leaves_by_itself(keeper: str, folder: Path) -> None:
    """Without a daemon there is nothing to keep."""
    process = _start(keeper, folder, "sh", "-c", "setsid sleep 0.3 & exit 0")
    _prove("leaves when the last daemon has left", process.wait(PATIENCE_S) == 0)


def _ipc_ids(kind: str) -> set[str]:
    rows = Path(f"/proc/sysvipc/{kind}").read_text().splitlines()[1:]
    return {row.split()[1] for row in rows}


def removes_leftovers(keeper: str, folder: Path) -> None:
    """System V memory and semaphores of the dead are removed."""
    process = _start(keeper, folder, sys.executable, "-c", LEAVE_IPC, str(folder / "ids"))
    process.wait(PATIENCE_S)
    segment, semaphores = (folder / "ids").read_text().split()
    _prove("segment of the dead removed", segment not in _ipc_ids("shm"))
    _prove("semaphores of the dead removed", semaphores not in _ipc_ids("sem"))


def spares_strangers(keeper: str, folder: Path) -> None:
    """Only descendants are ended."""
    stranger = subprocess.Popen(["sleep", "infinity"])
    process, _ = _start_daemon(keeper, folder, "exit 0")
    process.send_signal(signal.SIGTERM)
    process.wait(PATIENCE_S)
    _prove("a process that does not descend from it lives on", stranger.poll() is None)
    stranger.kill()
    stranger.wait()


def refuses_wrong_usage(keeper: str, folder: Path) -> None:
    """A missing command is reported by the exit status."""
    usage = subprocess.run([keeper, str(folder / "ready")], check=False, stderr=subprocess.DEVNULL)
    _prove("usage", usage.returncode == 2)
    missing = _start(keeper, folder, str(folder / "nothing")).wait(PATIENCE_S)
    _prove("no such command", missing == 127)


def main(keeper: str) -> int:
    """Run all proofs, each in a folder of its own."""
    for proof in (
        ends_daemon_on_signal,
        kills_daemon_that_ignores,
        ends_on_failed_command,
        ends_with_parent,
        leaves_by_itself,
        removes_leftovers,
        spares_strangers,
        refuses_wrong_usage,
    ):
        with tempfile.TemporaryDirectory() as folder:
            proof(keeper, Path(folder))
    return 0 if all(RESULTS) else 1


if __name__ == "__main__":
    sys.exit(main(str(Path(sys.argv[1]).resolve())))
