# SPDX-License-Identifier: Apache-2.0
"""Leaves the processes of a node a share of its cores' time, without control groups.

`throttle.py SHARE SPACE`, in the PID namespace that holds the node, with its /proc: SPACE is the
inode of the node's PID namespace. The node's processes are stopped and let go on in turn, in
periods of some milliseconds. Slurm's own are spared, or it would lose the node. The program ends
with the node.
"""

import os
import re
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

_SPARED = ("slurmd", "slurmstepd", "srun")
#: Seconds in which processes go on and are stopped once, at least; and between two looks at which
#: there are.
_PERIOD_S, _SCAN_S = 0.004, 0.02
#: The least time for which a process is stopped or goes on.
_LEAST_S = 0.001


class Throttled:
    """The processes of a node that are stopped, and those that are not."""

    def __init__(self, space: int) -> None:
        self._space = space
        self._pids: set[int] = set()
        self._others: set[int] = set()

    def scan(self) -> bool:
        """Find the processes; whether the node has any, also those that are spared."""
        every = {int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()}
        self._pids &= every
        self._others &= every
        for pid in every - self._pids - self._others:
            if not self._is_mine(pid):
                self._others.add(pid)
            elif not _is_spared(pid):  # what Slurm starts is Slurm's at first
                self._pids.add(pid)
        return every > self._others

    def signal(self, number: int) -> None:
        """Send a signal to all processes but the spared ones."""
        for pid in self._pids:
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


def throttle(share: float, space: int) -> None:
    """Hold the node to a share of its cores' time until it has no process left."""
    node, scanned = Throttled(space), 0.0
    period_s = max(_PERIOD_S, _LEAST_S / min(share, 1 - share))
    while True:
        if time.monotonic() - scanned > _SCAN_S:
            if not node.scan():
                return
            scanned = time.monotonic()
        for number, part in ((signal.SIGSTOP, 1 - share), (signal.SIGCONT, share)):
            node.signal(number)
            time.sleep(part * period_s)


if __name__ == "__main__":
    throttle(float(sys.argv[1]), int(sys.argv[2]))
