# SPDX-License-Identifier: Apache-2.0
"""Starts processes so that each is recorded; ends recorded processes and no other.

A process is identified by its id and its start time, so an id that the kernel has reused is never
signalled. Signals go through a pidfd that is opened before the identity is checked.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from records.errors import InfrastructureError
from records.waiting import KILLED_S, scaled
from virtual_cluster.host import SYSTEM_ENVIRONMENT, tries

#: The new process waits for one line before it becomes the program. If its starter is killed
#: before it has recorded the process, the line never comes and the process ends by itself.
_GATE = """\
log=$1; shift
exec 3<&0
( read -r line <&3 || exit 1; exec "$@" 3<&- </dev/null >>"$log" 2>&1 ) &
echo $!
"""


@dataclass(frozen=True)
class Process:
    """A process by id and start time (clock ticks since boot, field 22 of /proc/ID/stat)."""

    pid: int
    start_ticks: int

    def alive(self) -> bool:
        """Whether this very process is running; a zombie is not."""
        return start_ticks(self.pid) == self.start_ticks


def start_ticks(pid: int) -> int | None:
    """Start time of a running process; None when there is none or it is a zombie."""
    fields = _stat(pid)
    return int(fields[19]) if len(fields) >= 20 and fields[0] not in "ZX" else None


def _stat(pid: int) -> list[str]:
    """The fields of /proc/ID/stat from the state (field 3) on; none when there is no process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return []


def start(argv: Sequence[str], log: Path, record: Callable[[Process], None]) -> Process:
    """Start a program in a session of its own, its output appended to `log`.

    `record` is called with its identity before the program itself begins to run.
    """
    with subprocess.Popen(
        ["/bin/sh", "-c", _GATE, "sh", str(log), *argv],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd="/",
        env=SYSTEM_ENVIRONMENT,
        start_new_session=True,
    ) as gate:
        assert gate.stdin is not None
        assert gate.stdout is not None
        pid = int(gate.stdout.readline())
        ticks = start_ticks(pid)
        if ticks is None:
            raise InfrastructureError(f"{argv[0]} could not be started; see {log}")
        process = Process(pid, ticks)
        record(process)
        gate.stdin.write("go\n")
        gate.stdin.close()
    return process


def end(processes: Iterable[Process]) -> list[Process]:
    """Kill these processes and wait until they have ended; return those that did not."""
    waiting = [process for process in processes if _kill(process)]
    for _ in tries(scaled(KILLED_S), 0.01):
        waiting = [process for process in waiting if process.alive()]
        if not waiting:
            break
    return waiting


def _kill(process: Process) -> bool:
    """Send SIGKILL if this very process is alive; return whether it was."""
    try:
        handle = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return False
    try:
        if not process.alive():
            return False
        signal.pidfd_send_signal(handle, signal.SIGKILL)
    except ProcessLookupError:
        return False
    finally:
        os.close(handle)
    return True


def inside_network(namespaces: Iterable[Path]) -> list[Process]:
    """Processes that live in any of these network namespaces (paths of their mounted files)."""
    wanted = {identity for path in namespaces if (identity := _identity(path)) is not None}
    if not wanted:
        return []
    return [one for one in _running() if _identity(Path(f"/proc/{one.pid}/ns/net")) in wanted]


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_dev, stat.st_ino


def end_all_inside(namespaces: Sequence[Path], spare: Iterable[int] = ()) -> list[Process]:
    """Kill all processes in these network namespaces; return those that did not end.

    `spare`: ids that are not killed.
    """
    kept = set(spare)
    return _end_all(lambda: [one for one in inside_network(namespaces) if one.pid not in kept])


def end_all_of(uid: int) -> list[Process]:
    """Kill all processes of a user, in any namespaces; return those that did not end."""
    return _end_all(lambda: [one for one in _running() if str(uid) in _status(one.pid, "Uid")])


def _end_all(find: Callable[[], list[Process]]) -> list[Process]:
    """Kill what is found until nothing is: a process may have forked meanwhile."""
    for _ in tries(scaled(KILLED_S), 0):
        found = find()
        if not found:
            break
        end(found)
    return found


def _running() -> Iterator[Process]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (ticks := start_ticks(int(entry.name))) is not None:
            yield Process(int(entry.name), ticks)


def _status(pid: int, key: str) -> list[str]:
    """The values of a key in /proc/ID/status, such as the real, effective, saved and file system
    Uid; none when there is no process."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(errors="replace")
    except OSError:
        return []
    found = re.search(rf"^{key}:(.*)$", status, re.MULTILINE)
    return found[1].split() if found else []


def ancestors() -> set[int]:
    """Ids of this process and of all processes it descends from."""
    found: set[int] = set()
    pid = os.getpid()
    while pid > 0 and pid not in found:
        found.add(pid)
        fields = _stat(pid)
        pid = int(fields[1]) if fields else 0
    return found


def first_process(namespace: Path) -> int | None:
    """Id in the machine's PID namespace of process 1 of the node in this network namespace."""
    for process in inside_network([namespace]):
        own = _status(process.pid, "NSpid")
        if len(own) > 1 and own[-1] == "1":
            return process.pid
    return None
