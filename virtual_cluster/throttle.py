# SPDX-License-Identifier: Apache-2.0
"""Leaves the processes of a node a share of its cores' time, without control groups.

`throttle.py CORES SHARE SPACE`, in the PID namespace that holds the node, with its /proc: SPACE is
the inode of the node's PID namespace. A budget grows with time; once the node's processes have used
it up by the kernel's account, they are stopped until it is paid off. Slurm's own are spared, or it
would lose the node. The program ends with the node.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

_SPARED = ("slurmd", "slurmstepd", "srun")
#: Seconds between two looks at the budget at least, and at which processes there are.
_LOOK_S, _SCAN_S = 0.001, 0.02
#: The most that is saved up, in seconds of the allowed time: what is measured may take a few ms.
_SAVED_S = 0.002


class Throttled:
    """The threads of a node's processes, with the core time of each, in seconds."""

    def __init__(self, space: int) -> None:
        self._space = space
        self._used: dict[Path, float] = {}
        #: Those that are held to the share, and those that live elsewhere.
        self.pids: set[int] = set()
        self._others: set[int] = set()

    def scan(self) -> bool:
        """Find the processes; whether the node has any, also those that are spared."""
        found = {int(one.name) for one in Path("/proc").iterdir() if one.name.isdigit()}
        self.pids &= found
        self._others &= found
        for pid in found - self.pids - self._others:
            if not self._is_mine(pid):
                self._others.add(pid)
            elif not _is_spared(pid):  # what Slurm starts is Slurm's at first
                self.pids.add(pid)
        used, tasks = self._used, list[Path]()
        for pid in self.pids:
            with suppress(OSError):
                tasks += Path(f"/proc/{pid}/task").iterdir()
        self._used = {task: used[task] if task in used else _seconds(task) for task in tasks}
        return found > self._others

    def used(self) -> float:
        """Core time since the last call."""
        total = 0.0
        for task, before in self._used.items():
            now = _seconds(task) or before
            total += now - before
            self._used[task] = now
        return total

    def signal(self, number: int) -> None:
        """Send a signal to all processes but the spared ones."""
        for pid in self.pids:
            with suppress(OSError):
                os.kill(pid, number)

    def _is_mine(self, pid: int) -> bool:
        try:
            return Path(f"/proc/{pid}/ns/pid").stat().st_ino == self._space
        except OSError:
            return False


def _is_spared(pid: int) -> bool:
    """True if a process is Slurm's, the node's first one, only for idle cores, or has entered the
    node from outside: `nsenter` stops with what it has started, and nobody lets it go on."""
    try:
        if os.sched_getscheduler(pid) == os.SCHED_IDLE:
            return True
        name = Path(f"/proc/{pid}/comm").read_text()
        is_first, above = _place(pid)
        if is_first or name.startswith(_SPARED):
            return True
        while not is_first and above:
            is_first, above = _place(above)
    except OSError:
        return True
    return not is_first


def _place(pid: int) -> tuple[bool, int]:
    """True if a process is the first one of its namespace, and its parent; 0 is outside."""
    status = Path(f"/proc/{pid}/status").read_text()
    parent = re.search(r"^PPid:\t(\d+)$", status, re.MULTILINE)
    is_first = re.search(r"^NSpid:.*\t1$", status, re.MULTILINE) is not None
    return is_first, int(parent[1]) if parent else 0


def _seconds(task: Path) -> float:
    try:
        return int((task / "schedstat").read_bytes().split()[0]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


def throttle(cores: int, share: float, space: int) -> None:
    """Hold the node to a share of its cores' time until it has no process left."""
    node, allowed = Throttled(space), cores * share
    budget, at, scanned, stopped = 0.0, time.monotonic(), 0.0, False
    while True:
        now = time.monotonic()
        if now - scanned > _SCAN_S:
            if not node.scan():
                return
            if stopped:
                node.signal(signal.SIGSTOP)
            scanned = now
        budget = min(budget + allowed * (now - at) - node.used(), allowed * _SAVED_S)
        at = now
        if (budget < 0) != stopped:
            stopped = not stopped
            node.signal(signal.SIGSTOP if stopped else signal.SIGCONT)
        # Until it is used up at the soonest, or paid off.
        turn_s = -budget / allowed if stopped else budget / (cores - allowed)
        time.sleep(max(_LOOK_S, min(_SCAN_S, turn_s)))


if __name__ == "__main__":
    throttle(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]))
